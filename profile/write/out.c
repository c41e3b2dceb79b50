// SPDX-License-Identifier: MIT
//
// Buffered output that appears whole or not at all; see out.h.
#include "profile/write/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUF_SIZE ((size_t)128 << 10)

int out_open(struct out *o, const char *path)
{
    mode_t mask;
    char *real = NULL;

    memset(o, 0, sizeof(*o));
    o->fd = -1;
    if (!(o->buf = malloc(BUF_SIZE)))
        return -ENOMEM;
    o->pos = o->buf;
    o->end = o->buf + BUF_SIZE;
    if (strcmp(path, "-") == 0) {
        o->fd = dup(STDOUT_FILENO);
        goto opened;
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        // A device or a pipe is written to, not replaced.
        o->fd = open(path, O_WRONLY | O_CLOEXEC);
        goto opened;
    }
    // A link keeps pointing at the file it names.
    real = realpath(path, NULL);
    o->path = real ? real : errno == ENOMEM ? NULL : strdup(path);
    o->tmp = o->path ? malloc(strlen(o->path) + 16) : NULL;
    if (!o->tmp) {
        out_close(o, -ENOMEM);
        return -ENOMEM;
    }
    sprintf(o->tmp, "%s.tmpXXXXXX", o->path);
    o->fd = mkostemp(o->tmp, O_CLOEXEC);
    if (o->fd >= 0) {
        mask = umask(0);
        umask(mask);
        if (fchmod(o->fd, real ? st.st_mode & 07777 : 0666 & ~mask) < 0)
            o->err = -errno;
    } else {
        int e = errno;
        free(o->tmp);
        o->tmp = NULL;
        errno = e;
    }
opened:
    if (o->fd < 0) {
        int rc = -errno;
        out_close(o, rc);
        return rc;
    }
    return 0;
}

static void write_all(struct out *o, const char *s, size_t n)
{
    while (n && !o->err) {
        ssize_t w = write(o->fd, s, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            o->err = -errno;
            return;
        }
        s += w;
        n -= (size_t)w;
    }
}

void out_flush(struct out *o)
{
    write_all(o, o->buf, (size_t)(o->pos - o->buf));
    o->pos = o->buf;
}

void out_mem(struct out *o, const char *s, size_t n)
{
    if ((size_t)(o->end - o->pos) < n + OUT_ROOM) {
        out_flush(o);
        if (n > BUF_SIZE / 2) {
            write_all(o, s, n);
            return;
        }
    }
    memcpy(o->pos, s, n);
    o->pos += n;
}

int out_close(struct out *o, int rc)
{
    if (o->fd >= 0) {
        if (!rc)
            out_flush(o);
        if (close(o->fd) < 0 && !o->err)
            o->err = -errno;
    }
    if (!rc)
        rc = o->err;
    if (o->tmp) {
        if (!rc && rename(o->tmp, o->path) < 0)
            rc = -errno;
        if (rc)
            unlink(o->tmp);
    }
    free(o->tmp);
    free(o->path);
    free(o->buf);
    memset(o, 0, sizeof(*o));
    o->fd = -1;
    return rc;
}
