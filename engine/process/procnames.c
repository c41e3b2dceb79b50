// SPDX-License-Identifier: MIT
// Is this a name of our own exe link (procnames.h)? The kernel resolves slashes, dots, symbolic
// links and descriptors: the spool's descriptor is looked up in the folder that the path names.
#include "engine/process/procnames.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/spool/fds.h"
#include "engine/spool/spooler.h"

static const char *exe = "";
static u64 program_dev, program_ino;

// Reads the link of a descriptor, NUL-terminated. Returns its length or -errno.
static long fd_link(int fd, char *buf, u64 size)
{
    char name[40];

    nolibc_format(name, sizeof(name), "/proc/self/fd/%d", fd);
    long n = sys_readlinkat(AT_FDCWD, name, buf, size - 1);
    if (n >= 0)
        buf[n] = '\0';
    return n;
}

void procnames_init(int fd, const char *name)
{
    char link[PATH_MAX];
    struct k_stat st;

    if (sys_fstat(fd, &st) == 0) {
        program_dev = st.st_dev;
        program_ino = st.st_ino;
    }
    exe = heap_strdup(fd_link(fd, link, sizeof(link)) > 0 ? link : name);
}

const char *procnames_exe(void)
{
    return exe;
}

bool procnames_is_program(const struct k_stat *st)
{
    return st->st_dev == program_dev && st->st_ino == program_ino;
}

// "/proc/PID" or "/proc/PID/task/TID" of this process, or of the process whose memory it shares.
static bool is_own_folder(const char *path)
{
    s64 pid = 0;

    if (strncmp(path, "/proc/", 6))
        return false;
    for (path += 6; *path >= '0' && *path <= '9' && pid < 0x80000000; path++)
        pid = pid * 10 + (*path - '0');
    if (pid != sys_getpid() && pid != spool->pid)
        return false;
    if (strncmp(path, "/task/", 6) == 0)
        for (path += 6; *path >= '0' && *path <= '9';)
            path++;
    return !*path;
}

#define NUMBER_MAX 16 // "fd/" and a number

// The same by a descriptor of the folder.
static bool is_own_opened(int dirfd, const char *folder)
{
    char link[PATH_MAX];
    long fd = sys_openat(dirfd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    bool ours;

    if (fd < 0)
        return false;
    ours = fd_link((int)fd, link, sizeof(link)) > 0 && is_own_folder(link);
    sys_close((int)fd);
    return ours;
}

bool procnames_is_exe(int dirfd, const char *path)
{
    char name[PATH_MAX];
    const char *last = nolibc_basename(path);
    struct k_stat spool_is, there;
    u64 len = (u64)(last - path);
    int fd = fds_spool();

    if (strcmp(last, "exe") || len >= PATH_MAX)
        return false;
    memcpy(name, path, len);
    if (fd < 0 || len > PATH_MAX - NUMBER_MAX || sys_fstat(fd, &spool_is)) {
        name[len] = '\0';
        return is_own_opened(dirfd, len ? name : ".");
    }
    // Each process has its own spool. This look-up needs no free descriptor: the client may have
    // used all of them.
    nolibc_format(name + len, sizeof(name) - len, "fd/%d", fd);
    return sys_fstatat(dirfd, name, &there, 0) == 0 && there.st_dev == spool_is.st_dev &&
           there.st_ino == spool_is.st_ino;
}
