// SPDX-License-Identifier: MIT
//
// The third stage: counts by place.
#ifndef QUERN_FINISH_SUMS_H
#define QUERN_FINISH_SUMS_H

#include "finish/places/places.h"

// One place with its counts, for as many events as the run needs.
struct sums_cell {
    struct symbols_place at;
    // By siblings.c, otherwise 0: instructions that were reached (none: the profile lacks the
    // place); whether it is in `changed`.
    uint32_t reached : 31, changed : 1;
    uint64_t counts[];
};

struct sums {
    struct sums_cell *cell; // consecutive, cell_size bytes each: sums_cell_at()
    size_t cells, room, cell_size;
    uint32_t *slot; // hash table of cells plus 1
    size_t slots;
    struct sums_cell *last;
    // By siblings.c, otherwise 0. The same number: the same cells with the same numbers as in the
    // spool before, perhaps some more; only those in `changed` have other counts.
    uint64_t turn;
    uint32_t *changed;
    size_t changes, changes_room;
    uint64_t total[FINISH_EVENTS]; // of all cells
};

static inline struct sums_cell *sums_cell_at(const struct sums *sums, size_t i)
{
    return (struct sums_cell *)(void *)((char *)sums->cell + i * sums->cell_size);
}

// For a run with these spool flags.
void sums_open(struct sums *sums, uint64_t flags);
void sums_close(struct sums *sums);
// Sets `last` to the cell of an instruction's place.
void sums_move(struct sums *sums, struct places *p, const struct spool_walk_insn *in);

// Adds the counts of an instruction to its place.
static inline void sums_add(struct sums *sums, struct places *p, const struct spool_walk_insn *in)
{
    // Most instructions are at the same line as the one before.
    if (!places_is_same_row(p, in->map, in->pc))
        sums_move(sums, p, in);
    spool_walk_add(in, sums->last->counts);
}

#endif
