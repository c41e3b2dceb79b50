// SPDX-License-Identifier: MIT
//
// Files are read whole, so that one that changes meanwhile cannot move the lines.
#include "cli/shared/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/shared/align.h"
#include "cli/shared/util.h"
#include "quern/profile.h"

enum { READ_LARGEST = 256 << 20 }; // what is larger is hardly a source

static bool is_file(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISREG(st->st_mode);
}

static char *locate(const struct option_list *include, const char *name, struct stat *st)
{
    if (is_file(name, st))
        return xstrdup(name);
    for (size_t i = 0; i < include->count; i++)
        for (const char *n = name; n; n = strchr(n, '/') ? strchr(n, '/') + 1 : NULL) {
            char *path = xasprintf("%s/%s", include->item[i], n);
            if (*n && is_file(path, st))
                return path;
            free(path);
        }
    return NULL;
}

static bool later(struct timespec a, struct timespec b)
{
    return b.tv_sec && (a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec));
}

static char *read_file(const char *path, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = xmalloc(size + 1);
    size_t n = 0;
    ssize_t got = 1;

    while (fd >= 0 && n < size && got != 0) {
        if ((got = read(fd, text + n, size - n)) > 0)
            n += (size_t)got;
        else if (got < 0 && errno != EINTR)
            break;
    }
    if (fd < 0 || got < 0) {
        warn("%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        memset(text + n, 0, size + 1 - n); // it became shorter while it was read
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

struct source source_get(const struct option_list *include, struct timespec written,
                         const char *name)
{
    struct source s = { 0 };
    struct stat st;

    s.path = locate(include, name, &st);
    if (!s.path)
        return s;
    s.size = st.st_size < READ_LARGEST ? (size_t)st.st_size : 0;
    s.changed = later(st.st_mtim, written);
    s.text = read_file(s.path, s.size);
    if (!s.text) {
        free(s.path);
        return (struct source){ 0 };
    }
    split(&s);
    return s;
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
