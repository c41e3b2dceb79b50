// SPDX-License-Identifier: MIT
//
// Reads places, sites and jumps from their sections. A section is walked from its first function
// on; the entries of functions that were not requested are skipped without being decoded.
#include "report/core/detail.h"

#include "report/core/bytes.h"
#include "report/core/column.h"
#include "report/core/costs.h"
#include "report/core/heap.h"
#include "report/core/texts.h"

void detail_free(struct detail *d)
{
    if (!d)
        return;
    heap_put(d->slot);
    heap_put(d->row);
    heap_put(d->counts);
    heap_put(d->event);
    heap_put(d);
}

static struct detail *detail_new(const struct core *c, const struct formula *f)
{
    struct detail *d = heap_get(sizeof(*d));

    if (d)
        d->sides = c->has & CORE_HAS_BASE ? CORE_SIDES : 1;
    if (!d || !(d->event = heap_array(c->events, sizeof(*d->event)))) {
        heap_put(d);
        return NULL;
    }
    if (f)
        while (formula_needs(f, d->events) != CORE_NONE && d->events < c->events) {
            d->event[d->events] = formula_needs(f, d->events);
            d->events++;
        }
    else
        for (; d->events < c->events; d->events++)
            d->event[d->events] = d->events;
    return d;
}

// A new row with its counts zero; NULL: no memory.
static struct detail_row *add_row(struct detail *d)
{
    size_t each = (size_t)d->sides * d->events;

    if (!heap_room(d->row, d->count, d->cap))
        return NULL;
    if (d->cap * each > d->counts_cap) {
        core_count *more =
            heap_more(d->counts, d->counts_cap * sizeof(*more), d->cap * each * sizeof(*more));
        if (!more)
            return NULL;
        d->counts = more;
        d->counts_cap = d->cap * each;
    }
    return &d->row[d->count++];
}

static core_count *counts_at(const struct detail *d, size_t row, unsigned side)
{
    return d->events ? d->counts + (row * d->sides + side) * d->events : NULL; // jumps have none
}

// ---- Sorting rows ----

static int order64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int order_rows(const struct detail_row *x, const struct detail_row *y)
{
    int order;

    // No function and no file come first: CORE_NONE + 1 is 0.
    if ((order = order64(x->func + 1, y->func + 1)) || (order = order64(x->addr, y->addr)) ||
        (order = order64(x->file + 1, y->file + 1)) || (order = order64(x->line, y->line)) ||
        (order = order64(x->callee + 1, y->callee + 1)) ||
        (order = order64(x->to_addr, y->to_addr)) ||
        (order = order64(x->to_file + 1, y->to_file + 1)))
        return order;
    return order64(x->to_line, y->to_line);
}

static void merge_runs(const struct detail *d, const uint32_t *from, uint32_t *to, size_t width)
{
    size_t n = d->count;

    for (size_t lo = 0; lo < n; lo += 2 * width) {
        size_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
        for (size_t i = lo, k = mid, out = lo; out < hi; out++)
            to[out] = i < mid && (k >= hi || order_rows(&d->row[from[i]], &d->row[from[k]]) <= 0)
                          ? from[i++]
                          : from[k++];
    }
}

