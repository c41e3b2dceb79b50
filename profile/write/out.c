// SPDX-License-Identifier: MIT
//
// Buffered output that appears whole or not at all; see out.h.
#include "profile/write/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BUF_SIZE  ((size_t)128 << 10)
#define LINKS_MAX 40 // as in the kernel

int (*out_wait)(const char *path);

// The folder of a path, which the caller frees; NULL: no memory.
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

// In a folder like /tmp anybody may put a link, a pipe or a device where a file will be written.
// Uses the kernel's rule (protected_symlinks, protected_fifos), whether or not it is enabled: there
// it must belong to us or to the folder's owner. 0, or -errno.
static int may_follow(const char *path, uid_t owner)
{
    char *folder = folder_of(path);
    struct stat st;
    int rc = 0;

    if (!folder)
        return -ENOMEM;
    if (stat(folder, &st) != 0)
        rc = -errno;
    else if ((st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) && owner != geteuid() &&
             owner != st.st_uid)
        rc = -EACCES;
    free(folder);
    return rc;
}

// The target of a link that is open as fd; NULL with errno. Below /proc that is not a path.
static char *target_of(const char *path, int fd, bool *final)
{
    char text[PATH_MAX], *folder, *target = NULL;
    struct statfs fs;

    *final = fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
    if (*final) {
        target = realpath(path, NULL);
        return target || errno == ENOMEM ? target : strdup(path);
    }
    ssize_t n = readlinkat(fd, "", text, sizeof(text));
    if (n < 0 || (size_t)n == sizeof(text)) {
        errno = n < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    if (n && text[0] == '/')
        return strndup(text, (size_t)n);
    folder = folder_of(path);
    if (folder && asprintf(&target, "%s/%.*s", folder, (int)n, text) < 0)
        target = NULL;
    free(folder);
    return target;
}

// Replaces *path, a link, by its target; *final: the kernel must follow that one. 0, or -errno.
static int follow_one(char **path, bool *final)
{
    // Check what is read, whatever happens to the name.
    int fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
    char *target = NULL;
    struct stat st;

    rc = fd < 0 || fstat(fd, &st) != 0 ? -errno : may_follow(*path, st.st_uid);
    if (rc == 0) {
        target = target_of(*path, fd, final);
        rc = target ? 0 : -errno;
    }
    if (fd >= 0)
        close(fd);
    if (rc == 0) {
        free(*path);
        *path = target;
    }
    return rc;
}

// Follows links: replaces *path by their target; *st describes it, with st_mode 0 if it does not
// exist. 0, or -errno.
static int follow(char **path, struct stat *st)
{
    bool final = false;

    for (int i = 0; i < LINKS_MAX; i++) {
        int rc = (final ? stat : lstat)(*path, st) != 0 ? -errno : 0;

        if (rc == -ENOENT) {
            st->st_mode = 0;
            return 0;
        }
        if (rc == 0 && S_ISLNK(st->st_mode)) {
            rc = follow_one(path, &final);
            if (rc == 0)
                continue;
        } else if (rc == 0 && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) {
            rc = may_follow(*path, st->st_uid);
        }
        return rc;
    }
    return -ELOOP;
}

// A device or a pipe is written to, not replaced. Returns the descriptor, or -1 with errno.
static int open_special(const char *path, const struct stat *looked_at)
{
    bool asks = S_ISFIFO(looked_at->st_mode) && out_wait;
    struct stat st;
    int fd;

    while ((fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | (asks ? O_NONBLOCK : 0))) < 0 &&
           errno == ENXIO && asks) {
        int rc = out_wait(path);

        if (rc != 0) {
            errno = -rc;
            return -1;
        }
    }
    if (fd < 0 ||
        (fstat(fd, &st) == 0 && st.st_ino == looked_at->st_ino && st.st_dev == looked_at->st_dev))
        return fd;
    close(fd);
    errno = EACCES; // replaced since
    return -1;
}

// The mode of a new file: that of the file it replaces, if that is ours; else only the bits that
// both that file and a new one have.
static mode_t mode_of(const struct stat *old)
{
    mode_t mask = umask(0), fresh = 0666 & ~mask;

    umask(mask);
    if (!old->st_mode)
        return fresh;
    return old->st_uid == geteuid() ? old->st_mode & 0777 : old->st_mode & fresh;
}

int out_open(struct out *o, const char *path)
{
    struct stat st;

    memset(o, 0, sizeof(*o));
    o->fd = -1;
    if (!(o->buf = malloc(BUF_SIZE)))
        return -ENOMEM;
    o->pos = o->buf;
    o->end = o->buf + BUF_SIZE;
    o->path = strdup(path);
    if (o->path && strcmp(path, "-") == 0) {
        o->fd = dup(STDOUT_FILENO);
        o->slow = out_wait != NULL;
        goto opened;
    }
    int rc = o->path ? follow(&o->path, &st) : -ENOMEM;
    if (rc != 0) {
        out_close(o, rc);
        return rc;
    }
    if (st.st_mode && !S_ISREG(st.st_mode)) {
        o->fd = open_special(o->path, &st);
        o->slow = out_wait != NULL;
        goto opened;
    }
    o->tmp = malloc(strlen(o->path) + 16);
    if (!o->tmp) {
        out_close(o, -ENOMEM);
        return -ENOMEM;
    }
    sprintf(o->tmp, "%s.tmpXXXXXX", o->path);
    o->fd = mkostemp(o->tmp, O_CLOEXEC);
    if (o->fd >= 0) {
        if (fchmod(o->fd, mode_of(&st)) < 0)
            o->err = -errno;
    } else {
        int e = errno;
        free(o->tmp);
        o->tmp = NULL;
        errno = e;
    }
opened:
    if (o->fd < 0) {
        rc = -errno;
        out_close(o, rc);
        return rc;
    }
    return 0;
}

// Waits until a pipe has space for PIPE_BUF bytes.
static void await_room(struct out *o)
{
    enum { STEP = 50 }; // ms
    struct pollfd p = { .fd = o->fd, .events = POLLOUT };

    while (!o->err && poll(&p, 1, STEP) == 0)
        o->err = out_wait(o->path);
}

static void write_all(struct out *o, const char *s, size_t n)
{
    while (n && !o->err) {
        if (o->slow)
            await_room(o);
        if (o->err)
            return;
        ssize_t w = write(o->fd, s, o->slow && n > PIPE_BUF ? PIPE_BUF : n);
        if (w < 0 && (errno == EINTR || (o->slow && errno == EAGAIN)))
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
