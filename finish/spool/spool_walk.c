// SPDX-License-Identifier: MIT
//
// Walks over the blocks of a spool and their instructions. Trusts nothing in them: gives what is
// sound, and the number of unusable records.
#include "finish/spool/spool.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/spool/spool_read.h"

static int compare_partial(const void *x, const void *y)
{
    const struct spool_partial *a = x, *b = y;

    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->context < b->context ? -1 : a->context > b->context;
}

static void put_event(struct spool_walk_shape *shape, uint32_t at, enum finish_event e)
{
    if (at != ~0u)
        shape->event[at] = (uint8_t)e;
}

// The counters of a reference; at: the first.
static void put_ref(struct spool_walk_shape *shape, uint32_t at, enum spool_ref kind,
                    uint64_t flags)
{
    for (const uint8_t *e = spool_ref_events(kind); at != ~0u && *e != SPOOL_EVENTS; e++)
        if (spool_event_counted((enum spool_event) * e, flags))
            put_event(shape, at++, finish_event_of((enum spool_event) * e));
}

// Instructions of one shape have the same counters.
void spool_walk_make_shape(struct spool_walk_shape *shape, struct spool_insn in, uint64_t flags)
{
    struct spool_counters at = spool_insn_counters(in, flags);

    shape->known = 1;
    shape->count = (uint8_t)at.count;
    shape->data = (flags & SPOOL_F_CACHE_SIM) != 0;
    shape->flags = (flags & SPOOL_F_BRANCH_SIM ? SPOOL_I_BC | SPOOL_I_BI : 0) |
                   (flags & SPOOL_F_BUS ? SPOOL_I_BUS : 0);
    put_event(shape, at.rep_ir, FINISH_IR);
    put_event(shape, at.rep_bc, FINISH_BC);
    put_event(shape, at.dyn_r, FINISH_DR);
    put_event(shape, at.dyn_w, FINISH_DW);
    put_event(shape, at.bcm, FINISH_BCM);
    put_event(shape, at.bim, FINISH_BIM);
    put_event(shape, at.brm, FINISH_BRM);
    for (uint32_t i = 0; at.cy != ~0u && i < SPOOL_CY_EVENTS; i++)
        put_event(shape, at.cy + i, finish_event_of((enum spool_event)(SPOOL_E_CY + i)));
    for (uint32_t i = 0; at.cy != ~0u && i < SPOOL_LATENCIES; i++) // spool_estimate() clears them
        put_event(shape, at.cy + SPOOL_CY_EVENTS + i, FINISH_CY);
    put_ref(shape, at.i1mr, SPOOL_REF_FETCH, flags);
    put_ref(shape, at.d1mr, SPOOL_REF_READ, flags);
    put_ref(shape, at.d1mw, SPOOL_REF_WRITE, flags);
}

// The walk over one block's counts, in one context or without contexts.
struct walk {
    const struct spool_file *s;
    void (*f)(void *ctx, const struct spool_walk_insn *in);
    void *ctx;
    const struct spool_block *block;
    const struct spool_partial *partial; // of the block
    size_t partials;
    uint32_t context;
    bool counted; // fill in `counts` for f
    // Sums may overflow: check each instruction against the totals so far.
    bool careful;
    unsigned __int128 total[FINISH_EVENTS];
    uint64_t bad;
    struct spool_walk_insn o;
    struct spool_walk_shapes shapes;
    uint64_t extra[1u << 11]; // by instruction
};

