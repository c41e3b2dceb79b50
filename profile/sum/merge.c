// SPDX-License-Identifier: MIT
//
// Sums the records of any number of profiles in a table.
//
// An entry is a place that costs something. What places have in common - function, file, and for a
// call its target - is a context, stored once; so an entry is three small numbers in columns, and
// its counts lie in one pool. The memory is that of the result, whatever the number of profiles.
//
// Hot, and the one idea in it: profiles that are merged mostly come from the same program, so their
// records come in the same order. After entry i the next record is looked for in entry i+1 before
// anything is hashed, and is nearly always there. bench: make bench-tools, "merge".
#include "profile/sum/merge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct context {
    uint32_t kind, func, file, to_func, to_file;
    uint32_t line_high; // lines of 2^32 and more are not worth a wider column
    uint64_t to_line, to_addr, bb;
};

struct table { // open addressing, number + 1
    uint32_t *slot;
    size_t mask;
};

struct quern_merger {
    struct quern_profile *dst; // tables and header of the result; no records
    char *name;                // of the first profile, for messages
    size_t order;              // of the profile the header is from
    size_t added;

    struct context *ctx;
    size_t ctx_count, ctx_cap;
    struct table ctx_table;

    // Entries, in columns
    uint32_t *e_ctx, *e_line, *e_off;
    uint16_t *e_n; // slots of counts; WIDE: they are 128-bit
    uint64_t *e_addr;
    size_t count, cap;
    struct table table;

    // Counts: int64_t each, or quern_count in two slots; calls and jumps have `calls` and
    // `executed` before them.
    int64_t *pool;
    size_t pool_used, pool_cap;
};

#define WIDE 0x8000u

struct quern_merger *quern_merger_new(void)
{
    struct quern_merger *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->dst = quern_profile_new();
    if (!m->dst) {
        free(m);
        errno = ENOMEM;
        return NULL;
    }
    m->order = SIZE_MAX;
    return m;
}

static void reset(struct quern_merger *m)
{
    free(m->ctx);
    free(m->ctx_table.slot);
    free(m->e_ctx);
    free(m->e_line);
    free(m->e_off);
    free(m->e_n);
    free(m->e_addr);
    free(m->table.slot);
    free(m->pool);
    free(m->name);
    memset(m, 0, sizeof(*m));
    m->order = SIZE_MAX;
}

void quern_merger_free(struct quern_merger *m)
{
    if (!m)
        return;
    quern_profile_free(m->dst);
    reset(m);
    free(m);
}

// ---- Tables ----

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xff51afd7ed558ccdu;
    return h ^ h >> 29;
}

static uint64_t ctx_hash(const struct context *c)
{
    uint64_t h = mix(((uint64_t)c->func << 32 | c->to_func) * 0x9e3779b97f4a7c15u + c->kind);
    h = mix(h + ((uint64_t)c->file << 32 | c->to_file));
    return mix(h + c->to_line * 31 + c->to_addr + c->bb * 7 + c->line_high);
}

static uint64_t entry_hash(uint32_t ctx, uint32_t line, uint64_t addr)
{
    return mix((((uint64_t)ctx << 32 | line) + addr * 0x9e3779b97f4a7c15u) * 0xc4ceb9fe1a85ec53u);
}

static int ctx_equal(const struct context *a, const struct context *b)
{
    return a->func == b->func && a->to_func == b->to_func && a->kind == b->kind &&
           a->file == b->file && a->to_line == b->to_line && a->to_addr == b->to_addr &&
           a->to_file == b->to_file && a->bb == b->bb && a->line_high == b->line_high;
}

static int grow_ctx(struct quern_merger *m)
{
    size_t cap = m->ctx_cap ? m->ctx_cap * 2 : 256, mask = cap * 2 - 1;

    if (cap > UINT32_MAX / 2)
        return -ENOMEM;
    struct context *c;
    if (!(c = realloc(m->ctx, cap * sizeof(*c))))
        return -ENOMEM;
    m->ctx = c;
    uint32_t *slot;
    if (!(slot = calloc(mask + 1, sizeof(*slot))))
        return -ENOMEM;
    for (size_t i = 0; i < m->ctx_count; i++) {
        size_t h = ctx_hash(&c[i]) & mask;
        while (slot[h])
            h = (h + 1) & mask;
        slot[h] = (uint32_t)i + 1;
    }
    free(m->ctx_table.slot);
    m->ctx_table.slot = slot;
    m->ctx_table.mask = mask;
    m->ctx_cap = cap;
    return 0;
}

static uint32_t find_ctx(struct quern_merger *m, const struct context *c)
{
    if (m->ctx_count == m->ctx_cap && grow_ctx(m) < 0)
        return QUERN_NONE;
    size_t h;
    for (h = ctx_hash(c) & m->ctx_table.mask; m->ctx_table.slot[h]; h = (h + 1) & m->ctx_table.mask)
        if (ctx_equal(&m->ctx[m->ctx_table.slot[h] - 1], c))
            return m->ctx_table.slot[h] - 1;
    m->ctx[m->ctx_count] = *c;
    m->ctx_table.slot[h] = (uint32_t)m->ctx_count + 1;
    return (uint32_t)m->ctx_count++;
}

