// SPDX-License-Identifier: MIT
//
// Estimates of a run whose core timed samples of the instructions (struct spool_sampling): an
// instruction's cycles and mispredictions are those of its timed executions, times its executions,
// divided by those for which they stand. They replace the counters, so that nobody else knows.
//
// - Blocks may overlap, and which do depends on the mode: executions are summed by address first,
//   and the first block with an address gets all of its cycles.
// - An instruction that was executed, but never in a window, takes the average of those around it,
//   or else that of all.
// - Estimates are rounded by a number made of address and cause: up as often as the fraction says,
//   always alike, so that many small ones have the right sum.
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "finish/spool/spool.h"
#include "share/table.h"

enum { CAUSES = SPOOL_SAMPLED_CAUSES, BRANCHES = SPOOL_SAMPLED_BRANCHES };
// "Around": within so many bytes of code. As large as a function of some lines.
enum { CELL_SHIFT = 9 };

// An address, or a cell of them.
struct spot {
    uint64_t key[2];
    uint64_t executed;
    uint64_t insns, cycles[CAUSES], missed; // as the counters have them
    bool given;                             // to a block
};

struct spots {
    struct spot *spot;
    size_t count, room;
    struct table table;
};

struct estimate {
    struct spool_file *s;
    struct spots address, cell;
    struct spool_sampled all;
    uint64_t width;
    unsigned __int128 cycles, guessed;
};

static uint64_t spots_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * UINT64_C(0xff51afd7ed558ccd)) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 32;
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
        case FINISH_CY: p.cy = i; break;
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

static uint64_t context_key(const struct spool_walk_insn *in)
{
    return (uint64_t)in->context << 32 | in->map;
}

static void add_to(struct spot *to, const struct spool_walk_insn *in, struct places p)
{
    to->executed += in->executed;
    if (p.missed != ~0u)
        to->missed += in->counter[p.missed];
    if (p.cy == ~0u)
        return;
    to->insns += in->counter[p.cy];
    for (uint32_t i = 0; i < CAUSES; i++)
        to->cycles[i] += in->counter[p.cy + 1 + i];
}

static void gather(void *ctx, const struct spool_walk_insn *in)
{
    struct estimate *e = ctx;
    struct places p = places_of(in);

    if (p.cy == ~0u)
        return;
    add_to(spots_find(&e->address, in->pc, context_key(in), true), in, p);
    add_to(spots_find(&e->cell, in->pc >> CELL_SHIFT, in->map, true), in, p);
}

// n * of / in, rounded by what `salt` says.
static uint64_t scaled(uint64_t n, uint64_t of, unsigned __int128 in, uint64_t salt)
{
    unsigned __int128 product = (unsigned __int128)n * of, whole, rest, least;

    if (!in)
        return 0;
    whole = product / in;
    rest = product % in;
    // `in` is below 2^72: an instruction's executions and the width.
    least = in * ((salt * UINT64_C(0x9e3779b97f4a7c15)) >> 40) >> 24;
    whole += rest > least;
    return whole >= FINISH_COUNT_MAX ? FINISH_COUNT_MAX - 1 : (uint64_t)whole;
}

static void replace(void *ctx, const struct spool_walk_insn *in)
{
    struct estimate *e = ctx;
    struct places p = places_of(in);
    // The walk reads the counters' sums, which belong to the file.
    uint64_t *to = (uint64_t *)e->s->counters_area + (in->counter - e->s->counters);
    uint64_t insns, missed = 0, of_missed, salt;
    const uint64_t *cycles;
    struct spot *at;

    if (p.cy == ~0u)
        return;
    at = spots_find(&e->address, in->pc, context_key(in), false);
    memset(to + p.cy, 0, (1 + CAUSES) * sizeof(*to));
    if (p.missed != ~0u)
        to[p.missed] = 0;
    if (!at || at->given)
        return;
    at->given = true;
    insns = of_missed = at->insns;
    cycles = at->cycles;
    missed = at->missed;
    if (!insns) {
        const struct spot *cell = spots_find(&e->cell, in->pc >> CELL_SHIFT, in->map, false);
        bool near = cell && cell->insns;

        insns = near ? cell->insns : e->all.insns;
        cycles = near ? cell->cycles : e->all.cycles;
        missed = e->all.missed[p.kind];
        of_missed = e->all.branches[p.kind];
    }
    salt = in->pc * 16;
    for (uint32_t i = 0; i < CAUSES; i++) {
        uint64_t n = scaled(at->executed, cycles[i], (unsigned __int128)insns * e->width, salt + i);

        to[p.cy + 1 + i] = n;
        to[p.cy] += n;
    }
    e->s->most |= to[p.cy];
    e->cycles += to[p.cy];
    if (!at->insns)
        e->guessed += to[p.cy];
    if (p.missed != ~0u)
        to[p.missed] = scaled(at->executed, missed, of_missed, salt + 15);
}

void spool_estimate(struct spool_file *s)
{
    struct estimate e = { .s = s, .all = s->h->sampled, .width = s->h->machine.core.width };

    if (!spool_is_sampled(s))
        return;
    spool_walk(s, gather, &e);
    spool_walk(s, replace, &e);
    s->guessed = e.cycles ? (double)e.guessed / (double)e.cycles : 0;
    free(e.address.spot);
    free(e.address.table.slot);
    free(e.cell.spot);
    free(e.cell.table.slot);
}
