// SPDX-License-Identifier: MIT
//
// A list is a file: its key, then digests of 16 bytes each, the newest last. A full list replaces
// the old one. Thousands of processes may end at once: a digest is appended in one write, and only
// the process that creates or rotates a list takes a lock.
//
// Linked into the quick finisher: must be fast, and not use the library.
#include "cli/files/origin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/cachedir.h"

#define LIST     "recorded"
#define LIST_OLD "recorded.old"

_Static_assert(sizeof(struct digest_key) % sizeof(struct digest_value) == 0, "put_away()");

enum {
    LIST_FULL = 2 << 20, // 131,060 profiles
    CHUNK = 16 << 10,
};

static int open_folder(bool create)
{
    char *folder = cachedir_default();
    int dir = folder ? cachedir_open(folder, create) : -1;

    free(folder);
    return dir;
}

// Opens a list that this user owns and nobody else can write to.
static int open_list(int dir, const char *name, int how, struct stat *st)
{
    int fd = openat(dir, name, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
                    (st->st_mode & (S_IRWXG | S_IRWXO)))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool read_key(int fd, struct digest_key *key)
{
    return pread(fd, key, sizeof(*key), 0) == sizeof(*key);
}

// The key of a list; a new list gets one here.
static bool get_key(int fd, struct digest_key *key)
{
    bool ok = read_key(fd, key);

    if (ok || flock(fd, LOCK_EX) != 0)
        return ok;
    ok = read_key(fd, key) ||
         (getrandom(key, sizeof(*key), 0) == sizeof(*key) && ftruncate(fd, 0) == 0 &&
          write(fd, key, sizeof(*key)) == sizeof(*key));
    flock(fd, LOCK_UN);
    return ok;
}

// Rotates a full or damaged list, under a lock: other processes may be about to do the same.
static void put_away(int dir, int fd, const struct stat *st)
{
    struct stat named;

    bool damaged = st->st_size % (off_t)sizeof(struct digest_value) != 0; // by a full disk

    if ((st->st_size < LIST_FULL && !damaged) || flock(fd, LOCK_EX | LOCK_NB) != 0)
        return;
    if (fstatat(dir, LIST, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == st->st_ino)
        renameat(dir, LIST, dir, LIST_OLD);
    flock(fd, LOCK_UN);
}

// Only of a regular file that this user owns: nobody else has replaced it.
static bool digest_file(const char *path, const struct digest_key *key, struct digest_value *out)
{
    static char buf[CHUNK];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct digest digest;
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
        digest_begin(&digest, key);
        while ((n = read(fd, buf, sizeof(buf))) > 0)
            digest_add(&digest, buf, (size_t)n);
        *out = digest_end(&digest);
    }
    close(fd);
    return n == 0;
}

void origin_note(const char *path)
{
    int dir = open_folder(true), fd;
    struct digest_value value;
    struct digest_key key;
    struct stat st;

    if (dir < 0)
        return;
    fd = open_list(dir, LIST, O_RDWR | O_APPEND | O_CREAT, &st);
    if (fd >= 0) {
        if (get_key(fd, &key) && digest_file(path, &key, &value) &&
            write(fd, &value, sizeof(value)) == sizeof(value))
            put_away(dir, fd, &st);
        close(fd);
    }
    close(dir);
}

// ---- Asking ----

void origin_begin(struct origin *o)
{
    static const char *const names[] = { LIST, LIST_OLD };
    int dir = open_folder(false);

    o->lists = 0;
    for (int i = 0; dir >= 0 && i < 2; i++) {
        struct digest_key key;
        struct stat st;
        int fd = open_list(dir, names[i], O_RDONLY, &st);

        if (fd >= 0 && read_key(fd, &key)) {
            digest_begin(&o->list[o->lists].digest, &key);
            o->list[o->lists++].fd = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
    if (dir >= 0)
        close(dir);
}

void origin_add(struct origin *o, const void *bytes, size_t n)
{
    for (int i = 0; i < o->lists; i++)
        digest_add(&o->list[i].digest, bytes, n);
}

// Searches behind the key; a digest that was written in part, on a full disk, does not count.
static bool has(int fd, struct digest_value wanted)
{
    static struct digest_value at[CHUNK / sizeof(struct digest_value)];
    off_t from = sizeof(struct digest_key);
    ssize_t n;

    while ((n = pread(fd, at, sizeof(at), from)) >= (ssize_t)sizeof(*at)) {
        size_t count = (size_t)n / sizeof(*at);

        for (size_t i = 0; i < count; i++)
            if (memcmp(&at[i], &wanted, sizeof(wanted)) == 0)
                return true;
        from += (off_t)(count * sizeof(*at));
    }
    return false;
}

bool origin_end(struct origin *o)
{
    bool known = false;

    for (int i = 0; i < o->lists; i++) {
        known = known || has(o->list[i].fd, digest_end(&o->list[i].digest));
        close(o->list[i].fd);
    }
    return known;
}