static int grow_entries(struct quern_merger *m, int addr)
{
    size_t cap = m->cap;
    void *q;

    if (m->count == m->cap || !cap) {
        cap = m->cap ? m->cap * 2 : 1024;
        if (cap > UINT32_MAX / 2)
            return -ENOMEM;
    }
#define GROW(field)                                            \
    do {                                                       \
        if (!(q = realloc(m->field, cap * sizeof(*m->field)))) \
            return -ENOMEM;                                    \
        m->field = q;                                          \
    } while (0)
    GROW(e_ctx);
    GROW(e_line);
    GROW(e_off);
    GROW(e_n);
    if (addr || m->e_addr) {
        int fresh = !m->e_addr;
        GROW(e_addr);
        if (fresh)
            memset(m->e_addr, 0, m->count * sizeof(*m->e_addr));
    }
#undef GROW
    if (cap == m->cap)
        return 0;
    size_t mask = cap * 2 - 1;
    uint32_t *slot;
    if (!(slot = calloc(mask + 1, sizeof(*slot))))
        return -ENOMEM;
    for (size_t i = 0; i < m->count; i++) {
        size_t h = entry_hash(m->e_ctx[i], m->e_line[i], m->e_addr ? m->e_addr[i] : 0) & mask;
        while (slot[h])
            h = (h + 1) & mask;
        slot[h] = (uint32_t)i + 1;
    }
    free(m->table.slot);
    m->table.slot = slot;
    m->table.mask = mask;
    m->cap = cap;
    return 0;
}

// The entry of a place, new with no counts perhaps. QUERN_NONE: no memory.
static uint32_t find_entry(struct quern_merger *m, uint32_t ctx, uint32_t line, uint64_t addr)
{
    uint32_t i;

    if (m->count == m->cap || (addr && !m->e_addr))
        if (grow_entries(m, addr != 0) < 0)
            return QUERN_NONE;
    size_t h;
    for (h = entry_hash(ctx, line, addr) & m->table.mask; m->table.slot[h];
         h = (h + 1) & m->table.mask) {
        i = m->table.slot[h] - 1;
        if (m->e_ctx[i] == ctx && m->e_line[i] == line && (!m->e_addr || m->e_addr[i] == addr))
            return i;
    }
    i = (uint32_t)m->count++;
    m->table.slot[h] = i + 1;
    m->e_ctx[i] = ctx;
    m->e_line[i] = line;
    if (m->e_addr)
        m->e_addr[i] = addr;
    m->e_off[i] = 0;
    m->e_n[i] = 0;
    return i;
}

static inline int is_entry(const struct quern_merger *m, uint32_t i, uint32_t ctx, uint32_t line,
                           uint64_t addr)
{
    return i < m->count && m->e_ctx[i] == ctx && m->e_line[i] == line &&
           (m->e_addr ? m->e_addr[i] == addr : !addr);
}

// ---- Counts ----

static int64_t *pool_alloc(struct quern_merger *m, size_t n, uint32_t *off)
{
    if (m->pool_used + n > m->pool_cap) {
        size_t cap = m->pool_cap ? m->pool_cap + m->pool_cap / 2 : 4096;
        if (cap < m->pool_used + n)
            cap = m->pool_used + n;
        if (cap > UINT32_MAX)
            return NULL;
        int64_t *q = realloc(m->pool, cap * sizeof(*q));
        if (!q)
            return NULL;
        m->pool = q;
        m->pool_cap = cap;
    }
    *off = (uint32_t)m->pool_used;
    m->pool_used += n;
    return m->pool + *off;
}

// Makes room for n counts in entry i, wide ones if asked. The old slots are lost; entries grow
// seldom (a later profile has a count where the first had a trailing zero).
static int reserve(struct quern_merger *m, uint32_t i, size_t n, int wide)
{
    size_t have = m->e_n[i] & (WIDE - 1u);
    int was_wide = (m->e_n[i] & WIDE) != 0;
    uint32_t old = m->e_off[i];

    wide |= was_wide;
    if (n < have)
        n = have;
    if (!n)
        return 0;
    uint32_t off;
    int64_t *v;
    if (!(v = pool_alloc(m, wide ? n * 2 : n, &off)))
        return -ENOMEM;
    for (size_t k = 0; k < n; k++) {
        quern_count x = 0;
        if (k < have && was_wide)
            memcpy(&x, m->pool + old + k * 2, sizeof(x));
        else if (k < have)
            x = m->pool[old + k];
        if (wide)
            memcpy(v + k * 2, &x, sizeof(x));
        else
            v[k] = (int64_t)x;
    }
    m->e_off[i] = off;
    m->e_n[i] = (uint16_t)(n | (wide ? WIDE : 0));
    return 0;
}

static quern_count get_count(const struct quern_merger *m, uint32_t i, size_t k)
{
    size_t n = m->e_n[i] & (WIDE - 1u);

    if (k >= n)
        return 0;
    if (!(m->e_n[i] & WIDE))
        return m->pool[m->e_off[i] + k];
    quern_count x;
    memcpy(&x, m->pool + m->e_off[i] + k * 2, sizeof(x));
    return x;
}

