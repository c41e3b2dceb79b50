// SPDX-License-Identifier: MIT
//
// Adds the records of a profile to the table.
//
// Hot. The idea: merged profiles usually come from the same program, so their records are in the
// same order. After entry i the next record is compared with entry i+1 before anything is hashed,
// and is nearly always there. bench: make bench-tools, "merge".
#include "profile/sum/merger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/parts.h"
#include "profile/model/text.h"
#include "profile/model/walk.h"

// One profile being added.
struct adding {
    struct quern_merger *m;
    const struct quern_profile *p;
    const struct fold *f;
    struct merger_maps maps;
    uint64_t *plain;   // space for the counts of a record
    quern_count *wide; // the same
    bool scaled;       // some event has fractions
};

// The expected next record; kept in registers.
struct expected {
    uint32_t next, resume; // the entry after the last one, and the one that was expected
    // Of the last cost record: its context, which stays the same through calls in between.
    uint32_t ctx;
    struct place at;
};

#define INLINE inline __attribute__((always_inline))

// The header of the first profile becomes that of the result; strings and functions stay.
static int take_header(struct quern_merger *m, const struct quern_profile *p, const char *name,
                       int part)
{
    parts_clear(&m->dst->part[0]);
    int rc = parts_copy_header(m->dst, p, part < 0 ? 0 : part);
    free(m->name);
    m->name = name ? strdup(name) : NULL;
    return rc == 0 && name && !m->name ? -ENOMEM : rc;
}

// Checks that the profile has the events of the table; allocates space for its counts.
static int prepare(struct adding *a, const char *name, struct quern_error *err)
{
    struct quern_merger *m = a->m;
    const struct quern_profile *p = a->p;
    int rc =
        m->added ? events_same(m->dst, m->name, p, name, err) : take_header(m, p, name, a->f->part);

    if (rc < 0)
        return rc;
    if (++m->added > 1 || p->part_count > 1)
        parts_sum_desc(m->dst);
    for (size_t e = 0; e < p->event_count; e++) {
        if (p->event[e].scale != 1 && m->dst->event[e].scale == 1 && merger_rescale(m, e) < 0)
            return -ENOMEM;
        a->scaled |= m->dst->event[e].scale != 1;
    }
    a->plain = malloc((p->event_count + 3) * sizeof(*a->plain));
    a->wide = malloc((p->event_count + 3) * sizeof(*a->wide));
    if (!a->plain || !a->wide)
        return -ENOMEM;
    return merger_maps_new(&a->maps, p);
}

static inline bool is_left_out(const struct fold *f, const struct walk *w)
{
    return (f->part >= 0 && w->at.part != (uint32_t)f->part) ||
           (w->op == OP_CALL && f->flags & FOLD_CALLS) ||
           (w->op > OP_CALL && f->flags & FOLD_JUMPS);
}

// Context of the record at w, folded.
static void fold_context(struct adding *a, const struct walk *w, struct context *c)
{
    struct quern_profile *dst = a->m->dst;
    const struct fold *f = a->f;

    memset(c, 0, sizeof(*c));
    c->kind = w->op;
    c->file = merger_map_file(dst, a->p, w->at.file, f, &a->maps);
    c->func = f->flags & FOLD_FILE ? merger_map_func_in(dst, a->p, w->at.func, c->file, f, &a->maps)
                                   : merger_map_func(dst, a->p, w->at.func, f, &a->maps);
    c->to_func = c->to_file = QUERN_NONE;
    if (!(f->flags & FOLD_ADDR))
        c->bb = w->at.bb;
    if (!(f->flags & FOLD_LINE))
        c->line_high = (uint32_t)(w->at.line >> 32);
    if (w->op == OP_COST)
        return;
    c->to_func = merger_map_func(dst, a->p, w->to.func, f, &a->maps);
    if (w->op != OP_CALL)
        c->to_file = merger_map_file(dst, a->p, w->to.file, f, &a->maps);
    if (!(f->flags & FOLD_LINE))
        c->to_line = w->to.line;
    if (!(f->flags & FOLD_ADDR))
        c->to_addr = w->to.addr;
}

static inline bool has_ctx(const struct quern_merger *m, uint32_t i, const struct context *c)
{
    return i < m->count && merger_ctx_equal(&m->ctx[m->e_ctx[i]], c);
}

// The context of the record at w. QUERN_NONE: no memory, or a name that cannot be rewritten. @hot
static INLINE uint32_t find_ctx(struct adding *a, const struct walk *w, struct expected *x)
{
    struct quern_merger *m = a->m;

    if (w->op == OP_COST && x->ctx != QUERN_NONE && w->at.func == x->at.func &&
        w->at.file == x->at.file && w->at.bb == x->at.bb && w->at.line >> 32 == x->at.line >> 32)
        return x->ctx;
    struct context c;
    fold_context(a, w, &c);
    if (a->maps.failed || a->maps.bad != 0)
        return QUERN_NONE;
    // Usually the expected entry has it.
    uint32_t ctx = has_ctx(m, x->next, &c)     ? m->e_ctx[x->next]
                   : has_ctx(m, x->resume, &c) ? m->e_ctx[x->resume]
                                               : merger_find_ctx(m, &c);
    if (w->op == OP_COST) {
        x->ctx = ctx;
        x->at = w->at;
    }
    return ctx;
}

