// SPDX-License-Identifier: MIT
//
// Rows of functions into the columns of SELF, CALLS, PLACES and JUMPS.
#include <stdlib.h>

#include "report/pack/pack_priv.h"

static struct rows *rows_of(struct pack *k, unsigned kind)
{
    return kind == SECTION_CALLS ? &k->call : kind == SECTION_JUMPS ? &k->jump : &k->cost;
}

static void add_counts(const struct pack *k, const struct row *r, buf_count *to)
{
    const uint8_t *at = k->pool.at + r->more;
    size_t n = 0;

    for (unsigned shift = 0;; shift += 7) {
        n |= (size_t)(*at & 127) << shift;
        if (*at++ < 128)
            break;
    }
    for (size_t i = 0; i < n; i++)
        to[i] += buf_read_z(&at);
}

static bool same_place(const struct row *a, const struct row *b)
{
    return a->addr == b->addr && a->file == b->file && a->line == b->line && a->callee == b->callee;
}

void pack_emit_self(struct pack *k, uint32_t part, uint32_t first, uint32_t end, struct buf *to)
{
    size_t n = end - first;
    buf_count *v = calloc(n * k->events + 1, sizeof(*v));

    if (!v) {
        k->failed = true;
        return;
    }
    for (uint32_t f = first; f < end; f++)
        for (size_t i = k->cost.first[pack_slot(k, part, f)];
             i < k->cost.first[pack_slot(k, part, f) + 1]; i++)
            add_counts(k, &k->cost.row[i], v + (f - first) * k->events);
    for (size_t e = 0; e < k->events; e++)
        buf_counts(to, v + e, n, k->events);
    free(v);
}

size_t pack_emit_size(const struct pack *k, unsigned kind, uint32_t part, uint32_t func)
{
    const struct rows *r = rows_of((struct pack *)k, kind);
    size_t i = r->first[pack_slot(k, part, func)], end = r->first[pack_slot(k, part, func) + 1];

    // Most counts take a byte or two. With hundreds of events the worst case is assumed, so that no
    // block overflows.
    return (end - i) * (kind == SECTION_JUMPS ? 20 : 16 + k->events * (k->events > 64 ? 19 : 2));
}

// ---- Columns ----

struct columns {
    struct buf per, callee, calls, file, line, addr, to_func, to_file, to_line, to_addr, executed;
    buf_count *v; // by entry, event
    size_t n, cap;
};

static void free_columns(struct columns *c)
{
    struct buf *all[] = { &c->per,     &c->callee,  &c->calls,   &c->file,    &c->line,    &c->addr,
                          &c->to_func, &c->to_file, &c->to_line, &c->to_addr, &c->executed };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        buf_free(all[i]);
    free(c->v);
}

static bool add_entry(struct pack *k, struct columns *c)
{
    if (c->n == c->cap) {
        size_t cap = c->cap * 2 + 256;
        buf_count *more = realloc(c->v, cap * k->events * sizeof(*more));
        if (!more) {
            k->failed = true;
            return false;
        }
        c->v = more;
        c->cap = cap;
    }
    memset(c->v + c->n * k->events, 0, k->events * sizeof(*c->v));
    c->n++;
    return true;
}

static void put_jump(struct pack *k, struct columns *c, const struct row *r)
{
    const struct target *t = &k->target[r->more];

    buf_u(&c->to_func, r->callee == r->func ? 0 : (uint64_t)r->callee + 1);
    buf_u(&c->to_file, pack_names_ref(&k->names, t->file));
    buf_s(&c->to_line, (int64_t)(t->line - r->line));
    buf_s(&c->to_addr, (int64_t)(t->addr - r->addr));
    buf_u(&c->executed, t->executed);
    buf_u(&c->calls, r->calls);
}