// Any counts: slow, always right.
static int add_wide(struct quern_merger *m, uint32_t i, const quern_count *v, size_t n, int sign)
{
    size_t have = m->e_n[i] & (WIDE - 1u);

    if (!n)
        return 0;
    if (have < n || !(m->e_n[i] & WIDE))
        if (reserve(m, i, n, 1) < 0)
            return -ENOMEM;
    for (size_t k = 0; k < n; k++) {
        quern_count x = get_count(m, i, k);
        x += sign < 0 ? -v[k] : v[k];
        memcpy(m->pool + m->e_off[i] + k * 2, &x, sizeof(x));
    }
    return 0;
}

// Counts of at most 64 bits. @hot
static int add_plain(struct quern_merger *m, uint32_t i, const uint64_t *v, size_t n, int sign)
{
    size_t have = m->e_n[i];
    size_t k;

    if (!n)
        return 0;
    if (__builtin_expect(have < n && !(have & WIDE), 0)) {
        if (reserve(m, i, n, 0) < 0)
            return -ENOMEM;
        have = m->e_n[i];
    }
    if (__builtin_expect(!(have & WIDE), 1)) {
        uint64_t bad = 0;
        int64_t *x = m->pool + m->e_off[i];
        // First see that nothing overflows, so that nothing is half added.
        for (k = 0; k < n; k++) {
            bad |= v[k] >> 63;
            int64_t sum;
            bad |= sign > 0 ? __builtin_add_overflow(x[k], (int64_t)v[k], &sum)
                            : __builtin_sub_overflow(x[k], (int64_t)v[k], &sum);
        }
        if (!bad) {
            if (sign > 0)
                for (k = 0; k < n; k++)
                    x[k] += (int64_t)v[k];
            else
                for (k = 0; k < n; k++)
                    x[k] -= (int64_t)v[k];
            return 0;
        }
    }
    quern_count *w;
    if (!(w = malloc((n + 1) * sizeof(*w))))
        return -ENOMEM;
    for (k = 0; k < n; k++)
        w[k] = v[k];
    int rc = add_wide(m, i, w, n, sign);
    free(w);
    return rc;
}

// ---- Adding a profile ----

// Numbers of the source's strings and functions in the result.
struct maps {
    uint32_t *file, *name, *other, *func; // string -> string, as a file, a name, anything; func
    int bad;                              // string + 1 that could not be rewritten
};

static uint32_t map_string(struct quern_profile *dst, const struct quern_profile *p, uint32_t s,
                           uint32_t *map, const struct quern_rewrite *rw, int *bad)
{
    if (s == QUERN_NONE)
        return QUERN_NONE;
    if (map[s] != QUERN_NONE)
        return map[s];
    if (rw) {
        char *text = quern_rewrite_apply(rw, p->str.text[s]);
        if (!text) {
            *bad = errno == EINVAL ? (int)s + 1 : *bad;
            return QUERN_NONE;
        }
        map[s] = strset_add(&dst->str, text, strlen(text));
        free(text);
    } else {
        map[s] = strset_add(&dst->str, p->str.text[s], p->str.len[s]);
    }
    return map[s];
}

// A fraction turned up in event e: everything counted so far becomes 10^-9 units.
static int rescale(struct quern_merger *m, size_t e)
{
    for (uint32_t i = 0; i < m->count; i++) {
        size_t k = e + (m->ctx[m->e_ctx[i]].kind == QUERN_REC_COST ? 0 : 2);
        if (k >= (m->e_n[i] & (WIDE - 1u)))
            continue;
        quern_count x = get_count(m, i, k) * NANO;
        if (!(m->e_n[i] & WIDE) && reserve(m, i, 0, 1) < 0)
            return -ENOMEM;
        memcpy(m->pool + m->e_off[i] + k * 2, &x, sizeof(x));
    }
    m->dst->event[e].scale = NANO;
    return 0;
}

static int take_header(struct quern_merger *m, const struct quern_profile *p, const char *name,
                       int part)
{
    struct quern_profile *dst = m->dst;

    // Only part facts and events; the strings and functions stay.
    for (size_t i = 0; i < dst->part[0].desc_count; i++)
        free(dst->part[0].desc[i]);
    free(dst->part[0].desc);
    free(dst->part[0].cmd);
    free(dst->part[0].creator);
    memset(&dst->part[0], 0, sizeof(dst->part[0]));
    int rc = profile_copy_header(dst, p, part < 0 ? 0 : part);
    free(m->name);
    m->name = name ? strdup(name) : NULL;
    return rc;
}

static uint32_t map_file(struct quern_merger *m, const struct quern_profile *p, uint32_t s,
                         const struct fold *f, struct maps *maps)
{
    return map_string(m->dst, p, s, maps->file, f->file, &maps->bad);
}

