// SPDX-License-Identifier: MIT
//
// Estimates of a run whose core timed samples of the instructions (struct spool_sampling): an
// instruction's cycles and mispredictions are those of its timed executions, times its executions,
// divided by those for which they stand. They replace the counters, so that nobody else knows.
//
// - Blocks may overlap, and which do depends on the mode: executions are summed by address first,
//   and the first block with an address gets all of its cycles.
// - What an instruction waits for data and code is a share of their latency. How often it missed is
//   known exactly, so its cycles are the share that was timed of the latency of all: a few misses
//   are easily in no window, or one too many is.
// - An instruction that was executed, but never in a window, takes the average of those around it,
//   or else that of all.
// - Estimates are rounded by a number made of cause and place in the file: up as often as the
//   fraction says, always alike, so that many small ones have the right sum.
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/spool/spool.h"
#include "share/table.h"

enum { CAUSES = SPOOL_SAMPLED_CAUSES };
// "Around": within so many bytes of code. As large as a function of some lines.
enum { CELL_SHIFT = 9 };

// An address, or a cell of them.
struct spot {
    uint64_t key[2];
    uint64_t executed;
    uint64_t latency[SPOOL_LATENCIES];
    // The counters: instructions for which timed ones stand; parts of cycles, mispredictions and
    // latencies of the timed ones, as often.
    uint64_t insns, cycles[CAUSES], missed, timed[SPOOL_LATENCIES];
    bool string; // takes as long as its count says
    bool given;  // to a block
};

struct spots {
    struct spot *spot;
    size_t count, room;
    struct table table;
};

// The numbers of spots, as one walk over the instructions has found them: the next one comes by the
// same way.
struct spots_path {
    uint32_t *number;
    size_t count, room, next;
};

struct estimate {
    struct spool_file *s;
    struct spots address, cell;
    struct spots_path path;           // of addresses
    struct spot whole;                // all cells
    uint64_t waited[SPOOL_LATENCIES]; // parts of cycles that were within latencies
    const struct spool_sampled *all;  // for mispredictions
    uint64_t width;
    unsigned __int128 cycles, guessed;
};

// Sixteen neighbouring addresses have sixteen neighbouring slots, a line of the host's cache:
// blocks are walked address by address, and theirs would else be anywhere in a table of megabytes.
static uint64_t spots_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a >> 4 ^ b * UINT64_C(0xff51afd7ed558ccd)) * UINT64_C(0x9e3779b97f4a7c15);

    return (h ^ h >> 32) << 4 | (a & 15);
}

static void spots_grow(struct spots *s)
{
    s->room = s->room ? s->room * 2 : 4096;
    s->spot = xrealloc(s->spot, s->room * sizeof(*s->spot));
    free(s->table.slot);
    s->table = table_over(xcalloc(table_slots(s->room), sizeof(uint32_t)), table_slots(s->room));
    for (size_t i = 0; i < s->count; i++)
        table_add(&s->table, spots_hash(s->spot[i].key[0], s->spot[i].key[1]), (uint32_t)i);
}

// The spot with this key; made: a new one if there is none. Else NULL.
static struct spot *spots_find(struct spots *s, uint64_t a, uint64_t b, bool made)
{
    size_t at;

    if (made && s->count == s->room)
        spots_grow(s);
    if (!s->room)
        return NULL;
    for (at = table_first(&s->table, spots_hash(a, b)); table_used(&s->table, at);
         at = table_next(&s->table, at)) {
        struct spot *found = &s->spot[table_number(&s->table, at)];

        if (found->key[0] == a && found->key[1] == b)
            return found;
    }
    if (!made)
        return NULL;
    table_put(&s->table, at, (uint32_t)s->count);
    s->spot[s->count] = (struct spot){ .key = { a, b } };
    return &s->spot[s->count++];
}

static void path_add(struct spots_path *p, uint32_t number)
{
    if (p->count == p->room) {
        p->room = p->room ? p->room * 2 : 4096;
        p->number = xrealloc(p->number, p->room * sizeof(*p->number));
    }
    p->number[p->count++] = number;
}

// The next spot of the path, if it has this key: no search, which waits for the table and the spot.
// Else as spots_find(): of a damaged spool two walks may differ.
static struct spot *path_find(struct spots_path *p, struct spots *s, uint64_t a, uint64_t b)
{
    struct spot *next;

    if (p->next == p->count)
        return spots_find(s, a, b, false);
    next = &s->spot[p->number[p->next++]];
    return next->key[0] == a && next->key[1] == b ? next : spots_find(s, a, b, false);
}

static void spots_free(struct spots *s)
{
    free(s->spot);
    free(s->table.slot);
}

