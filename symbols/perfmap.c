// SPDX-License-Identifier: MIT
//
// Files of perf's maps (perfmap.h). Anybody may have written the file: nothing in it is trusted but
// that it is this user's.
#include "symbols/perfmap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 28 };

struct entry {
    uint64_t start, end;
    uint64_t reach; // the largest end of this one and those before it
    uint32_t name, len, line;
};

struct perfmap {
    char *text;
    struct entry *entry; // by start, then by line
    size_t count;
};

static char *read_all(int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t n = 0;

    while (text && n < size) {
        ssize_t got = read(fd, text + n, size - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    if (text)
        text[n] = '\0';
    return text;
}

static char *read_own(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *text = NULL;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size > 0 &&
        st.st_size < BYTES_MAX)
        text = read_all(fd, (size_t)st.st_size);
    close(fd);
    return text;
}

// A number of hexadecimal digits and a blank behind it. False: there is none.
static bool hex(const char **at, uint64_t *out)
{
    char *end;

    if (strncmp(*at, "0x", 2) == 0)
        *at += 2;
    if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
        return false;
    *out = strtoull(*at, &end, 16);
    if (*end != ' ')
        return false;
    *at = end + 1;
    return true;
}

static bool parse(const char *text, const char *line, struct entry *e)
{
    uint64_t size;

    if (!hex(&line, &e->start) || !hex(&line, &size) || e->start + size < e->start)
        return false;
    e->end = e->start + size;
    e->name = (uint32_t)(line - text);
    e->len = (uint32_t)strcspn(line, "\n");
    return size && e->len;
}

static int compare(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void take_lines(struct perfmap *m, size_t lines)
{
    const char *line = m->text;
    uint64_t reach = 0;

    for (uint32_t i = 0; i < lines; i++) {
        struct entry *e = &m->entry[m->count];

        e->line = i;
        m->count += parse(m->text, line, e);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    qsort(m->entry, m->count, sizeof(*m->entry), compare);
    for (size_t i = 0; i < m->count; i++) {
        if (m->entry[i].end > reach)
            reach = m->entry[i].end;
        m->entry[i].reach = reach;
    }
}

struct perfmap *perfmap_read(const char *path)
{
    struct perfmap *m = calloc(1, sizeof(*m));
    size_t lines = 1;

    if (!m)
        return NULL;
    m->text = read_own(path);
    for (const char *s = m->text; s && *s; s++)
        lines += *s == '\n';
    m->entry = m->text ? malloc(lines * sizeof(*m->entry)) : NULL;
    if (!m->entry) {
        perfmap_free(m);
        return NULL;
    }
    take_lines(m, lines);
    return m;
}

void perfmap_free(struct perfmap *m)
{
    if (!m)
        return;
    free(m->text);
    free(m->entry);
    free(m);
}

const char *perfmap_find(const struct perfmap *m, uint64_t addr, size_t *len)
{
    const struct entry *best = NULL;
    size_t lo = 0, hi = m->count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (m->entry[mid].start <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > 0 && m->entry[lo - 1].reach > addr; lo--)
        if (m->entry[lo - 1].end > addr && (!best || m->entry[lo - 1].line > best->line))
            best = &m->entry[lo - 1];
    if (!best)
        return NULL;
    *len = best->len;
    return m->text + best->name;
}