static uint64_t add_most(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

// Computes w->extra: executions of each instruction beyond those of the whole block.
static void find_extra(struct walk *w)
{
    const struct spool_partial *p = w->partial, *end = p + w->partials;
    uint64_t sum = 0;

    memset(w->extra, 0, sizeof(*w->extra) * w->block->insns);
    for (size_t n = w->partials; n > 0;) { // sorted by context
        size_t half = n / 2;

        if (p[half].context < w->context) {
            p += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    for (; p < end && p->context == w->context; p++) {
        if (!p->insn || !spool_counters_wanted(w->s, p->slot))
            continue;
        uint64_t *extra = &w->extra[spool_read_least(p->insn, w->block->insns) - 1];
        *extra = add_most(*extra, p->count);
    }
    for (uint32_t i = w->block->insns; i-- > 0;)
        w->extra[i] = sum = add_most(sum, w->extra[i]);
}

// Sets the instruction's impossible counters to 0.
static void drop_damaged(struct walk *w)
{
    uint64_t *mine = (uint64_t *)w->s->counters_area + (w->o.counter - w->s->counters);

    for (uint32_t k = 0; k < w->o.shape->count; k++)
        if (mine[k] >= FINISH_COUNT_MAX) {
            mine[k] = 0;
            w->bad++;
        }
}

// Adds the instruction in w->o to the totals. False: a sum would overflow.
static bool fits(struct walk *w)
{
    const struct spool_walk_insn *o = &w->o;
    unsigned __int128 add[FINISH_EVENTS] = { o->executed };
    const uint8_t flags = o->in.flags & o->shape->flags;

    if (o->executed >= FINISH_COUNT_MAX)
        return false;
    drop_damaged(w);
    if (o->shape->data) {
        add[FINISH_DR] = (unsigned __int128)o->executed * o->in.reads;
        add[FINISH_DW] = (unsigned __int128)o->executed * o->in.writes;
    }
    add[FINISH_BC] = flags & SPOOL_I_BC ? o->executed : 0;
    add[FINISH_BI] = flags & SPOOL_I_BI ? o->executed : 0;
    add[FINISH_GE] = flags & SPOOL_I_BUS ? o->executed : 0;
    for (uint32_t k = 0; k < o->shape->count; k++)
        add[o->shape->event[k]] += o->counter[k];
    for (int e = 0; e < FINISH_EVENTS; e++)
        if (w->total[e] + add[e] > UINT64_MAX)
            return false;
    for (int e = 0; e < FINISH_EVENTS; e++)
        w->total[e] += add[e];
    return true;
}

static int bits(uint64_t n)
{
    return n ? 64 - __builtin_clzll(n) : 0;
}

// Whether a sum over all instructions might exceed 64 bits: an upper bound from their number, up to
// 255 references each, and partial executions.
static bool may_overflow(const struct spool_file *s, const struct spool_partial *partial,
                         uint64_t partials)
{
    uint64_t most = s->most;

    for (uint64_t i = 0; i < partials; i++)
        most |= partial[i].count;
    return bits(most) + bits(s->blocks_used / sizeof(struct spool_insn)) + bits(partials) +
               bits(s->accounts) + 8 >=
           64;
}

// Copies the sound ones, sorted by block. Returns their number.
static uint64_t take_partials(const struct spool_file *s, struct spool_partial *to)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < s->partial_used; i++)
        if (s->partial[i].count < FINISH_COUNT_MAX)
            to[n++] = s->partial[i];
    qsort(to, n, sizeof(*to), compare_partial);
    return n;
}

// `first` is the counter of its executions, `own` the first one of its instructions. False: they
// are not all in the spool.
static bool walk_block(struct walk *w, uint64_t first, uint64_t own)
{
    const struct spool_block *b = w->block;
    const struct spool_insn *in = (const struct spool_insn *)(b + 1), *end = in + b->insns;
    const uint64_t *counter = w->s->counters + own, *last = w->s->counters + w->s->sums;
    uint64_t executed = w->s->counters[first];
    const bool careful = w->careful;
    struct spool_walk_insn *o = &w->o;
    uint64_t pc = b->pc;

    if (careful && executed >= FINISH_COUNT_MAX) {
        executed = 0;
        w->bad++;
    }
    o->map = b->map;
    o->plt = b->flags & SPOOL_B_PLT;
    o->context = w->context;
    o->executed = executed;
    if (w->partials && b->insns)
        find_extra(w);
    for (uint32_t i = 0; in < end; i++, in++) {
        const struct spool_walk_shape *shape = spool_walk_shape(&w->shapes, *in);

        if (shape->count > last - counter)
            return false;
        if (w->partials)
            o->executed = add_most(executed, w->extra[i]);
        uint64_t any = o->executed;
        // Half of what is translated is never executed.
        for (uint32_t k = 0; !any && k < shape->count; k++)
            any = counter[k];
        if (any) {
            o->pc = pc;
            o->in = *in;
            o->counter = counter;
            o->shape = shape;
            if (careful && !fits(w)) {
                w->bad++;
            } else {
                if (w->counted) {
                    memset(o->counts, 0, sizeof(o->counts));
                    spool_walk_add(o, o->counts);
                }
                w->f(w->ctx, o);
            }
        }
        counter += shape->count;
        pc += in->len;
    }
    return true;
}

static uint64_t walk(const struct spool_file *s,
                     void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx,
                     bool counted)
{
    struct spool_partial *partial = xmalloc((s->partial_used + 1) * sizeof(*partial));
    struct walk w = {
        .s = s, .f = f, .ctx = ctx, .counted = counted, .shapes.flags = s->h->flags
    };
    uint64_t bad = 0, used = 0;
    uint64_t off = 0;
    size_t account = 0;

    uint64_t partials = take_partials(s, partial);
    bad += s->partial_used - partials;
    w.careful = may_overflow(s, partial, partials);
    while (off + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + off);
        uint64_t size = spool_read_block_size(b);
        uint64_t this = off / 8;
        size_t first;

        if (size > s->blocks_used - off || spool_read_is_empty(b)) {
            bad++;
            break;
        }
        while (used < partials && (uint64_t)partial[used].block * 8 < off) {
            bad++; // not the offset of a block
            used++;
        }
        first = used;
        while (used < partials && (uint64_t)partial[used].block * 8 == off)
            used++;
        if (b->flags & SPOOL_B_SUM) {
            off += size;
            bad += b->counter >= s->counters_used;
            continue;
        }
        if (b->flags & SPOOL_B_DORMANT) {
            off += size;
            continue;
        }
        w.block = b;
        w.partial = partial + first;
        w.partials = used - first;
        off += size;
        if (b->map >= s->maps_used || b->counter >= s->counters_used || b->own > s->counters_used) {
            bad++;
            continue;
        }
        w.context = 0;
        // with contexts accounts have all
        if (!(s->h->flags & SPOOL_F_CONTEXTS) && !walk_block(&w, b->counter, b->own))
            bad++;
        while (account < s->accounts && s->account[account].block < this)
            account++;
        for (; account < s->accounts && s->account[account].block == this; account++) {
            w.context = s->account[account].context;
            bad += !walk_block(&w, s->account[account].counter, s->account[account].counter + 1);
        }
    }
    free(partial);
    return s->bad + w.bad + bad + (partials - used);
}