// What waits for a latency; -1: nothing.
static int latency_of_cause(uint32_t cause)
{
    return cause == SPOOL_E_CYMEM - SPOOL_E_CYBASE     ? SPOOL_LATENCY_DATA
           : cause == SPOOL_E_CYFRONT - SPOOL_E_CYBASE ? SPOOL_LATENCY_CODE
                                                       : -1;
}

// Where the counters of an instruction are, from its first one on: of Cy, and of its
// misprediction. ~0u: it has none.
struct places {
    uint32_t cy, missed;
    int kind; // of the branch
};

static struct places places_of(const struct spool_walk_insn *in)
{
    struct places p = { ~0u, ~0u, 0 };

    for (uint32_t i = 0; i < in->shape->count; i++) {
        switch (in->shape->event[i]) {
        case FINISH_CY:
            if (p.cy == ~0u) // those of latencies follow
                p.cy = i;
            break;
        case FINISH_BCM:
        case FINISH_BIM:
        case FINISH_BRM:
            p.missed = i;
            p.kind = in->shape->event[i] == FINISH_BCM   ? 0
                     : in->shape->event[i] == FINISH_BIM ? 1
                                                         : 2;
            break;
        default: break;
        }
    }
    return p;
}

// How long data or code of misses take; what misses a level has its latency from the one behind.
static uint64_t latency_of(const struct estimate *e, const uint64_t missed[3])
{
    const struct core_machine *m = &e->s->h->machine.core;
    uint64_t l2 = e->s->h->flags & SPOOL_F_L2 ? missed[1] : missed[2];

    return (missed[0] - l2) * m->l2 + (l2 - missed[2]) * m->ll + missed[2] * m->memory;
}

static void add_latencies(const struct estimate *e, struct spot *to,
                          const struct spool_walk_insn *in)
{
    uint64_t data[3] = { 0 }, code[3] = { 0 }; // misses of L1, L2, LL

    for (uint32_t i = 0; i < in->shape->count; i++) {
        switch (in->shape->event[i]) {
        case FINISH_D1MR:
        case FINISH_D1MW: data[0] += in->counter[i]; break;
        case FINISH_D2MR:
        case FINISH_D2MW: data[1] += in->counter[i]; break;
        case FINISH_DLMR:
        case FINISH_DLMW: data[2] += in->counter[i]; break;
        case FINISH_I1MR: code[0] += in->counter[i]; break;
        case FINISH_I2MR: code[1] += in->counter[i]; break;
        case FINISH_ILMR: code[2] += in->counter[i]; break;
        default: break;
        }
    }
    to->latency[SPOOL_LATENCY_DATA] += latency_of(e, data);
    to->latency[SPOOL_LATENCY_CODE] += latency_of(e, code);
}

static uint64_t context_key(const struct spool_walk_insn *in)
{
    return (uint64_t)in->context << 32 | in->map;
}

static void gather(void *ctx, const struct spool_walk_insn *in)
{
    struct estimate *e = ctx;
    struct places p = places_of(in);
    const uint64_t *own = in->counter + p.cy;
    struct spot *to;

    if (p.cy == ~0u)
        return;
    to = spots_find(&e->address, in->pc, context_key(in), true);
    path_add(&e->path, (uint32_t)(to - e->address.spot));
    to->executed += in->executed;
    to->string |= (in->in.flags & SPOOL_I_REP) != 0;
    add_latencies(e, to, in);
    if (p.missed != ~0u)
        to->missed += in->counter[p.missed];
    to->insns += own[0];
    for (uint32_t i = 0; i < CAUSES; i++)
        to->cycles[i] += own[1 + i];
    for (uint32_t i = 0; i < SPOOL_LATENCIES; i++)
        to->timed[i] += own[1 + CAUSES + i];
}

// The parts of cycles of a cause that are no longer than the latency for which it waits; *rest: the
// others.
static uint64_t within_latency(const struct estimate *e, const struct spot *at, uint32_t cause,
                               uint64_t *rest)
{
    int kind = latency_of_cause(cause);
    unsigned __int128 most = kind < 0 ? 0 : (unsigned __int128)at->timed[kind] * e->width;
    uint64_t within = at->cycles[cause] < most ? at->cycles[cause] : (uint64_t)most;

    *rest = at->cycles[cause] - within;
    return within;
}

// What an address says of the code around it.
static void add_around(struct estimate *e, const struct spot *at)
{
    struct spot *cell = spots_find(&e->cell, at->key[0] >> CELL_SHIFT, (uint32_t)at->key[1], true);

    for (uint32_t i = 0; i < CAUSES; i++) {
        int kind = latency_of_cause(i);
        uint64_t rest, within = within_latency(e, at, i, &rest);

        if (kind >= 0) {
            e->waited[kind] += within;
            e->whole.timed[kind] += at->timed[kind];
        }
        if (!at->string) {
            cell->cycles[i] += rest;
            e->whole.cycles[i] += rest;
        }
    }
    if (!at->string) {
        cell->insns += at->insns;
        e->whole.insns += at->insns;
    }
}