static uint32_t map_func(struct quern_merger *m, const struct quern_profile *p, uint32_t func,
                         const struct fold *f, struct maps *maps)
{
    if (maps->func[func] != QUERN_NONE)
        return maps->func[func];
    struct quern_func g = p->func[func];
    g.object = f->flags & FOLD_OBJECT
                   ? QUERN_NONE
                   : map_string(m->dst, p, g.object, maps->other, NULL, &maps->bad);
    g.file = map_file(m, p, g.file, f, maps);
    g.name = map_string(m->dst, p, g.name, maps->name, f->func, &maps->bad);
    return maps->func[func] = quern_profile_func(m->dst, g.object, g.file, g.name);
}

// Context of the record at w, folded.
static void fold_context(struct quern_merger *m, const struct quern_profile *p,
                         const struct walk *w, const struct fold *f, struct maps *maps,
                         struct context *c)
{
    memset(c, 0, sizeof(*c));
    c->kind = w->op;
    c->file = map_file(m, p, w->at.file, f, maps);
    if (f->flags & FOLD_FILE) {
        struct quern_func g = p->func[w->at.func];
        c->func =
            quern_profile_func(m->dst, QUERN_NONE, c->file,
                               map_string(m->dst, p, g.name, maps->name, f->func, &maps->bad));
    } else {
        c->func = map_func(m, p, w->at.func, f, maps);
    }
    c->to_func = c->to_file = QUERN_NONE;
    if (!(f->flags & (FOLD_ADDR | FOLD_NO_BB)))
        c->bb = w->at.bb;
    if (!(f->flags & FOLD_LINE))
        c->line_high = (uint32_t)(w->at.line >> 32);
    if (w->op == OP_COST)
        return;
    c->to_func = map_func(m, p, w->to.func, f, maps);
    if (w->op != OP_CALL)
        c->to_file = map_file(m, p, w->to.file, f, maps);
    if (!(f->flags & FOLD_LINE))
        c->to_line = w->to.line;
    if (!(f->flags & FOLD_ADDR))
        c->to_addr = w->to.addr;
}

// Adds the counts at w, which are plain, to an entry that has room for them. 0: one would not fit
// 63 bits, and nothing was added. @hot
static int add_in_place(struct walk *w, int64_t *x, size_t lead)
{
    const uint8_t *in = w->in;
    uint64_t bad = 0, v;

    if (lead) {
        bad = (w->calls | w->executed) >> 63;
        bad |= __builtin_add_overflow(x[0], (int64_t)w->calls, &x[0]);
        bad |= __builtin_add_overflow(x[1], (int64_t)w->executed, &x[1]);
    }
    for (size_t k = 0; k < w->ncounts; k++) {
        in = get_varint(in, &v);
        bad |= v >> 63;
        bad |= __builtin_add_overflow(x[lead + k], (int64_t)v, &x[lead + k]);
    }
    if (__builtin_expect(!bad, 1)) {
        w->in = in;
        return 1;
    }
    // Take it back; the sums wrapped, and so do the differences.
    if (lead) {
        x[0] = (int64_t)((uint64_t)x[0] - w->calls);
        x[1] = (int64_t)((uint64_t)x[1] - w->executed);
    }
    in = w->in;
    for (size_t k = 0; k < w->ncounts; k++) {
        in = get_varint(in, &v);
        x[lead + k] = (int64_t)((uint64_t)x[lead + k] - v);
    }
    return 0;
}

// A record whose counts are not all plain 64-bit whole numbers of events without fractions.
static int add_special(struct quern_merger *m, const struct quern_profile *p, struct walk *w,
                       uint32_t i, quern_count *wide, uint64_t *plain, size_t lead, int sign)
{
    struct quern_profile *dst = m->dst;
    size_t n = w->ncounts;

    for (size_t k = 0; k < lead; k++)
        wide[k] = (quern_count)plain[k];
    if (w->special) {
        walk_special(w, wide + lead);
        for (size_t k = 0; k < n; k++)
            if (dst->event[k].scale == 1)
                wide[lead + k] /= NANO;
    } else {
        walk_counts(w, plain + lead);
        for (size_t k = 0; k < n; k++)
            wide[lead + k] = (quern_count)plain[lead + k] * dst->event[k].scale;
    }
    (void)p;
    return add_wide(m, i, wide, n + lead, sign);
}

int merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
               const struct fold *f, struct quern_error *err)
{
    struct maps maps = { NULL, NULL, NULL, NULL, 0 };
    struct place cost = { 0 }; // of the last record of costs; its context is cost_ctx
    uint64_t cost_line_high = 0;
    uint64_t *plain = NULL;
    quern_count *wide = NULL;
    uint32_t ctx, cost_ctx = QUERN_NONE, at, next = 0, resume = 0;
    int rc = 0, scaled = 0;

    if (!p->event_count)
        return 0; // an empty file: Callgrind writes them for threads that did nothing
    if (m->added) {
        if ((rc = profile_same_events(m->dst, m->name, p, name, err)) < 0)
            return rc;
    } else if ((rc = take_header(m, p, name, f->part)) < 0) {
        goto out;
    }
    m->added++;
    for (size_t e = 0; e < p->event_count; e++) {
        if (p->event[e].scale != 1 && m->dst->event[e].scale == 1 && (rc = rescale(m, e)) < 0)
            goto out;
        scaled |= m->dst->event[e].scale != 1;
    }
    size_t ns = p->str.count + 1, nf = p->func_count + 1;
    maps.file = malloc(ns * sizeof(uint32_t));
    maps.name = malloc(ns * sizeof(uint32_t));
    maps.other = malloc(ns * sizeof(uint32_t));
    maps.func = malloc(nf * sizeof(uint32_t));
    plain = malloc((p->event_count + 3) * sizeof(*plain));
    wide = malloc((p->event_count + 3) * sizeof(*wide));
    rc = -ENOMEM;
    if (!maps.file || !maps.name || !maps.other || !maps.func || !plain || !wide)
        goto out;
    memset(maps.file, 0xff, ns * sizeof(uint32_t));
    memset(maps.name, 0xff, ns * sizeof(uint32_t));
    memset(maps.other, 0xff, ns * sizeof(uint32_t));
    memset(maps.func, 0xff, nf * sizeof(uint32_t));

    struct walk w;
    walk_init(&w, p);
    while (walk_next(&w)) {
        size_t lead = 0;
        uint32_t line = f->flags & FOLD_LINE ? 0 : (uint32_t)w.at.line;
        uint64_t addr = f->flags & FOLD_ADDR ? 0 : w.at.addr;

        if ((f->part >= 0 && w.at.part != (uint32_t)f->part) ||
            (w.op == OP_CALL && f->flags & FOLD_CALLS) ||
            (w.op > OP_CALL && f->flags & FOLD_JUMPS)) {
            if (w.special)
                walk_special(&w, wide);
            else
                walk_counts(&w, plain);
            continue;
        }
        // The context of costs stays through the calls between them; those of calls come once each.
        if (w.op != OP_COST || cost_ctx == QUERN_NONE || w.at.func != cost.func ||
            w.at.file != cost.file || w.at.bb != cost.bb || w.at.line >> 32 != cost_line_high) {
            struct context c;
            fold_context(m, p, &w, f, &maps, &c);
            // The entry expected next usually has it.
            if (next < m->count && ctx_equal(&m->ctx[m->e_ctx[next]], &c))
                ctx = m->e_ctx[next];
            else if (resume < m->count && ctx_equal(&m->ctx[m->e_ctx[resume]], &c))
                ctx = m->e_ctx[resume];
            else
                ctx = find_ctx(m, &c);
            if (ctx == QUERN_NONE || c.func == QUERN_NONE || maps.bad)
                goto out;
            if (w.op == OP_COST) {
                cost_ctx = ctx;
                cost = w.at;
                cost_line_high = w.at.line >> 32;
            }
        } else {
            ctx = cost_ctx;
        }
        // Files of one program have the same places in the same order; a place that stands in a
        // file twice leads back, and the one behind it goes on where the order was left.
        if (is_entry(m, next, ctx, line, addr)) {
            at = next;
        } else if (is_entry(m, resume, ctx, line, addr)) {
            at = resume;
        } else {
            resume = next;
            at = find_entry(m, ctx, line, addr);
        }
        next = at + 1;
        if (at == QUERN_NONE)
            goto out;
        lead = w.op != OP_COST ? 2 : 0;
        if (w.ncounts + lead == 0)
            continue; // a line without counts: only its place
        if (__builtin_expect(!w.special && !scaled && f->sign > 0 && !(m->e_n[at] & WIDE) &&
                                 w.ncounts + lead <= m->e_n[at],
                             1) &&
            add_in_place(&w, m->pool + m->e_off[at], lead))
            continue;
        if (lead) {
            plain[0] = w.calls;
            plain[1] = w.executed;
        }
        if (__builtin_expect(w.special || scaled, 0)) {
            if (add_special(m, p, &w, at, wide, plain, lead, f->sign) < 0)
                goto out;
        } else {
            walk_counts(&w, plain + lead);
            if (add_plain(m, at, plain, w.ncounts + lead, f->sign) < 0)
                goto out;
        }
    }
    rc = 0;
out:
    if (rc == -ENOMEM && maps.bad) {
        rc = -EINVAL;
        quern_error_set(err, EINVAL, name,
                        "the name '%.120s' cannot be rewritten: the pattern takes too "
                        "long on it or its replacement is not understood",
                        p->str.text[maps.bad - 1]);
    } else if (rc == -ENOMEM)
        quern_error_set(err, ENOMEM, name, "not enough memory to add this profile");
    free(maps.file);
    free(maps.name);
    free(maps.other);
    free(maps.func);
    free(plain);
    free(wide);
    return rc;
}

int quern_merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
                     struct quern_error *err)
{
    struct fold f = { .sign = 1, .part = -1 };
    return merger_add(m, p, name, &f, err);
}

// ---- Taking the result out, sorted ----

struct order { // ranks of strings and functions, so that sorting compares numbers
    uint32_t *str, *func;
    const struct quern_merger *m;
};

static __thread const struct order *sorting; // qsort() has no argument for the comparison

static int cmp_str(const void *a, const void *b)
{
    const struct quern_merger *m = sorting->m;
    return strcmp(m->dst->str.text[*(const uint32_t *)a], m->dst->str.text[*(const uint32_t *)b]);
}

