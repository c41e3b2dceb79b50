// SPDX-License-Identifier: MIT
// Is this a name of our own exe link (procnames.h)? The kernel answers: the folder that the path
// names is opened, and the link of that descriptor says whether it is ours, whatever slashes, dots,
// symbolic links and descriptors led there.
#include "engine/process/procnames.h"

#include "engine/base/heap.h"
#include "engine/base/mini.h"
#include "engine/base/sys.h"
#include "engine/spool/spooler.h"

static const char *exe = "";
static u64 program_dev, program_ino;

// The link of a descriptor, NUL-terminated; its length or -errno.
static long fd_link(int fd, char *buf, u64 size)
{
    char name[40];

    mini_format(name, sizeof(name), "/proc/self/fd/%d", fd);
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

// "/proc/PID" or "/proc/PID/task/TID" of this process, or of the one whose memory we share.
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

bool procnames_is_exe(int dirfd, const char *path)
{
    char folder[PATH_MAX], link[PATH_MAX];
    const char *last = mini_basename(path);
    u64 len = (u64)(last - path);

    if (strcmp(last, "exe") || len >= sizeof(folder))
        return false;
    memcpy(folder, len ? path : ".", len ? len : 1);
    folder[len ? len : 1] = '\0';
    long fd = sys_openat(dirfd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool ours = fd_link((int)fd, link, sizeof(link)) > 0 && is_own_folder(link);
    sys_close((int)fd);
    return ours;
}
