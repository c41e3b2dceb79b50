// SPDX-License-Identifier: MIT
//
// Objects of the data (objects.h). Both profiles become parts of one, so that names and functions
// are numbered once; its records are summed by place and side.
#include "cli/profiles/objects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"

enum { FIRST_FOLD = 1 << 12 }; // rows that are gathered before equal ones are summed

bool objects_are(const struct quern_profile *p)
{
    struct quern_part part;

    if (quern_profile_part(p, 0, &part) != 0)
        return false;
    for (size_t i = 0; i < part.desc_count; i++)
        if (strcmp(part.desc[i], "Functions: objects of the data") == 0)
            return true;
    return false;
}

bool objects_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

static int order(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

// Places come before the code: QUERN_NONE + 1 is 0.
static int compare(const void *x, const void *y)
{
    const struct objects_row *a = x, *b = y;
    int rc = order(a->object, b->object);

    if (!rc)
        rc = order((uint32_t)(a->func + 1), (uint32_t)(b->func + 1));
    if (!rc)
        rc = order(a->file, b->file);
    if (!rc)
        rc = order(a->addr, b->addr);
    return rc ? rc : order(a->line, b->line);
}

static uint64_t add_calls(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// Sums rows of the same place. Their counts stay where those of one of them are: at most as many
// as the rows that are left, so they are copied.
static void fold(struct objects *o, size_t *room)
{
    size_t kept = 0, each = 2 * o->events;
    quern_count *counts;

    qsort(o->row, o->rows, sizeof(*o->row), compare);
    for (size_t i = 0; i < o->rows; i++) {
        struct objects_row *to = kept ? &o->row[kept - 1] : NULL;

        if (!to || compare(to, &o->row[i]) != 0) {
            o->row[kept++] = o->row[i];
            continue;
        }
        for (int s = 0; s < 2; s++)
            to->calls[s] = add_calls(to->calls[s], o->row[i].calls[s]);
        for (size_t e = 0; e < each; e++)
            o->counts[to->at + e] += o->counts[o->row[i].at + e];
    }
    o->rows = kept;
    *room = 2 * kept > FIRST_FOLD ? 2 * kept : FIRST_FOLD;
    counts = xcalloc(*room * each + 1, sizeof(*counts));
    for (size_t i = 0; i < kept; i++) {
        memcpy(counts + i * each, o->counts + o->row[i].at, each * sizeof(*counts));
        o->row[i].at = i * each;
    }
    free(o->counts);
    o->counts = counts;
    o->row = xrealloc(o->row, (*room + 1) * sizeof(*o->row));
}

static void add(struct objects *o, size_t *room, const struct quern_record *rec, int side)
{
    bool code = rec->kind == QUERN_REC_CALL;
    struct objects_row *row;

    if (o->rows == *room)
        fold(o, room);
    row = &o->row[o->rows];
    *row = (struct objects_row){
        .object = code ? rec->to.func : rec->at.func,
        .func = code ? rec->at.func : QUERN_NONE,
        .file = rec->at.file,
        .line = rec->at.line,
        .addr = rec->at.addr,
        .at = o->rows * 2 * o->events,
    };
    if (row->file == QUERN_NONE)
        row->file = quern_profile_func_get(o->p, rec->at.func).file;
    row->calls[side] = code ? rec->calls : 0;
    row->begin = code ? rec->to.line : 0;
    memset(o->counts + row->at, 0, 2 * o->events * sizeof(*o->counts));
    for (size_t e = 0; e < o->events; e++) {
        o->counts[row->at + (size_t)side * o->events + e] = rec->counts[e];
        if (!code)
            o->total[(size_t)side * o->events + e] += rec->counts[e];
    }
    o->rows++;
}

// ---- The same in both profiles ----

static const struct objects *sorting;

static int by_name(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    struct quern_func f = quern_profile_func_get(sorting->p, a),
                      g = quern_profile_func_get(sorting->p, b);
    int rc = order(f.name, g.name);

    if (!rc)
        rc = order(f.file, g.file);
    return rc ? rc : order(a, b);
}

// Makes a function that only the base has and one that only the profile has the same, if each is
// the only one with that name and file. `has`: by function, bit 0: the profile, bit 1: the base.
static void pair(struct objects *o, const uint8_t *has, uint32_t *to)
{
    size_t n = quern_profile_func_count(o->p);
    uint32_t *func = xcalloc(n + 1, sizeof(*func));

    for (uint32_t i = 0; i < n; i++)
        func[i] = to[i] = i;
    sorting = o;
    qsort(func, n, sizeof(*func), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        struct quern_func f = quern_profile_func_get(o->p, func[i]), g;
        uint32_t of[4] = { QUERN_NONE, QUERN_NONE, QUERN_NONE, QUERN_NONE };
        unsigned alone[4] = { 0 };

        for (end = i; end < n; end++) {
            g = quern_profile_func_get(o->p, func[end]);
            if (g.name != f.name || g.file != f.file)
                break;
            alone[has[func[end]]]++;
            of[has[func[end]]] = func[end];
        }
        if (alone[1] == 1 && alone[2] == 1)
            to[of[2]] = of[1];
    }
    free(func);
}

static void match(struct objects *o, size_t *room)
{
    size_t n = quern_profile_func_count(o->p);
    uint8_t *has = xcalloc(n + 1, 1);
    uint32_t *to = xcalloc(n + 1, sizeof(*to));

    // A function of the code has a side where it misses; an object, where it is missed.
    for (size_t i = 0; i < o->rows; i++) {
        const struct objects_row *row = &o->row[i];
        uint8_t side = 0;

        for (int s = 0; s < 2; s++)
            for (size_t e = 0; e < o->events; e++)
                side |= objects_counts(o, row, s)[e] ? (uint8_t)(1 << s) : 0;
        has[row->object] |= side;
        if (row->func != QUERN_NONE)
            has[row->func] |= side;
    }
    pair(o, has, to);
    for (size_t i = 0; i < o->rows; i++) {
        o->row[i].object = to[o->row[i].object];
        if (o->row[i].func != QUERN_NONE)
            o->row[i].func = to[o->row[i].func];
    }
    fold(o, room);
    free(has);
    free(to);
}

const struct field *objects_field(const struct objects *o, const struct objects_row *row)
{
    return row->func == QUERN_NONE ? fields_find(&o->fields, o->p, row->object, row->addr) : NULL;
}

// ---- Reading ----

void objects_read(struct objects *o, const struct quern_profile *p, const char *path,
                  const struct quern_profile *base, const char *base_path)
{
    struct quern_error err;
    struct quern_record rec;
    struct quern_cursor *c;
    size_t room = FIRST_FOLD, parts;

    *o = (struct objects){ .p = quern_profile_new(), .base = base != NULL };
    if (!o->p)
        die(UTIL_USAGE, "out of memory");
    if (quern_profile_append(o->p, path, p, NULL, &err) < 0)
        remark_die(&err);
    parts = quern_profile_part_count(o->p);
    if (base && quern_profile_append(o->p, path, base, base_path, &err) < 0)
        remark_die(&err);
    o->events = quern_profile_event_count(o->p);
    o->row = xcalloc(room + 1, sizeof(*o->row));
    o->counts = xcalloc(room * 2 * o->events + 1, sizeof(*o->counts));
    o->total = xcalloc(2 * o->events + 1, sizeof(*o->total));
    c = read_cursor(o->p);
    while (quern_cursor_next(c, &rec))
        if (rec.kind == QUERN_REC_COST || rec.kind == QUERN_REC_CALL)
            add(o, &room, &rec, rec.part >= parts);
    quern_cursor_free(c);
    fold(o, &room);
    if (base)
        match(o, &room);
    fields_read(&o->fields, o->p);
    lifetimes_read_parts(&o->blocks[0], o->p, 0, parts);
    lifetimes_read_parts(&o->blocks[1], o->p, parts, quern_profile_part_count(o->p));
}

void objects_free(struct objects *o)
{
    quern_profile_free(o->p);
    free(o->row);
    free(o->counts);
    free(o->total);
    fields_free(&o->fields);
    lifetimes_free(&o->blocks[0]);
    lifetimes_free(&o->blocks[1]);
    *o = (struct objects){ 0 };
}

const quern_count *objects_counts(const struct objects *o, const struct objects_row *row, int side)
{
    return o->counts + row->at + (size_t)side * o->events;
}

quern_count objects_weight(const struct objects *o, const quern_count *counts)
{
    quern_count sum = 0;
    bool any = false;

    for (size_t e = 0; e < o->events; e++)
        if (strncmp(quern_profile_event_name(o->p, e), "D1m", 3) == 0) {
            sum += counts[e];
            any = true;
        }
    return any || !o->events ? sum : counts[0];
}

const char *objects_name(const struct objects *o, uint32_t func)
{
    const char *name = quern_profile_str(o->p, quern_profile_func_get(o->p, func).name);

    return *name ? name : "???";
}