static uint64_t add_calls(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void copy_row(struct detail *d, struct detail_row *row, core_count *counts, size_t from)
{
    size_t each = (size_t)d->sides * d->events;

    *row = d->row[from];
    if (each)
        core_copy(counts, d->counts + from * each, each * sizeof(*counts));
}

// Moves rows to their places, one cycle of the permutation after another: row from[i] becomes row
// i. `spare` has space for the counts of a row.
static void move_rows(struct detail *d, uint32_t *from, core_count *spare)
{
    size_t each = (size_t)d->sides * d->events;

    for (size_t i = 0; i < d->count; i++) {
        struct detail_row row;
        size_t to = i, next;
        if (from[i] == CORE_NONE || from[i] == i)
            continue;
        copy_row(d, &row, spare, i);
        for (; (next = from[to]) != i; to = next) {
            copy_row(d, &d->row[to], each ? d->counts + to * each : NULL, next);
            from[to] = CORE_NONE;
        }
        from[to] = CORE_NONE;
        d->row[to] = row;
        if (each)
            core_copy(d->counts + to * each, spare, each * sizeof(*spare));
    }
}

// Sorts the rows. In their place: with all events no list of the core takes more memory.
static int settle(struct detail *d)
{
    size_t n = d->count;
    uint32_t *a = heap_array(n, sizeof(*a)), *b = heap_array(n, sizeof(*b));
    core_count *spare = heap_array((size_t)d->sides * d->events, sizeof(*spare));
    bool ok = a && b && spare;

    heap_put(d->slot);
    d->slot = NULL;
    for (size_t i = 0; ok && i < n; i++)
        a[i] = (uint32_t)i;
    for (size_t width = 1; ok && width < n; width *= 2) {
        merge_runs(d, a, b, width);
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    if (ok)
        move_rows(d, a, spare);
    heap_put(a);
    heap_put(b);
    heap_put(spare);
    return ok ? 0 : CORE_MEMORY;
}

// ---- Equal rows ----

static uint64_t hash_of(const struct detail_row *row)
{
    const uint64_t part[] = { (uint64_t)row->func << 32 | row->file,
                              (uint64_t)row->callee << 32 | row->to_file,
                              row->line,
                              row->addr,
                              row->to_line,
                              row->to_addr };
    uint64_t h = 0;

    for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
        h = (h ^ part[i]) * 0x9e3779b97f4a7c15u; // 2^64 / the golden ratio
        h ^= h >> 29;
    }
    return h;
}

// Where a row is, or would be: the slot has its number + 1, or 0.
static uint32_t *slot_of(const struct detail *d, const struct detail_row *row)
{
    size_t at = (size_t)hash_of(row) & (d->slots - 1);

    while (d->slot[at] && order_rows(&d->row[d->slot[at] - 1], row) != 0)
        at = (at + 1) & (d->slots - 1);
    return &d->slot[at];
}

static bool more_slots(struct detail *d)
{
    size_t slots = d->slots ? d->slots * 2 : 64;
    uint32_t *slot = heap_array(slots, sizeof(*slot));

    if (!slot || d->count >= UINT32_MAX - 1) {
        heap_put(slot);
        return false;
    }
    heap_put(d->slot);
    d->slot = slot;
    d->slots = slots;
    for (size_t i = 0; i < d->count; i++)
        *slot_of(d, &d->row[i]) = (uint32_t)i + 1;
    return true;
}

// The row that is equal, to which calls are added, or a new one. Equal ones are summed as they are
// read: a line has several instructions and is in all functions that it was inlined into, and each
// row has the counts of all events. NULL: no memory.
static struct detail_row *row_for(struct detail *d, const struct detail_row *row)
{
    struct detail_row *to = d->count ? &d->row[d->last] : NULL;

    if (!to || order_rows(to, row) != 0) { // most often the previous one
        if (d->count >= d->slots / 2 && !more_slots(d))
            return NULL;
        uint32_t *slot = slot_of(d, row);
        if (!*slot) {
            if (!(to = add_row(d)))
                return NULL;
            *to = *row;
            *slot = (uint32_t)d->count;
            d->last = d->count - 1;
            return to;
        }
        d->last = *slot - 1;
        to = &d->row[d->last];
    }
    for (int s = 0; s < CORE_SIDES; s++) {
        to->calls[s] = add_calls(to->calls[s], row->calls[s]);
        to->followed[s] = add_calls(to->followed[s], row->followed[s]);
    }
    return to;
}

// ---- Walking a section ----

// The columns of CALLS and PLACES at the first entry of a function.
struct walk {
    const struct core *c;
    const struct section *s;
    struct bytes per, callee, calls, file, line, addr;
    struct counts *counts; // by d->event
    uint64_t at_line, at_addr;
    bool bad;
};

static bool walk_open(struct walk *w, const struct core *c, const struct section *s,
                      const struct detail *d, bool sites)
{
    struct bytes b = bytes_of(s->at, s->size);

    *w = (struct walk){ .c = c, .s = s };
    w->counts = heap_array(d->events, sizeof(*w->counts));
    if (!w->counts)
        return false;
    w->per = bytes_text(&b);
    if (sites) {
        w->callee = bytes_text(&b);
        w->calls = bytes_text(&b);
    }
    w->file = bytes_text(&b);
    if (s->flags & SECTION_LINE)
        w->line = bytes_text(&b);
    if (s->flags & SECTION_ADDR)
        w->addr = bytes_text(&b);
    for (uint32_t e = 0; e < c->events; e++) {
        struct counts v = bytes_counts(&b);
        for (uint32_t i = 0; i < d->events; i++)
            if (d->event[i] == e)
                w->counts[i] = v;
    }
    w->bad = b.bad;
    return true;
}

static void walk_skip(struct walk *w, const struct detail *d, uint64_t entries, uint64_t counted,
                      bool sites)
{
    if (sites) {
        bytes_skip(&w->callee, entries);
        bytes_skip(&w->calls, entries);
    }
    bytes_skip(&w->file, entries);
    if (w->s->flags & SECTION_LINE)
        bytes_skip(&w->line, entries);
    if (w->s->flags & SECTION_ADDR)
        bytes_skip(&w->addr, entries);
    for (uint32_t i = 0; i < d->events; i++)
        counts_skip(&w->counts[i], counted);
}

static bool walk_bad(struct walk *w, const struct detail *d)
{
    w->bad |=
        w->per.bad || w->callee.bad || w->calls.bad || w->file.bad || w->line.bad || w->addr.bad;
    for (uint32_t i = 0; i < d->events; i++)
        w->bad |= w->counts[i].b.bad;
    return w->bad;
}

// The next entry of function f into a row.
static void walk_place(struct walk *w, uint32_t f, struct detail_row *row)
{
    uint32_t file = bytes_ref(&w->file, w->c->strings);

    row->func = f;
    row->callee = row->to_file = CORE_NONE;
    row->file = file == CORE_NONE ? w->c->file[f] : file;
    if (w->s->flags & SECTION_LINE)
        row->line = w->at_line += (uint64_t)bytes_s(&w->line);
    if (w->s->flags & SECTION_ADDR)
        row->addr = w->at_addr += (uint64_t)bytes_s(&w->addr);
}

// Clears the fields that the request does not distinguish.
static void blur(struct detail_row *row, unsigned by)
{
    if (!(by & DETAIL_FUNC))
        row->func = CORE_NONE;
    if (!(by & DETAIL_ADDR))
        row->addr = 0;
    if (!(by & DETAIL_LINE))
        row->line = 0;
}

// Self cost of each function of the range in one part: remainders are computed from it.
static int part_self(struct core *c, uint32_t part, uint32_t event, uint32_t first, uint32_t end,
                     core_count *to)
{
    unsigned side = c->part[part].side;
    uint32_t of_side = 0;

    for (uint32_t i = 0; i < c->parts; i++)
        of_side += c->part[i].side == side;
    if (of_side == 1) {
        int rc = costs_self(c, side, event);
        for (uint32_t f = first; rc == 0 && f < end; f++)
            to[f - first] = column_get(&c->self[side][event], f);
        return rc;
    }
    for (size_t i = 0; i < c->list[SECTION_SELF].count; i++) {
        const struct section *s = &c->list[SECTION_SELF].item[i];
        if (s->part != part || s->first >= end || s->first + s->count <= first)
            continue;
        struct bytes b = bytes_of(s->at, s->size);
        for (uint32_t e = 0; e < event; e++)
            bytes_counts(&b);
        struct counts v = bytes_counts(&b);
        uint32_t f = s->first;
        if (f < first) {
            counts_skip(&v, first - f);
            f = first;
        }
        for (; f < end && f < s->first + s->count; f++)
            to[f - first] = counts_next(&v);
        if (b.bad || v.b.bad)
            return CORE_DAMAGED;
    }
    return 0;
}

// Which line of the profile's version of a file a line of the base's is.
struct aligned {
    struct texts_run *run;
    uint32_t runs;
    bool known;
};

struct wish {
    uint32_t first, end; // functions
    uint32_t file;
    unsigned by;
    bool sites;
    struct aligned *aligned; // by string; DETAIL_ALIGN
};

static int align_row(const struct core *c, const struct wish *wish, struct detail_row *row)
{
    uint64_t old = 0, now = 0;

    if (!row->line || row->file >= c->strings)
        return 0;
    struct aligned *a = &wish->aligned[row->file];
    if (!a->known) {
        int rc = texts_align(c, row->file, &a->run, &a->runs);
        if (rc < 0)
            return rc;
        a->known = true;
    }
    if (!a->runs)
        return 0;
    for (uint32_t i = 0; i < a->runs; i++) {
        old += a->run[i].skip_old;
        now += a->run[i].skip_new;
        if (row->line <= old)
            break;
        if (row->line - old <= a->run[i].equal) {
            row->line = now + (row->line - old);
            return 0;
        }
        old += a->run[i].equal;
        now += a->run[i].equal;
    }
    row->to_line = row->line;
    return 0;
}

static void free_aligned(const struct core *c, struct aligned *a)
{
    for (uint32_t i = 0; a && i < c->strings; i++)
        heap_put(a[i].run);
    heap_put(a);
}

static int read_function(struct walk *w, struct detail *d, const struct wish *wish, uint32_t f,
                         uint32_t n, core_count *rest)
{
    bool remainder = !wish->sites && w->s->flags & SECTION_REMAINDER;

    w->at_line = w->c->line[f];
    w->at_addr = w->c->addr[f];
    for (uint32_t i = 0; i < n; i++) {
        struct detail_row row = { 0 };
        uint64_t calls = 0;
        walk_place(w, f, &row);
        if (wish->sites) {
            row.callee = bytes_u32(&w->callee);
            calls = bytes_u(&w->calls);
            if (row.callee >= w->c->funcs)
                return CORE_DAMAGED;
        }
        row.calls[w->s->side] = calls;
        int rc = wish->aligned && w->s->side ? align_row(w->c, wish, &row) : 0;
        if (rc < 0)
            return rc;
        bool wanted = wish->file == CORE_NONE || row.file == wish->file;
        blur(&row, wish->by);
        if (wanted && !row_for(d, &row))
            return CORE_MEMORY;
        core_count *v = wanted ? counts_at(d, d->last, w->s->side) : NULL;
        for (uint32_t e = 0; e < d->events; e++) {
            core_count x = remainder && i == n - 1 ? rest[e] : counts_next(&w->counts[e]);
            if (v)
                v[e] = column_sum(v[e], x);
            if (remainder && i < n - 1)
                rest[e] = column_sum(rest[e], x == CORE_COUNT_MIN ? CORE_COUNT_MAX : -x);
        }
        if (w->file.bad || w->line.bad || w->addr.bad)
            return CORE_DAMAGED;
    }
    return 0;
}

// Does any entry of the functions belong to the file? Two columns answer; the others of a section
// without one are not read.
static bool has_file(const struct core *c, const struct section *s, const struct wish *wish,
                     uint32_t first, uint32_t end)
{
    struct bytes b = bytes_of(s->at, s->size), per = bytes_text(&b), file;

    if (wish->sites) {
        bytes_text(&b);
        bytes_text(&b);
    }
    file = bytes_text(&b);
    for (uint32_t f = s->first; f < end && !per.bad && !file.bad; f++) {
        uint32_t n = bytes_u32(&per);
        for (uint32_t i = 0; i < n && !file.bad; i++) {
            uint32_t at = bytes_ref(&file, c->strings);
            if (f >= first && (at == CORE_NONE ? c->file[f] : at) == wish->file)
                return true;
        }
    }
    return b.bad || per.bad || file.bad; // the reader will say it
}

static int read_section(struct core *c, const struct section *s, struct detail *d,
                        const struct wish *wish)
{
    uint32_t first = s->first > wish->first ? s->first : wish->first;
    uint32_t end = core_min32(s->first + s->count, wish->end);
    bool remainder = !wish->sites && s->flags & SECTION_REMAINDER;
    uint64_t entries = 0, counted = 0;
    struct walk w;
    int rc = 0;

    if (first >= end || (wish->file != CORE_NONE && !has_file(c, s, wish, first, end)))
        return 0;
    if (!walk_open(&w, c, s, d, wish->sites))
        return CORE_MEMORY;
    core_count *self = heap_array((size_t)(end - first) * d->events, sizeof(*self));
    core_count *rest = heap_array(d->events, sizeof(*rest));
    if (!self || !rest)
        rc = CORE_MEMORY;
    for (uint32_t e = 0; rc == 0 && remainder && e < d->events; e++)
        rc = part_self(c, s->part, d->event[e], first, end, self + (size_t)e * (end - first));
    for (uint32_t f = s->first; f < first; f++) {
        uint32_t n = bytes_u32(&w.per);
        entries += n;
        counted += n && remainder ? n - 1 : n;
    }
    walk_skip(&w, d, entries, counted, wish->sites);
    for (uint32_t f = first; rc == 0 && f < end; f++) {
        uint32_t n = bytes_u32(&w.per);
        if (n > s->size) // each takes a byte
            rc = CORE_DAMAGED;
        for (uint32_t e = 0; rc == 0 && e < d->events; e++)
            rest[e] = self[(size_t)e * (end - first) + (f - first)];
        if (rc == 0)
            rc = read_function(&w, d, wish, f, n, rest);
        if (rc == 0 && walk_bad(&w, d))
            rc = CORE_DAMAGED;
    }
    heap_put(self);
    heap_put(rest);
    heap_put(w.counts);
    return rc;
}

static int read_all(struct core *c, enum section_kind kind, uint32_t func, uint32_t file,
                    unsigned by, const struct formula *f, struct detail **out)
{
    struct wish wish = { .first = func == CORE_NONE ? 0 : func,
                         .end = func == CORE_NONE ? c->funcs : func + 1,
                         .file = file,
                         .by = by,
                         .sites = kind == SECTION_CALLS };
    int rc = 0;

    *out = NULL;
    if (!c->linked || (func != CORE_NONE && func >= c->funcs))
        return CORE_WRONG;
    struct detail *d = detail_new(c, f);
    if (!d)
        return CORE_MEMORY;
    if (by & DETAIL_ALIGN && by & DETAIL_LINE && c->has & CORE_HAS_BASE) {
        wish.aligned = heap_array((size_t)c->strings + 1, sizeof(*wish.aligned));
        rc = wish.aligned ? 0 : CORE_MEMORY;
    }
    for (size_t i = 0; rc == 0 && i < c->list[kind].count; i++)
        if (c->part[c->list[kind].item[i].part].selected)
            rc = read_section(c, &c->list[kind].item[i], d, &wish);
    free_aligned(c, wish.aligned);
    if (rc == 0)
        rc = settle(d);
    if (rc < 0) {
        detail_free(d);
        d = NULL;
    }
    *out = d;
    return rc;
}

int detail_places(struct core *c, uint32_t func, uint32_t file, unsigned by,
                  const struct formula *f, struct detail **out)
{
    return read_all(c, SECTION_PLACES, func, file, by, f, out);
}

int detail_calls(struct core *c, uint32_t func, uint32_t file, unsigned by, const struct formula *f,
                 struct detail **out)
{
    return read_all(c, SECTION_CALLS, func, file, by, f, out);
}

// ---- Jumps ----

static int read_jumps(struct core *c, const struct section *s, uint32_t func, struct detail *d)
{
    struct bytes b = bytes_of(s->at, s->size), column[10];
    enum { PER, TO_FUNC, FILE, LINE, ADDR, TO_FILE, TO_LINE, TO_ADDR, EXECUTED, FOLLOWED };
    bool has[10] = { [LINE] = true, [ADDR] = true, [TO_LINE] = true, [TO_ADDR] = true };
    uint64_t skip = 0;

    for (int i = 0; i < 10; i++)
        column[i] = bytes_text(&b);
    for (uint32_t f = s->first; f < func; f++)
        skip += bytes_u32(&column[PER]);
    uint32_t n = bytes_u32(&column[PER]);
    for (int i = TO_FUNC; i < 10; i++)
        if (!has[i] || bytes_left(&column[i]))
            bytes_skip(&column[i], skip);
    uint64_t line = c->line[func], addr = c->addr[func];
    for (uint32_t i = 0; i < n && !b.bad; i++) {
        struct detail_row at = { .func = func }, *row = &at;
        uint32_t file;
        row->callee = bytes_ref(&column[TO_FUNC], c->funcs);
        if (row->callee == CORE_NONE)
            row->callee = func;
        file = bytes_ref(&column[FILE], c->strings);
        row->file = file == CORE_NONE ? c->file[func] : file;
        file = bytes_ref(&column[TO_FILE], c->strings);
        row->to_file = file == CORE_NONE ? c->file[row->callee] : file;
        if (s->flags & SECTION_LINE) {
            row->line = line += (uint64_t)bytes_s(&column[LINE]);
            row->to_line = line + (uint64_t)bytes_s(&column[TO_LINE]);
        }
        if (s->flags & SECTION_ADDR) {
            row->addr = addr += (uint64_t)bytes_s(&column[ADDR]);
            row->to_addr = addr + (uint64_t)bytes_s(&column[TO_ADDR]);
        }
        row->calls[s->side] = bytes_u(&column[EXECUTED]);
        row->followed[s->side] = bytes_u(&column[FOLLOWED]);
        for (int k = 0; k < 10; k++)
            b.bad |= column[k].bad;
        if (!row_for(d, row))
            return CORE_MEMORY;
    }
    return b.bad ? CORE_DAMAGED : 0;
}

int detail_jumps(struct core *c, uint32_t func, struct detail **out)
{
    struct detail *d;
    int rc = 0;

    *out = NULL;
    if (!c->linked || func >= c->funcs)
        return CORE_WRONG;
    d = detail_new(c, NULL);
    if (!d)
        return CORE_MEMORY;
    d->events = 0;
    for (size_t i = 0; rc == 0 && i < c->list[SECTION_JUMPS].count; i++) {
        const struct section *s = &c->list[SECTION_JUMPS].item[i];
        if (c->part[s->part].selected && s->first <= func && func - s->first < s->count)
            rc = read_jumps(c, s, func, d);
    }
    if (rc == 0)
        rc = settle(d);
    if (rc < 0) {
        detail_free(d);
        d = NULL;
    }
    *out = d;
    return rc;
}

// ---- Values ----

static struct value side_value(const struct detail *d, struct formula *f, unsigned side, size_t row)
{
    core_count *counts = formula_counts(f);
    const core_count *v = side < d->sides ? counts_at(d, row, side) : NULL;
    uint32_t event;

    for (uint32_t i = 0; (event = formula_needs(f, i)) != CORE_NONE; i++) {
        counts[i] = 0;
        for (uint32_t e = 0; v && e < d->events; e++)
            if (d->event[e] == event)
                counts[i] = v[e];
    }
    return formula_value(f);
}

struct value detail_value(const struct detail *d, struct formula *f, unsigned side, size_t row)
{
    if (side >= VALUES_DIFFERENCE) {
        struct value new = side_value(d, f, VALUES_NEW, row),
                     old = side_value(d, f, VALUES_OLD, row);
        return side == VALUES_FACTOR ? values_over(new, old)
                                     : values_minus(new, old, formula_scale(f));
    }
    return side_value(d, f, side, row);
}

// ---- Order ----

static double magnitude(const struct value *v)
{
    return v->approx != v->approx ? -1 : v->approx < 0 ? -v->approx : v->approx;
}

static bool before(const struct value *v, uint32_t a, uint32_t b)
{
    double x = magnitude(&v[a]), y = magnitude(&v[b]);

    if (x == y && v[a].is_exact && v[b].is_exact) { // equal doubles may hide a difference
        core_bits p = v[a].exact < 0 ? -(core_bits)v[a].exact : (core_bits)v[a].exact;
        core_bits q = v[b].exact < 0 ? -(core_bits)v[b].exact : (core_bits)v[b].exact;
        return p != q ? p > q : a < b;
    }
    return x != y ? x > y : a < b;
}

static void sink(const struct value *v, uint32_t *order, size_t n, size_t at)
{
    uint32_t x = order[at];

    for (size_t child; (child = at * 2 + 1) < n; at = child) {
        child += child + 1 < n && before(v, order[child], order[child + 1]);
        if (!before(v, x, order[child]))
            break;
        order[at] = order[child];
    }
    order[at] = x;
}

int64_t detail_order(const struct detail *d, struct formula *f, unsigned side, uint32_t *order)
{
    struct value *v = heap_array(d->count, sizeof(*v));
    double sum = 0, half = 0;
    size_t n = 0;

    if (!v)
        return CORE_MEMORY;
    for (size_t i = 0; i < d->count; i++) {
        v[i] = detail_value(d, f, side, i);
        order[i] = (uint32_t)i;
        sum += v[i].approx;
    }
    // A heap whose top is the last of the order: it is removed and stored at the end.
    for (size_t i = d->count / 2; i-- > 0;)
        sink(v, order, d->count, i);
    for (size_t end = d->count; end-- > 1;) {
        uint32_t x = order[0];
        order[0] = order[end];
        order[end] = x;
        sink(v, order, end, 0);
    }
    if (!formula_is_ratio(f) && side < VALUES_DIFFERENCE)
        while (n < d->count && half * 2 < sum)
            half += v[order[n++]].approx;
    heap_put(v);
    return (int64_t)n;
}
