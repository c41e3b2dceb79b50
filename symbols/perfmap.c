// SPDX-License-Identifier: MIT
//
// The map of generated code (perfmap.h). Anybody may have written the files: the only thing trusted
// is that this user owns them.
#include "symbols/perfmap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/memory.h"

struct entry {
    uint64_t start, end;
    uint64_t reach; // the highest end of this one and those before it
    uint32_t name, len, order;
};

struct perfmap {
    char *text; // names, consecutive
    size_t used, room;
    struct entry *entry; // by start, then by order, once sorted
    size_t count, entry_room;
    bool sorted;
};

struct perfmap *perfmap_new(void)
{
    return memory_got(calloc(1, sizeof(struct perfmap)));
}

void perfmap_free(struct perfmap *m)
{
    if (!m)
        return;
    free(m->text);
    free(m->entry);
    free(m);
}

bool perfmap_is_empty(const struct perfmap *m)
{
    return m->count == 0;
}

// ---- Adding ----

// Grows an array by so many elements; false: no memory.
static bool grow(void **array, size_t used, size_t more, size_t *room, size_t size)
{
    size_t want = *room ? *room : 256;
    void *grown;

    if (used + more <= *room)
        return true;
    while (want < used + more)
        want *= 2;
    grown = memory_got(realloc(*array, want * size));
    if (!grown)
        return false;
    *array = grown;
    *room = want;
    return true;
}

static bool put_text(struct perfmap *m, const char *text, size_t len, uint32_t *at)
{
    if (m->used + len > UINT32_MAX || !grow((void **)&m->text, m->used, len, &m->room, 1))
        return false;
    *at = (uint32_t)m->used;
    memcpy(m->text + m->used, text, len);
    m->used += len;
    return true;
}

static bool put_entry(struct perfmap *m, struct entry e)
{
    if (!e.start || e.end <= e.start || m->count >= UINT32_MAX ||
        !grow((void **)&m->entry, m->count, 1, &m->entry_room, sizeof(*m->entry)))
        return false;
    e.order = (uint32_t)m->count;
    m->entry[m->count++] = e;
    m->sorted = false;
    return true;
}

bool perfmap_add(struct perfmap *m, uint64_t start, uint64_t size, const char *name, size_t len)
{
    struct entry e = { .start = start, .end = start + size, .len = (uint32_t)len };

    return len && put_text(m, name, len, &e.name) && put_entry(m, e);
}

void perfmap_move(struct perfmap *m, uint64_t from, uint64_t to, uint64_t size)
{
    for (size_t i = m->count; i-- > 0;) {
        struct entry e = m->entry[i];

        if (e.start != from)
            continue;
        e.start = to;
        e.end = to + size;
        put_entry(m, e);
        return;
    }
}

// ---- Files ----

// File times have the resolution of the kernel's tick.
static bool is_older(const struct stat *st, uint64_t since)
{
    const uint64_t second = 1000000000;

    return (uint64_t)st->st_mtim.tv_sec * second + (uint64_t)st->st_mtim.tv_nsec + second < since;
}

FILE *perfmap_open(const char *path, uint64_t since)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    FILE *f;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !is_older(&st, since) && (f = fdopen(fd, "r")) != NULL)
        return f;
    close(fd);
    return NULL;
}

// Hexadecimal digits followed by a blank. False: there are none.
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

void perfmap_read(struct perfmap *m, const char *path, uint64_t since)
{
    FILE *f = perfmap_open(path, since);
    char *text = NULL;
    size_t room = 0;

    if (!f)
        return;
    while (getline(&text, &room, f) > 0) {
        const char *at = text;
        uint64_t start, size;

        if (hex(&at, &start) && hex(&at, &size))
            perfmap_add(m, start, size, at, strcspn(at, "\n"));
    }
    free(text);
    fclose(f);
}

// ---- Look-up ----

static int compare(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(struct perfmap *m)
{
    uint64_t reach = 0;

    if (m->count)
        qsort(m->entry, m->count, sizeof(*m->entry), compare);
    for (size_t i = 0; i < m->count; i++) {
        if (m->entry[i].end > reach)
            reach = m->entry[i].end;
        m->entry[i].reach = reach;
    }
    m->sorted = true;
}

const char *perfmap_find(struct perfmap *m, uint64_t addr, size_t *len)
{
    const struct entry *best = NULL;
    size_t lo = 0, hi = m->count;

    if (!m->sorted)
        sort(m);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (m->entry[mid].start <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > 0 && m->entry[lo - 1].reach > addr; lo--)
        if (m->entry[lo - 1].end > addr && (!best || m->entry[lo - 1].order > best->order))
            best = &m->entry[lo - 1];
    if (!best)
        return NULL;
    *len = best->len;
    return m->text + best->name;
}