static uint32_t rank_of(const uint32_t *rank, uint32_t s)
{
    return s == QUERN_NONE ? 0 : rank[s] + 1;
}

#define CMP(x, y)                      \
    do {                               \
        if ((x) != (y))                \
            return (x) < (y) ? -1 : 1; \
    } while (0)

static int cmp_func(const void *a, const void *b)
{
    const struct quern_func *f = &sorting->m->dst->func[*(const uint32_t *)a];
    const struct quern_func *g = &sorting->m->dst->func[*(const uint32_t *)b];

    CMP(rank_of(sorting->str, f->object), rank_of(sorting->str, g->object));
    CMP(rank_of(sorting->str, f->file), rank_of(sorting->str, g->file));
    CMP(rank_of(sorting->str, f->name), rank_of(sorting->str, g->name));
    return 0;
}

// Within a function: by address; else the function's own file first, then by line; costs before
// calls before jumps.
static int cmp_entry(const void *pa, const void *pb)
{
    const struct quern_merger *m = sorting->m;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    const struct context *c = &m->ctx[m->e_ctx[a]], *d = &m->ctx[m->e_ctx[b]];

    if (c->func != d->func)
        CMP(sorting->func[c->func], sorting->func[d->func]);
    if (m->e_addr)
        CMP(m->e_addr[a], m->e_addr[b]);
    if (c->file != d->file) {
        uint32_t own = m->dst->func[c->func].file;
        CMP(c->file != own, d->file != own);
        CMP(rank_of(sorting->str, c->file), rank_of(sorting->str, d->file));
    }
    CMP(c->line_high, d->line_high);
    CMP(m->e_line[a], m->e_line[b]);
    CMP(c->bb, d->bb);
    CMP(c->kind, d->kind);
    if (c->kind == QUERN_REC_COST)
        return 0;
    if (c->to_func != d->to_func)
        CMP(sorting->func[c->to_func], sorting->func[d->to_func]);
    CMP(rank_of(sorting->str, c->to_file), rank_of(sorting->str, d->to_file));
    CMP(c->to_line, d->to_line);
    CMP(c->to_addr, d->to_addr);
    return 0;
}

