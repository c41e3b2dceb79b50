// SPDX-License-Identifier: MIT
//
// Where the file of a spool is now: its folder may have been removed or renamed.
#include "finish/spool/spool.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path, int fd)
{
    struct stat named, open_one;

    return path && stat(path, &named) == 0 && fstat(fd, &open_one) == 0 &&
           named.st_ino == open_one.st_ino && named.st_dev == open_one.st_dev;
}

const char *spool_path_now(const char *path, int fd)
{
    static char now[PATH_MAX];
    char link[32];
    ssize_t n;

    if (is_file(path, fd))
        return path;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, now, sizeof(now) - 1);
    if (n <= 0)
        return NULL;
    now[n] = '\0';
    return is_file(now, fd) ? now : NULL;
}

bool spool_path_is_gone(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_nlink == 0;
}
