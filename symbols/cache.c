// SPDX-License-Identifier: MIT
//
// Connects symbols.c, which asks, learn.c, which reads modules, and the files: which module a file
// is for, whether it is still valid, and how new answers are added. See cache.h.
#include "symbols/cache.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "symbols/cachedir.h"
#include "symbols/identity.h"
#include "symbols/memory.h"

// All files together; libc's takes 1.7 MB.
static const uint64_t total_max = UINT64_C(512) << 20;
// Larger modules are not stored: this is 64 MB.
enum { ROWS_MAX = 4 << 20, WITNESSES_MAX = 16 };

struct cache {
    char *folder;
    int dir; // -1: not there yet
    bool no_demangle;
    uint64_t maker;
    struct strings *strings;
};

struct wanted {
    uint64_t start, end;
};

struct cache_module {
    struct cache *owner;
    struct identity identity;
    char name[33 + sizeof(CACHEDIR_SUFFIX)];
    bool known; // the file is valid
    struct cachefile file;
    void *map;
    size_t map_size;
    uint32_t *number; // of our strings, by those of the file, plus 1; 0: not looked up yet
    struct wanted *wanted;
    size_t wants, wants_room;
    struct cachefile_witness witness[WITNESSES_MAX];
    size_t witnesses;
    bool too_many; // witnesses: cannot be stored
    uint64_t expires;
};

static const char *made_by = "/proc/self/exe";

void cache_made_by(const char *path)
{
    made_by = path;
}

// Another build of quern may give other answers.
static uint64_t maker(void)
{
    struct stat st;
    uint64_t m[4] = { 0 };

    if (stat(made_by, &st) == 0) {
        m[0] = (uint64_t)st.st_size;
        m[1] = (uint64_t)st.st_mtim.tv_sec;
        m[2] = (uint64_t)st.st_mtim.tv_nsec;
    }
    return cachefile_hash(m, sizeof(m), CACHEFILE_VERSION);
}

struct cache *cache_new(const char *folder, bool no_demangle, struct strings *strings)
{
    struct cache *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->folder = strdup(folder);
    if (!c->folder) {
        free(c);
        return NULL;
    }
    c->dir = cachedir_open(folder, false);
    c->no_demangle = no_demangle;
    c->maker = maker();
    c->strings = strings;
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    if (c->dir >= 0)
        close(c->dir);
    free(c->folder);
    free(c);
}

// ---- Which file, and is it valid? ----

static void look(struct cachefile_witness *w, const char *path)
{
    struct stat st;

    *w = (struct cachefile_witness){ .path = path };
    if (stat(path, &st) != 0)
        return;
    w->dev = st.st_dev;
    w->ino = st.st_ino;
    w->size = (uint64_t)st.st_size;
    w->mtime = identity_time(&st.st_mtim);
    w->ctime = identity_time(&st.st_ctim);
}

static bool same_witness(const struct cachefile_witness *a, const struct cachefile_witness *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime == b->mtime &&
           a->ctime == b->ctime;
}

static bool still_counts(const struct cache_module *m)
{
    const struct cachefile *f = &m->file;
    struct cachefile_witness then, now;
    size_t size = identity_size(&m->identity);

    if (f->h.identity_size != size || memcmp(f->identity, &m->identity, size) != 0 ||
        (f->h.expires && (uint64_t)time(NULL) >= f->h.expires))
        return false;
    for (size_t i = 0; cachefile_witness(f, i, &then); i++) {
        look(&now, then.path);
        if (!same_witness(&then, &now))
            return false;
    }
    return true;
}

static void forget(struct cache_module *m)
{
    m->known = false;
    cachefile_close(&m->file);
    if (m->map)
        munmap(m->map, m->map_size);
    m->map = NULL;
    free(m->number);
    m->number = NULL;
}

static struct cache_module *module_new(struct cache *c, struct cache_module *m)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    char name[33];

    m->owner = c;
    m->identity.maker = c->maker;
    m->identity.option = c->no_demangle;
    identity_name(&m->identity, name);
    strcpy(m->name, name);
    strcat(m->name, CACHEDIR_SUFFIX);
    // The servers that could be asked are in the identity, not in the name.
    if (servers && *servers)
        m->identity.option |= cachefile_hash(servers, strlen(servers), 0) << 1;
    if (c->dir < 0)
        return m;
    m->map = cachedir_map(c->dir, m->name, &m->map_size);
    m->known = m->map && cachefile_open(&m->file, m->map, m->map_size) && still_counts(m);
    if (m->known)
        m->number = calloc(m->file.h.strings + 1, sizeof(*m->number));
    if (!m->number)
        forget(m);
    return m;
}

