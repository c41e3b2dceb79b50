// SPDX-License-Identifier: MIT
//
// The path is looked up once: what is found out about a file is asked of its descriptor, so that
// nobody can put another in its place between the question and the opening.
#include "cli/shared/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/shared/util.h"

enum { READING = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

// "/proc/self/fd/N": the open file, by a name.
struct fd_name {
    char text[32];
};

static struct fd_name name_of(int fd)
{
    struct fd_name name;

    snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
    return name;
}

// The same file, from a descriptor that only says where it is; without /proc from its path.
static int reopen(int place, const char *path)
{
    int fd = open(name_of(place).text, READING);

    return fd < 0 && errno == ENOENT ? open(path, READING) : fd;
}

static int close_with(int fd, int error)
{
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

int trust_open(const char *path, struct stat *st)
{
    int place = open(path, O_PATH | O_CLOEXEC), fd;

    if (place < 0)
        return -1;
    if (fstat(place, st) < 0 || !S_ISREG(st->st_mode))
        return close_with(place, EINVAL);
    fd = reopen(place, path);
    if (fd < 0)
        warn("%s: %s", path, strerror(errno));
    close_with(place, errno);
    if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)))
        return close_with(fd, EINVAL);
    return fd;
}