// n * of / in, rounded by what `salt` says.
static uint64_t scaled(uint64_t n, uint64_t of, unsigned __int128 in, uint64_t salt)
{
    unsigned __int128 product = (unsigned __int128)n * of, whole, rest, least;

    if (!in)
        return 0;
    whole = product / in;
    rest = product % in;
    // `in` is below 2^80: a counter and the width.
    least = in * ((salt * UINT64_C(0x9e3779b97f4a7c15)) >> 40) >> 24;
    whole += rest > least;
    return whole >= FINISH_COUNT_MAX ? FINISH_COUNT_MAX - 1 : (uint64_t)whole;
}

// In its file: where that is mapped differs from run to run.
static uint64_t offset_of(const struct spool_file *s, const struct spool_walk_insn *in)
{
    const struct spool_map *m = &s->maps[in->map];

    return in->pc - m->start + m->offset;
}

// The code whose timed executions an address that has none takes.
static const struct spot *around(struct estimate *e, const struct spool_walk_insn *in)
{
    const struct spot *cell = spots_find(&e->cell, in->pc >> CELL_SHIFT, in->map, false);

    return cell && cell->insns ? cell : &e->whole;
}

// The cycles of one cause.
static uint64_t cause_of(const struct estimate *e, const struct spot *at, const struct spot *from,
                         uint32_t cause, uint64_t salt)
{
    const struct spot *timed = at;
    int kind = latency_of_cause(cause);
    uint64_t rest = from->cycles[cause], within = 0, n = 0;

    if (from == at)
        within = within_latency(e, at, cause, &rest);
    if (kind >= 0 && at->latency[kind]) {
        if (!at->timed[kind]) { // no miss of it was timed: as of all
            timed = &e->whole;
            within = e->waited[kind];
        }
        n = scaled(at->latency[kind], within, (unsigned __int128)timed->timed[kind] * e->width,
                   salt + 8);
    }
    return n + scaled(at->executed, rest, (unsigned __int128)from->insns * e->width, salt);
}

static void replace(void *ctx, const struct spool_walk_insn *in)
{
    struct estimate *e = ctx;
    struct places p = places_of(in);
    // The walk reads the counters' sums, which belong to the file.
    uint64_t *to = (uint64_t *)e->s->counters_area + (in->counter - e->s->counters), salt;
    const struct spot *from;
    struct spot *at;

    if (p.cy == ~0u)
        return;
    at = path_find(&e->path, &e->address, in->pc, context_key(in));
    memset(to + p.cy, 0, (SPOOL_CY_EVENTS + SPOOL_LATENCIES) * sizeof(*to));
    if (e->s->h->machine.sampling.branches)
        p.missed = ~0u; // exact already
    if (p.missed != ~0u)
        to[p.missed] = 0;
    if (!at || at->given)
        return;
    at->given = true;
    from = at->insns ? at : around(e, in);
    salt = offset_of(e->s, in) * 16;
    for (uint32_t i = 0; i < CAUSES; i++) {
        uint64_t n = cause_of(e, at, from, i, salt + i);

        to[p.cy + 1 + i] = n;
        to[p.cy] += n;
    }
    e->s->most |= to[p.cy];
    e->cycles += to[p.cy];
    if (!at->insns)
        e->guessed += to[p.cy];
    if (p.missed == ~0u)
        return;
    to[p.missed] = at->insns ? scaled(at->executed, at->missed, at->insns, salt + 15)
                             : scaled(at->executed, e->all->missed[p.kind],
                                      e->all->branches[p.kind], salt + 15);
}

void spool_estimate(struct spool_file *s)
{
    struct estimate e = { .s = s, .all = &s->h->sampled, .width = s->h->machine.core.width };

    if (!spool_is_sampled(s) || s->estimated)
        return;
    s->estimated = true;
    spool_walk(s, gather, &e);
    for (size_t i = 0; i < e.address.count; i++)
        add_around(&e, &e.address.spot[i]);
    if (!e.whole.insns) { // no window since the last part
        e.whole.insns = e.all->insns;
        memcpy(e.whole.cycles, e.all->cycles, sizeof(e.whole.cycles));
    }
    spool_walk(s, replace, &e);
    s->guessed = e.cycles ? (double)e.guessed / (double)e.cycles : 0;
    spots_free(&e.address);
    spots_free(&e.cell);
    free(e.path.number);
}