struct cache_module *cache_file(struct cache *c, const char *path, int fd, const struct stat *st)
{
    struct cache_module *m = calloc(1, sizeof(*m));

    if (m && identity_of_file(&m->identity, path, fd, st))
        return module_new(c, m);
    free(m);
    return NULL;
}

struct cache_module *cache_image(struct cache *c, const char *name, const void *image, size_t size)
{
    struct cache_module *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    identity_of_image(&m->identity, name, image, size);
    return module_new(c, m);
}

void cache_module_free(struct cache_module *m)
{
    if (!m)
        return;
    forget(m);
    for (size_t i = 0; i < m->witnesses; i++)
        free((char *)(uintptr_t)m->witness[i].path);
    free(m->wanted);
    free(m);
}

const struct cachefile_segment *cache_segments(const struct cache_module *m, size_t *count)
{
    if (!m->known)
        return NULL;
    *count = m->file.h.segments;
    return m->file.segment;
}

// Our number of a string of the file; false if it is damaged.
static bool translate(struct cache_module *m, uint32_t *number)
{
    if (*number >= m->file.h.strings)
        return false;
    uint32_t *known = &m->number[*number];
    if (*known == 0) {
        const char *text = cachefile_string(&m->file, *number);

        if (!text)
            return false;
        *known = strings_add(m->owner->strings, text, strlen(text)) + 1;
    }
    *number = *known - 1;
    return true;
}

bool cache_find(struct cache_module *m, uint64_t address, struct cachefile_answer *out)
{
    if (!m->known)
        return false;
    bool found = cachefile_find(&m->file, address, out) && translate(m, &out->function) &&
                 translate(m, &out->file);
    // The last question may have met a damaged page, or this one an invalid string.
    if (!found && m->file.bad)
        forget(m);
    return found;
}

// ---- New answers ----

void cache_witness(struct cache_module *m, const char *path)
{
    char *kept = m->witnesses < WITNESSES_MAX ? strdup(path) : NULL;

    if (!kept)
        m->too_many = true;
    else
        look(&m->witness[m->witnesses++], kept);
}

void cache_expires(struct cache_module *m, unsigned seconds)
{
    m->expires = (uint64_t)time(NULL) + seconds;
}

void cache_want(struct cache_module *m, uint64_t start, uint64_t end)
{
    // Most questions are about the range of the one before.
    if (m->wants && start >= m->wanted[m->wants - 1].start && end <= m->wanted[m->wants - 1].end)
        return;
    if (m->wants == m->wants_room) {
        size_t room = m->wants_room ? m->wants_room * 2 : 64;
        struct wanted *grown = realloc(m->wanted, room * sizeof(*grown));

        if (!grown)
            return;
        m->wanted = grown;
        m->wants_room = room;
    }
    m->wanted[m->wants++] = (struct wanted){ start, end };
}

struct rows {
    struct cachefile_answer *row;
    size_t count, room;
    bool full;
};

static void add_row(struct rows *r, const struct cachefile_answer *a)
{
    struct cachefile_answer *last = r->count ? &r->row[r->count - 1] : NULL;

    if (last && last->end == a->start && last->function == a->function && last->file == a->file &&
        last->line == a->line) {
        last->end = a->end;
        return;
    }
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 4096;
        struct cachefile_answer *grown =
            r->count < ROWS_MAX ? realloc(r->row, room * sizeof(*grown)) : NULL;

        if (!grown) {
            r->full = true;
            return;
        }
        r->row = grown;
        r->room = room;
    }
    r->row[r->count++] = *a;
}