static int rank(struct order *o, uint32_t **out, size_t n, int (*cmp)(const void *, const void *))
{
    uint32_t *idx = malloc((n + 1) * sizeof(*idx));

    *out = malloc((n + 1) * sizeof(**out));
    if (!idx || !*out) {
        free(idx);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        idx[i] = (uint32_t)i;
    sorting = o;
    qsort(idx, n, sizeof(*idx), cmp);
    for (size_t i = 0; i < n; i++)
        (*out)[idx[i]] = (uint32_t)i;
    free(idx);
    return 0;
}

// Entries sorted: first dealt out by function, then each function's few, mostly sorted already.
static uint32_t *sort_entries(struct quern_merger *m, struct order *o)
{
    size_t nf = m->dst->func_count;
    uint32_t *idx = malloc((m->count + 1) * sizeof(*idx));
    size_t *first = calloc(nf + 2, sizeof(*first));

    if (!idx || !first) {
        free(idx);
        free(first);
        return NULL;
    }
    for (size_t i = 0; i < m->count; i++)
        first[o->func[m->ctx[m->e_ctx[i]].func] + 2]++;
    for (size_t i = 0; i < nf; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < m->count; i++)
        idx[first[o->func[m->ctx[m->e_ctx[i]].func] + 1]++] = (uint32_t)i;
    // first[f] .. first[f + 1] is now function f
    sorting = o;
    for (size_t f = 0; f < nf; f++) {
        uint32_t *a = idx + first[f];
        size_t n = first[f + 1] - first[f];
        int sorted = 1;
        for (size_t k = 1; k < n && sorted; k++)
            sorted = cmp_entry(&a[k - 1], &a[k]) <= 0;
        if (!sorted)
            qsort(a, n, sizeof(*a), cmp_entry);
    }
    free(first);
    return idx;
}

static uint64_t clamp_u64(quern_count v)
{
    return v < 0 ? 0 : v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

// Writes the sorted entries as records of part `part` of out, whose tables are those of m->dst.
static int emit(struct quern_merger *m, struct quern_profile *out, uint32_t part, struct maps *maps)
{
    struct order o = { NULL, NULL, m };
    uint32_t *idx = NULL;
    quern_count *v = calloc(m->dst->event_count + 1, sizeof(*v));
    int rc = -ENOMEM;

    if (!v || rank(&o, &o.str, m->dst->str.count, cmp_str) < 0 ||
        rank(&o, &o.func, m->dst->func_count, cmp_func) < 0 || !(idx = sort_entries(m, &o)))
        goto out;
    struct fold none = { .sign = 1, .part = -1 };
    for (size_t k = 0; k < m->count; k++) {
        uint32_t i = idx[k];
        const struct context *c = &m->ctx[m->e_ctx[i]];
        size_t n = m->e_n[i] & (WIDE - 1u), lead = c->kind == QUERN_REC_COST ? 0 : 2;
        struct quern_record rec = { .kind = (enum quern_record_kind)c->kind, .part = part };
        n = n > lead ? n - lead : 0;
        for (size_t e = 0; e < n; e++)
            v[e] = get_count(m, i, e + lead);
        rec.at.func = c->func;
        rec.at.file = c->file;
        rec.to.func = c->to_func;
        rec.to.file = c->to_file;
        if (maps) {
            rec.at.func =
                map_func(&(struct quern_merger){ .dst = out }, m->dst, c->func, &none, maps);
            rec.at.file = map_string(out, m->dst, c->file, maps->file, NULL, &maps->bad);
            if (lead)
                rec.to.func =
                    map_func(&(struct quern_merger){ .dst = out }, m->dst, c->to_func, &none, maps);
            rec.to.file = map_string(out, m->dst, c->to_file, maps->file, NULL, &maps->bad);
        }
        rec.at.line = (uint64_t)c->line_high << 32 | m->e_line[i];
        rec.at.addr = m->e_addr ? m->e_addr[i] : 0;
        rec.at.bb = c->bb;
        rec.to.line = c->to_line;
        rec.to.addr = c->to_addr;
        if (lead) {
            rec.calls = clamp_u64(get_count(m, i, 0));
            rec.executed = clamp_u64(get_count(m, i, 1));
        }
        rec.counts = v;
        if ((rc = stream_add(out, &rec, n)) < 0)
            goto out;
    }
    rc = 0;
out:
    free(v);
    free(o.str);
    free(o.func);
    free(idx);
    return rc;
}

struct quern_profile *quern_merger_take(struct quern_merger *m, struct quern_error *err)
{
    struct quern_profile *p = m->dst, *fresh = quern_profile_new();
    int rc = fresh ? emit(m, p, 0, NULL) : -ENOMEM;

    if (rc < 0) {
        quern_profile_free(fresh);
        quern_error_set(err, -rc, NULL, "not enough memory for the result");
        errno = -rc;
        return NULL;
    }
    reset(m);
    m->dst = fresh;
    return p;
}

int merger_take_into(struct quern_merger *m, struct quern_profile *out)
{
    struct maps maps = { NULL, NULL, NULL, NULL, 0 };
    size_t ns = m->dst->str.count + 1, nf = m->dst->func_count + 1;
    int rc = -ENOMEM;

    maps.file = maps.name = maps.other = malloc(ns * sizeof(uint32_t));
    maps.func = malloc(nf * sizeof(uint32_t));
    struct quern_profile *fresh = quern_profile_new();
    if (maps.file && maps.func && fresh) {
        memset(maps.file, 0xff, ns * sizeof(uint32_t));
        memset(maps.func, 0xff, nf * sizeof(uint32_t));
        rc = emit(m, out, (uint32_t)(out->part_count - 1), &maps);
    }
    free(maps.file);
    free(maps.func);
    if (rc == 0) {
        quern_profile_free(m->dst);
        reset(m);
        m->dst = fresh;
    } else {
        quern_profile_free(fresh);
    }
    return rc;
}

struct quern_profile *profile_canonical(const struct quern_profile *p, unsigned flags, int combine,
                                        struct quern_error *err)
{
    struct quern_profile *out = quern_profile_new();
    struct quern_merger *m = quern_merger_new();
    int rc = -ENOMEM;

    if (!m || !out)
        goto out;
    if ((rc = profile_copy_header(out, p, combine ? 0 : -1)) < 0)
        goto out;
    for (size_t part = 0; part < out->part_count; part++) {
        struct fold f = { .flags = flags, .sign = 1, .part = combine ? -1 : (int)part };
        // Records go to the last part of `out`: pretend that it ends here.
        size_t parts = out->part_count;
        if ((rc = merger_add(m, p, NULL, &f, err)) < 0)
            goto out;
        out->part_count = part + 1;
        rc = merger_take_into(m, out);
        out->part_count = parts;
        if (rc < 0)
            goto out;
    }
out:
    quern_merger_free(m);
    if (rc < 0) {
        quern_profile_free(out);
        if (err && !err->code)
            quern_error_set(err, -rc, NULL, "cannot be sorted: %s", strerror(-rc));
        errno = -rc;
        return NULL;
    }
    return out;
}

// ---- Joining, subtracting, rewriting ----

int quern_merger_join(struct quern_merger *m, struct quern_merger *from, struct quern_error *err)
{
    size_t added = m->added + from->added;

    if (!from->added)
        return 0;
    if (from->order < m->order) { // the header of the earlier file stays
        struct quern_merger t = *m;
        *m = *from;
        *from = t;
        if (!from->added)
            return 0;
    }
    char *name = from->name ? strdup(from->name) : NULL;
    struct quern_profile *p = quern_merger_take(from, err);
    if (!p) {
        free(name);
        return -errno;
    }
    int rc = quern_merger_add(m, p, name, err);
    m->added = added;
    free(name);
    quern_profile_free(p);
    return rc;
}

struct quern_profile *quern_profile_rewrite(const struct quern_profile *p,
                                            const struct quern_rewrite *file,
                                            const struct quern_rewrite *func,
                                            struct quern_error *err)
{
    struct fold f = { .sign = 1, .part = -1, .file = file, .func = func };
    struct quern_merger *m = quern_merger_new();
    struct quern_profile *out = NULL;
    int rc = m ? merger_add(m, p, NULL, &f, err) : -ENOMEM;

    if (rc < 0)
        errno = -rc;
    else
        out = quern_merger_take(m, err);
    quern_merger_free(m);
    return out;
}

struct quern_profile *quern_profile_subtract(const struct quern_profile *new_,
                                             const struct quern_profile *old, int by_func,
                                             struct quern_error *err)
{
    unsigned flags = by_func ? FOLD_LINE | FOLD_ADDR | FOLD_JUMPS : 0;
    struct fold plus = { .flags = flags, .sign = 1, .part = -1 };
    struct fold minus = { .flags = flags, .sign = -1, .part = -1 };
    struct quern_merger *m = quern_merger_new();
    struct quern_profile *out = NULL;
    int rc = -ENOMEM;

    if (m && (rc = merger_add(m, new_, "the new profile", &plus, err)) == 0)
        rc = merger_add(m, old, "the old profile", &minus, err);
    if (rc < 0)
        errno = -rc;
    else
        out = quern_merger_take(m, err);
    quern_merger_free(m);
    return out;
}

// ---- Many files, all processors ----

struct work {
    const char *const *paths;
    size_t n, next; // next: atomic
    struct quern_read_opts read;
    pthread_mutex_t lock; // diagnostics and the first error
    void (*diag)(void *ctx, const struct quern_diag *d);
    void *diag_ctx;
    struct quern_error err;
    size_t err_at; // the error of the earliest file is the one reported
    int failed;
};

struct worker {
    struct work *work;
    struct quern_merger *m;
    pthread_t thread;
};

static void locked_diag(void *ctx, const struct quern_diag *d)
{
    struct work *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->diag(w->diag_ctx, d);
    pthread_mutex_unlock(&w->lock);
}

static void *work_run(void *arg)
{
    struct worker *self = arg;
    struct work *w = self->work;

    for (;;) {
        size_t i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        struct quern_error err = { 0 };
        if (i >= w->n || __atomic_load_n(&w->failed, __ATOMIC_RELAXED))
            return NULL;
        struct quern_profile *p = quern_profile_read(w->paths[i], &w->read, &err);
        int rc = p ? quern_merger_add(self->m, p, w->paths[i], &err) : -errno;
        if (p && p->event_count && i < self->m->order)
            self->m->order = i;
        quern_profile_free(p);
        if (rc < 0) {
            pthread_mutex_lock(&w->lock);
            if (!w->failed || i < w->err_at) {
                w->err = err;
                w->err_at = i;
            }
            __atomic_store_n(&w->failed, rc, __ATOMIC_RELAXED);
            pthread_mutex_unlock(&w->lock);
            return NULL;
        }
    }
}

struct quern_profile *quern_profile_merge_files(const char *const *paths, size_t n,
                                                const struct quern_merge_opts *opts,
                                                struct quern_error *err)
{
    struct work w = { .paths = paths, .n = n };
    struct quern_merge_opts o = { 0 };
    struct quern_profile *out = NULL;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t started = 0;
    int rc = 0;

    if (opts)
        memcpy(&o, opts, opts->sz < sizeof(o) ? opts->sz : sizeof(o));
    size_t threads = o.threads ? o.threads : cpus > 0 ? (size_t)cpus : 1;
    if (threads > n)
        threads = n ? n : 1;
    if (threads > 64)
        threads = 64;
    w.read = o.read;
    if (!w.read.sz)
        w.read.sz = sizeof(w.read);
    if (w.read.diag) {
        w.diag = w.read.diag;
        w.diag_ctx = w.read.diag_ctx;
        w.read.diag = locked_diag;
        w.read.diag_ctx = &w;
    }
    pthread_mutex_init(&w.lock, NULL);
    struct worker *workers = calloc(threads, sizeof(*workers));
    if (!workers) {
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < threads; i++) {
        workers[i].work = &w;
        if (!(workers[i].m = quern_merger_new()))
            rc = -ENOMEM;
    }
    // The first worker is this thread; a thread that cannot be had is one less.
    for (size_t i = 1; i < threads && !rc; i++) {
        if (pthread_create(&workers[i].thread, NULL, work_run, &workers[i]))
            break;
        started = i;
    }
    if (!rc)
        work_run(&workers[0]);
    for (size_t i = 1; i <= started; i++)
        pthread_join(workers[i].thread, NULL);
    if (!rc && w.failed) {
        rc = w.failed;
        if (err)
            *err = w.err;
    }
    for (size_t i = 1; i < threads && !rc; i++)
        rc = quern_merger_join(workers[0].m, workers[i].m, err);
    if (!rc)
        out = quern_merger_take(workers[0].m, err);
    for (size_t i = 0; i < threads; i++)
        quern_merger_free(workers[i].m);
    free(workers);
    pthread_mutex_destroy(&w.lock);
    if (!out && rc)
        errno = -rc;
    return out;
}
