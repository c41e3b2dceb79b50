// SPDX-License-Identifier: MIT
//
// The file of a running program cannot be opened for writing, by any name and with any way of
// resolving it; other files, the interpreter among them, are opened as usual.
#include <elf.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#define BUSY(call) CHECK((errno = 0, (long)(call)) == -1 && errno == ETXTBSY)

static long openat2(int dir, const char *name, uint64_t flags, uint64_t resolve)
{
    struct open_how how = { .flags = flags, .resolve = resolve };

    return syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static void by_resolution(int dir, const char *beside, const char *absolute)
{
    static const uint64_t ways[] = { 0,
                                     RESOLVE_BENEATH,
                                     RESOLVE_IN_ROOT,
                                     RESOLVE_NO_SYMLINKS,
                                     RESOLVE_NO_MAGICLINKS,
                                     RESOLVE_NO_XDEV };
    char rooted[4200];

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        BUSY(openat2(dir, beside, O_WRONLY, ways[i]));
        BUSY(openat2(dir, beside, O_RDWR | O_TRUNC, ways[i]));
        BUSY(openat2(dir, beside, O_RDONLY | O_TRUNC, ways[i]));
        CHECK(openat2(dir, beside, O_WRONLY | O_CREAT | O_EXCL, ways[i]) == -1 && errno == EEXIST);
        int fd = (int)openat2(dir, beside, O_RDONLY, ways[i]);
        CHECK(fd >= 0);
        close(fd);
    }
    snprintf(rooted, sizeof(rooted), "/../%s", beside);
    BUSY(openat2(dir, rooted, O_RDWR | O_TRUNC, RESOLVE_IN_ROOT));
    CHECK(openat2(dir, absolute, O_RDWR, RESOLVE_BENEATH) == -1 && errno == EXDEV);
    CHECK(openat2(AT_FDCWD, "/proc/self/exe", O_RDWR, RESOLVE_NO_MAGICLINKS) == -1 &&
          errno == ELOOP);
    CHECK(openat2(dir, "no-such-file", O_RDWR, RESOLVE_BENEATH) == -1 && errno == ENOENT);
}

static void by_descriptor(const char *name)
{
    char link[64];
    int path = open(name, O_PATH), reads = open(name, O_RDONLY);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
    BUSY(open(link, O_RDWR));
    CHECK(openat2(AT_FDCWD, link, O_RDWR, RESOLVE_CACHED) == -1 && errno == EAGAIN);
    CHECK(openat2(AT_FDCWD, link, O_RDWR | O_TRUNC, RESOLVE_CACHED) == -1 && errno == EAGAIN);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", reads);
    BUSY(open(link, O_RDWR | O_TRUNC));
    BUSY(truncate(link, 0));
    close(path);
    close(reads);
}

// Only a process that may bypass the search of folders opens by handle.
static void by_handle(const char *name)
{
    struct {
        struct file_handle h;
        unsigned char bytes[MAX_HANDLE_SZ];
    } handle = { .h = { .handle_bytes = MAX_HANDLE_SZ } };
    int mount, at = open("/", O_RDONLY | O_DIRECTORY), fd;

    if (name_to_handle_at(AT_FDCWD, name, &handle.h, &mount, 0) == 0) {
        int folder = open(".", O_RDONLY);
        fd = open_by_handle_at(folder, &handle.h, O_RDONLY);
        if (fd >= 0)
            BUSY(open_by_handle_at(folder, &handle.h, O_RDWR | O_TRUNC));
        close(fd);
        close(folder);
    }
    close(at);
}

int main(int argc, char **argv)
{
    char path[4096], copy[4096], name[4096];
    struct stat before, after;
    int dir;

    (void)argc;
    CHECK(realpath(argv[0], path) != NULL);
    strcpy(copy, path);
    strcpy(name, basename(copy));
    dir = open(dirname(strcpy(copy, path)), O_PATH | O_DIRECTORY);
    CHECK(stat(path, &before) == 0);
    BUSY(open(path, O_WRONLY));
    BUSY(creat(path, 0600));
    BUSY(truncate(path, 0));
    BUSY(openat(dir, name, O_RDWR));
    BUSY(open("/proc/self/exe", O_RDWR));
    by_resolution(dir, name, path);
    by_descriptor(path);
    CHECK(fchdir(dir) == 0);
    BUSY(openat2(AT_FDCWD, name, O_WRONLY, RESOLVE_BENEATH));
    by_handle(name);
    CHECK(stat(path, &after) == 0 && after.st_size == before.st_size);
    int fd = (int)openat2(AT_FDCWD, "/dev/null", O_RDWR, RESOLVE_NO_SYMLINKS);
    CHECK(fd >= 0); // all other opens succeed
    return check_failed;
}