static int compare_wanted(const void *x, const void *y)
{
    const struct wanted *a = x, *b = y;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void resolve_wanted(struct cache_module *m, struct rows *r, cache_resolve_fn resolve,
                           void *ctx)
{
    uint64_t at = 0;

    qsort(m->wanted, m->wants, sizeof(*m->wanted), compare_wanted);
    for (size_t i = 0; i < m->wants; i++) {
        if (at < m->wanted[i].start)
            at = m->wanted[i].start;
        while (at < m->wanted[i].end && !r->full) {
            struct cachefile_answer a;

            resolve(ctx, at, &a);
            a.start = at;
            if (a.end > m->wanted[i].end)
                a.end = m->wanted[i].end;
            add_row(r, &a);
            at = a.end;
        }
    }
}

// The rows of the old file, if it was made under the same conditions.
static void add_old(struct cache_module *m, struct rows *r)
{
    struct cachefile_witness w;
    struct cachefile_row row, next;
    size_t n = 0;

    if (!m->known)
        return;
    for (; cachefile_witness(&m->file, n, &w); n++)
        if (n >= m->witnesses || strcmp(w.path, m->witness[n].path) != 0 ||
            !same_witness(&w, &m->witness[n]))
            return;
    if (n != m->witnesses)
        return;
    size_t before = r->count;
    bool ok = cachefile_row(&m->file, 0, &row);
    for (uint64_t i = 1; ok && i < m->file.h.rows; i++, row = next) {
        struct cachefile_answer a = { .function = row.function,
                                      .file = row.file,
                                      .line = row.line };

        ok = cachefile_row(&m->file, i, &next) && next.start > row.start;
        if (!ok || row.function == CACHEFILE_UNKNOWN)
            continue;
        ok = translate(m, &a.function) && translate(m, &a.file);
        a.start = m->file.h.base + row.start;
        a.end = m->file.h.base + next.start;
        add_row(r, &a);
    }
    if (!ok)
        r->count = before; // damaged: leave them out
}

static int compare_rows(const void *x, const void *y)
{
    const struct cachefile_answer *a = x, *b = y;

    return a->start < b->start ? -1 : a->start > b->start;
}

// The strings of a new file, numbered in the order of first use; 0 is "???" again.
struct texts {
    const struct strings *from;
    const char **text;
    uint32_t *number; // by ours, plus 1
    size_t count;
};

static uint32_t put_text(struct texts *t, uint32_t ours)
{
    if (t->number[ours] == 0) {
        t->text[t->count++] = t->from->text[ours];
        t->number[ours] = (uint32_t)t->count;
    }
    return t->number[ours] - 1;
}

// Sorted rows, with holes where nothing is known, from the base on. Returns their number.
static size_t lay_rows(struct cachefile_row *out, const struct rows *r, uint64_t base,
                       struct texts *t)
{
    uint64_t at = base;
    size_t n = 0;

    for (size_t i = 0; i < r->count; i++) {
        const struct cachefile_answer *a = &r->row[i];
        uint64_t start = a->start > at ? a->start : at;

        if (a->end <= start)
            continue;
        if (start > at || n == 0)
            out[n++] = (struct cachefile_row){ (uint32_t)(at - base), CACHEFILE_UNKNOWN, 0, 0 };
        if (n > 0 && out[n - 1].start == start - base)
            n--; // an empty hole
        out[n++] = (struct cachefile_row){ (uint32_t)(start - base), put_text(t, a->function),
                                           put_text(t, a->file), a->line };
        at = a->end;
    }
    out[n++] = (struct cachefile_row){ (uint32_t)(at - base), CACHEFILE_UNKNOWN, 0, 0 };
    return n;
}

static void write_rows(struct cache_module *m, const struct rows *r,
                       const struct cachefile_segment *segment, size_t segments)
{
    struct cache *c = m->owner;
    uint64_t base = r->row[0].start;
    // Holes between rows are rows, too.
    struct cachefile_row *row = calloc(2 * r->count + 2, sizeof(*row));
    struct texts t = { .from = c->strings,
                       .text = calloc(c->strings->count, sizeof(*t.text)),
                       .number = calloc(c->strings->count, sizeof(*t.number)) };

    if (row && t.text && t.number && r->row[r->count - 1].end - base < UINT32_MAX) {
        put_text(&t, 0);
        struct cachefile_content content = { .base = base,
                                             .expires = m->expires,
                                             .identity = &m->identity,
                                             .identity_size = identity_size(&m->identity),
                                             .segment = segment,
                                             .segments = segments,
                                             .witness = m->witness,
                                             .witnesses = m->witnesses,
                                             .row = row,
                                             .rows = lay_rows(row, r, base, &t),
                                             .string = t.text };
        content.strings = t.count;
        size_t size;
        void *data = cachefile_make(&content, &size);
        if (c->dir < 0)
            c->dir = cachedir_open(c->folder, true);
        if (data && c->dir >= 0 && cachedir_write(c->dir, m->name, data, size))
            cachedir_prune(c->dir, CACHEDIR_SUFFIX, total_max);
        free(data);
    }
    free(row);
    free(t.text);
    free(t.number);
}

void cache_save(struct cache_module *m, const struct cachefile_segment *segment, size_t segments,
                cache_resolve_fn resolve, void *ctx)
{
    struct rows r = { 0 };

    if (m->wants == 0 || m->too_many)
        return;
    resolve_wanted(m, &r, resolve, ctx);
    add_old(m, &r);
    if (r.count && !r.full && !memory_is_short()) {
        qsort(r.row, r.count, sizeof(*r.row), compare_rows);
        write_rows(m, &r, segment, segments);
    }
    m->wants = 0;
    free(r.row);
}
