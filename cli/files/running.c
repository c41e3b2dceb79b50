// SPDX-License-Identifier: MIT
//
// A process may map any file, and a path may name another file by the time it is opened. So the
// path is resolved without opening the file (O_PATH), and the file is opened only when it is the
// right one. Device numbers are not compared: on btrfs /proc and stat() give different ones.
#include "cli/files/running.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"

// Is `owner` a user id of the process: real, effective, saved or that of the file system?
static bool is_user_of(long pid, uid_t owner)
{
    char *path = xasprintf("/proc/%ld/status", pid), *line = NULL;
    FILE *f = fopen(path, "re");
    unsigned uid[4];
    size_t size = 0;
    bool is = false;

    while (f && getline(&line, &size, f) > 0)
        if (sscanf(line, "Uid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4)
            for (int i = 0; i < 4; i++)
                is |= uid[i] == owner;
    if (f)
        fclose(f);
    free(line);
    free(path);
    return is;
}

static int open_mapped(long pid, const char *path, unsigned long long ino, int flags)
{
    int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, error;
    struct stat st;

    if (at < 0)
        return -1;
    errno = 0;
    if (fstat(at, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == ino &&
        (st.st_uid == geteuid() || is_user_of(pid, st.st_uid))) {
        char *same = xasprintf("/proc/self/fd/%d", at);

        fd = open(same, flags | O_NONBLOCK | O_CLOEXEC);
        free(same);
    }
    error = errno;
    close(at);
    errno = error;
    return fd;
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE;
}

void running_die(const char *what)
{
    die(UTIL_USAGE, "%s: no descriptor is free: raise the limit on open files (ulimit -n)", what);
}

int running_spool(long pid, int flags)
{
    char *path = xasprintf("/proc/%ld/maps", pid), *line = NULL;
    FILE *f = fopen(path, "re");
    int fd = -1, error = f ? ENOENT : errno;
    size_t size = 0;

    while (f && fd < 0 && getline(&line, &size, f) > 0) {
        char *name = strchr(line, '/');
        unsigned long long ino;

        if (!name || !strstr(name, "/quern.spool.") ||
            sscanf(line, "%*s %*s %*s %*s %llu", &ino) != 1)
            continue;
        name[strcspn(name, "\n")] = '\0';
        fd = open_mapped(pid, name, ino, flags);
        if (fd < 0 && is_shortage(errno))
            error = errno;
    }
    if (f)
        fclose(f);
    free(line);
    free(path);
    errno = is_shortage(error) ? EMFILE : ENOENT;
    return fd;
}