// The rows i to end, of one function, in the part; at most `max` entries. Returns where it stopped.
// The caller stores the previous line and address.
static size_t put_rows(struct pack *k, unsigned kind, struct columns *c, size_t i, size_t end)
{
    const struct rows *r = rows_of(k, kind);
    const struct func *f = i < end ? &k->func[r->row[i].func] : NULL;
    uint64_t line = f ? f->line : 0, addr = f ? f->addr : 0, count = 0;

    while (i < end) {
        const struct row *x = &r->row[i];
        uint64_t calls = 0;
        buf_u(&c->file, pack_names_ref(&k->names, x->file));
        buf_s(&c->line, (int64_t)(x->line - line));
        buf_s(&c->addr, (int64_t)(x->addr - addr));
        line = x->line;
        addr = x->addr;
        count++;
        if (kind == SECTION_JUMPS) {
            put_jump(k, c, x);
            i++;
            continue;
        }
        if (!add_entry(k, c))
            return end;
        for (; i < end && same_place(x, &r->row[i]); i++) {
            add_counts(k, &r->row[i], c->v + (c->n - 1) * k->events);
            calls = calls + r->row[i].calls < calls ? UINT64_MAX : calls + r->row[i].calls;
        }
        if (kind == SECTION_CALLS) {
            buf_u(&c->callee, x->callee);
            buf_u(&c->calls, calls);
        }
    }
    buf_u(&c->per, count);
    // A remainder of zero is not written.
    return i;
}

static void put_section(struct pack *k, unsigned kind, uint32_t part, uint32_t first, uint32_t end,
                        unsigned flags, struct columns *c)
{
    struct buf to = { 0 };

    buf_u(&to, first);
    buf_u(&to, end - first);
    buf_u(&to, part);
    buf_u(&to, flags);
    buf_column(&to, &c->per);
    if (kind == SECTION_CALLS) {
        buf_column(&to, &c->callee);
        buf_column(&to, &c->calls);
    }
    if (kind == SECTION_JUMPS)
        buf_column(&to, &c->to_func);
    buf_column(&to, &c->file);
    if (flags & SECTION_LINE || kind == SECTION_JUMPS)
        buf_column(&to, flags & SECTION_LINE ? &c->line : &(struct buf){ 0 });
    if (flags & SECTION_ADDR || kind == SECTION_JUMPS)
        buf_column(&to, flags & SECTION_ADDR ? &c->addr : &(struct buf){ 0 });
    if (kind == SECTION_JUMPS) {
        buf_column(&to, &c->to_file);
        buf_column(&to, flags & SECTION_LINE ? &c->to_line : &(struct buf){ 0 });
        buf_column(&to, flags & SECTION_ADDR ? &c->to_addr : &(struct buf){ 0 });
        buf_column(&to, &c->executed);
        buf_column(&to, &c->calls);
    } else {
        for (size_t e = 0; e < k->events; e++)
            buf_counts(&to, c->n ? c->v + e : NULL, c->n, k->events);
    }
    blocks_add(&k->blocks, kind, first, end, &to);
    buf_free(&to);
}

void pack_emit_rows(struct pack *k, unsigned kind, uint32_t part, uint32_t first, uint32_t end)
{
    // An entry of 4,096 events of 19 bytes takes 78 KB; of usual ones thousands fit.
    size_t most = BLOCKS_MAX / (k->events * 19 + 100), i, stop;
    unsigned flags = (k->has & QUERN_HAS_LINE ? SECTION_LINE : 0u) |
                     (k->has & QUERN_HAS_ADDR ? SECTION_ADDR : 0u);
    const struct rows *r = rows_of(k, kind);
    bool alone = end - first == 1;

    i = r->first[pack_slot(k, part, first)];
    stop = r->first[pack_slot(k, part, end - 1) + 1];
    if (i == stop)
        return;
    if (alone && stop - i > most) { // the sections of one large function
        for (size_t next; i < stop; i = next) {
            struct columns c = { 0 };
            next = stop - i > most ? i + most : stop;
            // Rows of one place stay together where possible: the reader sums them in any
            // case.
            put_rows(k, kind, &c, i, next);
            put_section(k, kind, part, first, end, flags, &c);
            free_columns(&c);
        }
        return;
    }
    struct columns c = { 0 };
    for (uint32_t f = first; f < end; f++) {
        size_t from = r->first[pack_slot(k, part, f)], to = r->first[pack_slot(k, part, f) + 1];
        put_rows(k, kind, &c, from, to);
        if (k->failed)
            break;
        if (kind == SECTION_PLACES && to > from)
            c.n--; // the last one is the remainder
    }
    put_section(k, kind, part, first, end,
                flags | (kind == SECTION_PLACES ? SECTION_REMAINDER : 0u), &c);
    free_columns(&c);
}
