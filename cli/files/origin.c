// SPDX-License-Identifier: MIT
//
// A list is a file: a key of its own, then digests of 16 bytes each, the newest last. The full list
// becomes the old one, and the one before it goes. Thousands of processes may end at once: a digest
// is appended in one write, and only who makes a list, or puts it away, takes a lock.
//
// Linked into the quick finisher: without the library, and fast.
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

// A list of this user's that nobody else can write to.
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

// The key of a list, which a new one gets now.
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

// By one process: others may be about to do the same.
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

// Of a regular file of this user's: nobody else has put another in its place.
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

// Behind the key; a digest that was not written whole, on a full disk, is none.
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
