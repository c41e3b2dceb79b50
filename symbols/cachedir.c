// SPDX-License-Identifier: MIT
//
// Files of the symbol cache (cachedir.h). The modification time is the time of last use: many
// machines do not update access times.
#include "symbols/cachedir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Files of killed writers are removed after an hour; a use is noted once in an hour.
enum { HOUR = 3600 };

char *cachedir_default(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool is_base = base && base[0] == '/';
    char *path;

    if (!is_base && (!home || home[0] != '/'))
        return NULL;
    return asprintf(&path, is_base ? "%s/quern" : "%s/.cache/quern", is_base ? base : home) < 0
               ? NULL
               : path;
}

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !is_ours(&st))) {
        close(fd);
        return -1;
    }
    return fd;
}

// Root working in another user's home (sudo) must not leave folders there that the user cannot
// remove: the folder above must belong to us.
static bool may_create_in(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

// Makes the folder above, such as ~/.cache.
static void make_above(const char *above)
{
    char *top = strdup(above);
    char *slash = top ? strrchr(top, '/') : NULL;

    if (slash && slash != top) {
        *slash = '\0';
        if (may_create_in(top))
            mkdir(above, 0700);
    }
    free(top);
}

static void make_folder(const char *path)
{
    char *above = strdup(path);
    char *slash = above ? strrchr(above, '/') : NULL;

    if (slash && slash != above) {
        *slash = '\0';
        struct stat st;
        if (stat(above, &st) != 0)
            make_above(above);
        // In /tmp and the like anybody may create one, and the folder is then this user's alone.
        if (may_create_in(above) || (stat(above, &st) == 0 && (st.st_mode & S_ISVTX)))
            mkdir(path, 0700);
    }
    free(above);
}

int cachedir_open(const char *path, bool create)
{
    int fd = open_folder(path);

    if (fd < 0 && create) {
        make_folder(path);
        fd = open_folder(path);
    }
    return fd;
}

void *cachedir_map(int dir, const char *name, size_t *size)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_ours(&st) && st.st_size > 0) {
        *size = (size_t)st.st_size;
        p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED && time(NULL) - st.st_mtim.tv_sec > HOUR)
            futimens(fd, NULL);
    }
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static bool write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

bool cachedir_write(int dir, const char *name, const void *data, size_t size)
{
    char beside[128];

    snprintf(beside, sizeof(beside), "%s.%ld.new", name, (long)getpid());
    unlinkat(dir, beside, 0); // of an earlier process with this id
    int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, data, size);
    // A full disk may be reported only now.
    ok = close(fd) == 0 && ok;
    ok = ok && renameat(dir, beside, dir, name) == 0;
    if (!ok)
        unlinkat(dir, beside, 0);
    return ok;
}

struct file {
    char *name;
    uint64_t size;
    struct timespec used;
};

static int compare_uses(const void *x, const void *y)
{
    const struct file *a = x, *b = y;

    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

// A file with this suffix that its writer never renamed.
static bool is_abandoned(const char *name, const char *suffix)
{
    const char *at = strstr(name, suffix);

    return at && at[strlen(suffix)] == '.' && ends_in(name, ".new");
}

// The files with this suffix, unsorted; removes abandoned ones.
static struct file *list(int dir, const char *suffix, size_t *count, uint64_t *total)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); // closedir() takes it
    DIR *d = again < 0 ? NULL : fdopendir(again);
    struct file *file = NULL;
    size_t room = 0;
    struct dirent *e;

    *count = 0;
    *total = 0;
    if (!d && again >= 0)
        close(again);
    while (d && (e = readdir(d))) {
        struct stat st;
        bool abandoned = is_abandoned(e->d_name, suffix);

        if ((!abandoned && !ends_in(e->d_name, suffix)) ||
            fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (abandoned) {
            if (time(NULL) - st.st_mtim.tv_sec > HOUR)
                unlinkat(dir, e->d_name, 0);
            continue;
        }
        if (*count == room) {
            room = room ? room * 2 : 64;
            struct file *grown = realloc(file, room * sizeof(*grown));
            if (!grown)
                break;
            file = grown;
        }
        file[(*count)++] =
            (struct file){ strdup(e->d_name), (uint64_t)st.st_blocks * 512, st.st_mtim };
        *total += (uint64_t)st.st_blocks * 512;
    }
    if (d)
        closedir(d);
    return file;
}

void cachedir_prune(int dir, const char *suffix, uint64_t limit)
{
    size_t count;
    uint64_t total;
    struct file *file = list(dir, suffix, &count, &total);

    if (count && total > limit)
        qsort(file, count, sizeof(*file), compare_uses);
    for (size_t i = 0; i < count; i++) {
        if (total > limit && file[i].name && unlinkat(dir, file[i].name, 0) == 0)
            total -= file[i].size;
        free(file[i].name);
    }
    free(file);
}
