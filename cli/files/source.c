// SPDX-License-Identifier: MIT
//
// Files are read whole: a change during the listing cannot move the lines.
#include "cli/files/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/files/align.h"
#include "cli/files/sourcetree.h"
#include "cli/files/trust.h"
#include "quern/profile.h"

enum { READ_LARGEST = 256 << 20 }; // a larger file is hardly a source

// As trust_open(); takes the path: *found gets it, or it is freed.
static int try_path(char *path, struct stat *st, char **found)
{
    int fd = trust_open(path, st);

    if (fd >= 0)
        *found = path;
    else
        free(path);
    return fd;
}

char *source_search(const struct option_list *include, const char *name, bool given,
                    const char **dir)
{
    const char *in = NULL;
    char *path = NULL;

    for (size_t i = 0; !path && i < include->count; i++) {
        in = include->item[i];
        const char *slash = *in && in[strlen(in) - 1] == '/' ? "" : "/";

        for (const char *n = name; !path && n; n = strchr(n, '/') ? strchr(n, '/') + 1 : NULL) {
            path = *n && *n != '/' ? xasprintf("%s%s%s", in, slash, n) : NULL;
            if (path && !source_is_there(path, given)) {
                free(path);
                path = NULL;
            }
        }
    }
    for (size_t i = 0; !path && i < include->count; i++) {
        in = include->item[i];
        path = sourcetree_find(in, name);
    }
    if (dir)
        *dir = path ? in : NULL;
    return path;
}

static int locate(const struct option_list *include, const char *name, struct stat *st, char **path)
{
    int fd = try_path(xstrdup(name), st, path);
    char *found = fd < 0 ? source_search(include, name, false, NULL) : NULL;
    int there = found ? try_path(found, st, path) : -1;

    return there < 0 ? fd : there;
}

static bool later(struct timespec a, struct timespec b)
{
    return b.tv_sec && (a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec));
}

// NULL after a message.
static char *read_file(int fd, const char *path, size_t size)
{
    char *text;
    size_t n = 0;
    ssize_t got = 1;

    if (size > READ_LARGEST) {
        warn("%s: has %zu bytes: sources of more than %d are not read", path, size, READ_LARGEST);
        return NULL;
    }
    text = xmalloc(size + 1);
    while (n < size && got != 0) {
        if ((got = read(fd, text + n, size - n)) > 0)
            n += (size_t)got;
        else if (got < 0 && errno != EINTR)
            break;
    }
    if (got < 0) {
        warn("%s: %s", path, strerror(errno));
        free(text);
        return NULL;
    }
    memset(text + n, 0, size + 1 - n); // the file may have become shorter meanwhile
    return text;
}

static void split(struct source *s)
{
    size_t cap = 0;

    s->lines = 0;
    for (size_t at = 0;; s->lines++) {
        const char *end = at < s->size ? memchr(s->text + at, '\n', s->size - at) : NULL;
        if (s->lines + 2 > cap)
            s->start = xrealloc(s->start, (cap = cap * 2 + 256) * sizeof(*s->start));
        s->start[s->lines] = at;
        if (at == s->size)
            return;
        at = end ? (size_t)(end - s->text) + 1 : s->size;
    }
}

// Reads and closes an open file; the source takes the path, or it is freed.
static struct source take(int fd, const struct stat *st, char *path, struct timespec written)
{
    struct source s = { .path = path, .size = (size_t)st->st_size };

    s.changed = later(st->st_mtim, written);
    s.text = read_file(fd, path, s.size);
    close(fd);
    if (!s.text) {
        free(path);
        return (struct source){ 0 };
    }
    split(&s);
    return s;
}

struct source source_get(const struct option_list *include, struct timespec written,
                         const char *name)
{
    struct stat st;
    char *path = NULL;
    int fd = locate(include, name, &st, &path);

    return fd < 0 ? (struct source){ .refused = fd == TRUST_REFUSED }
                  : take(fd, &st, path, written);
}

bool source_is_there(const char *path, bool given)
{
    struct stat st;
    int fd = given ? trust_open_given(path, &st) : trust_open(path, &st);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

struct source source_read(const char *path, bool given, struct timespec written)
{
    struct stat st;
    int fd = given ? trust_open_given(path, &st) : trust_open(path, &st);

    return fd < 0 ? (struct source){ 0 } : take(fd, &st, xstrdup(path), written);
}

void source_put(struct source *s)
{
    free(s->path);
    free(s->text);
    free(s->start);
    *s = (struct source){ 0 };
}

static uint32_t *number_lines(struct quern_profile *ids, const struct source *s)
{
    uint32_t *id = xcalloc(s->lines + 1u, sizeof(*id));

    for (uint32_t i = 0; i < s->lines; i++) {
        id[i] = quern_profile_string(ids, s->text + s->start[i],
                                     (ptrdiff_t)(s->start[i + 1] - s->start[i]));
        if (id[i] == QUERN_NONE)
            die(UTIL_USAGE, "out of memory");
    }
    return id;
}

size_t *source_align(const struct source *old, const struct source *now)
{
    struct quern_profile *ids = quern_profile_new();
    size_t *map = xcalloc(old->lines + 1u, sizeof(*map));

    if (!ids)
        die(UTIL_USAGE, "out of memory");
    uint32_t *a = number_lines(ids, old), *b = number_lines(ids, now);
    align_lines(a, old->lines, b, now->lines, quern_profile_str_count(ids), map);
    free(a);
    free(b);
    quern_profile_free(ids);
    return map;
}