// The entry of the record at w. Files of one program have the same places in the same order. A
// place that is in a file twice leads back; the next one then continues where the order was left.
// QUERN_NONE: no memory. @hot
static INLINE uint32_t find_entry(struct quern_merger *m, const struct fold *f,
                                  const struct walk *w, uint32_t ctx, struct expected *x)
{
    uint32_t line = f->flags & FOLD_LINE ? 0 : (uint32_t)w->at.line, at;
    uint64_t addr = f->flags & FOLD_ADDR ? 0 : w->at.addr;

    if (merger_is_entry(m, x->next, ctx, line, addr)) {
        at = x->next;
    } else if (merger_is_entry(m, x->resume, ctx, line, addr)) {
        at = x->resume;
    } else {
        x->resume = x->next;
        at = merger_find_entry(m, ctx, line, addr);
    }
    x->next = at + 1;
    return at;
}

// Adds the counts at w, which are plain, to an entry with space for them. 0: one would not fit 63
// bits, and nothing was added. @hot
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
    // Undo it; the sums wrapped, and so do the differences.
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

// Adds the counts at w to entry `at`: 0, or -ENOMEM. @hot
static INLINE int add_counts(struct adding *a, struct walk *w, uint32_t at)
{
    struct quern_merger *m = a->m;
    size_t lead = merger_lead(w->op), n = w->ncounts + lead;
    bool special = w->special || a->scaled;

    if (n == 0)
        return 0; // a line without counts: only its place
    if (__builtin_expect(!special && a->f->sign > 0 && !merger_is_wide(m, at) && n <= m->e_n[at],
                         1) &&
        add_in_place(w, m->pool + m->e_off[at], lead))
        return 0;
    if (__builtin_expect(special, 0)) {
        if (lead > 0) {
            a->wide[0] = w->calls;
            a->wide[1] = w->executed;
        }
        walk_scaled(w, m->dst->event, a->wide + lead);
        return merger_add_wide(m, at, a->wide, n, a->f->sign);
    }
    if (lead > 0) {
        a->plain[0] = w->calls;
        a->plain[1] = w->executed;
    }
    walk_counts(w, a->plain + lead);
    return merger_add_plain(m, at, a->plain, n, a->f->sign);
}

static int add_records(struct adding *a)
{
    struct walk *at = a->f->at;
    uint32_t last = at ? (uint32_t)a->f->part : UINT32_MAX; // part
    struct expected x = { .ctx = QUERN_NONE };
    struct walk w;

    if (at)
        w = *at;
    else
        walk_init(&w, a->p);
    // A continued walk is at the first record of this part or a later one.
    for (bool met = w.op != OP_NONE; met || walk_next(&w); met = false) {
        if (w.at.part > last) {
            *at = w;
            return 0;
        }
        if (is_left_out(a->f, &w)) {
            walk_skip(&w);
            continue;
        }
        uint32_t ctx = find_ctx(a, &w, &x);
        if (ctx == QUERN_NONE)
            return a->maps.bad != 0 ? -EINVAL : -ENOMEM;
        uint32_t i = find_entry(a->m, a->f, &w, ctx, &x);
        if (i == QUERN_NONE || add_counts(a, &w, i) < 0)
            return -ENOMEM;
    }
    if (at) // there is no more
        *at = (struct walk){ .op = OP_NONE };
    return 0;
}

int merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
               const struct fold *f, struct quern_error *err)
{
    struct adding a = { .m = m, .p = p, .f = f };

    if (p->event_count == 0)
        return 0; // an empty file: Callgrind writes them for threads that did nothing
    int rc = prepare(&a, name, err);
    if (rc == 0)
        rc = add_records(&a);
    if (a.maps.bad != 0)
        text_error(err, EINVAL, name,
                   "the name '%.120s' cannot be rewritten: the pattern takes too long on it or its "
                   "replacement is not understood",
                   p->str.text[a.maps.bad - 1]);
    else if (rc == -ENOMEM)
        text_error(err, ENOMEM, name, "not enough memory to add this profile");
    merger_maps_free(&a.maps);
    free(a.plain);
    free(a.wide);
    return rc;
}

int quern_merger_add(struct quern_merger *m, const struct quern_profile *p, const char *name,
                     struct quern_error *err)
{
    struct fold f = { .sign = 1, .part = -1 };
    return merger_add(m, p, name, &f, err);
}