uint64_t spool_walk_counts(const struct spool_file *s,
                           void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx)
{
    return walk(s, f, ctx, true);
}

uint64_t spool_walk(const struct spool_file *s,
                    void (*f)(void *ctx, const struct spool_walk_insn *in), void *ctx)
{
    return walk(s, f, ctx, false);
}

bool spool_walk_is_plain(const struct spool_file *s)
{
    return !s->partial_used && !s->bad && !(s->h->flags & SPOOL_F_CONTEXTS) &&
           !may_overflow(s, NULL, 0);
}

bool spool_walk_block(const struct spool_file *s, struct spool_walk_block *out)
{
    while (out->next + sizeof(struct spool_block) <= s->blocks_used) {
        const struct spool_block *b = (const struct spool_block *)(s->blocks + out->next);
        const struct spool_insn *in = (const struct spool_insn *)(b + 1);
        uint64_t size = spool_read_block_size(b);

        if (size > s->blocks_used - out->next || spool_read_is_empty(b))
            return false;
        out->next += size;
        if (b->flags & SPOOL_B_SUM)
            continue;
        out->pc = b->pc;
        out->map = b->map;
        out->insns = b->insns;
        out->hash = b->hash;
        out->bytes = 0;
        for (uint32_t i = 0; i < b->insns; i++)
            out->bytes += in[i].len;
        return true;
    }
    return false;
}
