// SPDX-License-Identifier: MIT
// Where in their objects misses are (struct spool_data_cell): what the finisher makes fields of. A
// program's variables and blocks of allocators have cells; of other objects no beginning is known.
#ifndef QUERN_ENGINE_CELLS_H
#define QUERN_ENGINE_CELLS_H

#include "engine/base/layout.h"
#include "engine/base/types.h"
#include "share/spool.h"

// A miss at an address, which counts at `counter` (L2 and LL: 0 or 1), a write or a read.
struct cells_miss {
    u64 addr;
    u32 counter, object;
    u64 start; // of the object, or FOUND_UNKNOWN
    u8 l2, ll;
    bool write;
};

// After objtable_init().
void cells_init(void);
// A miss that its object has counted: after SIGKILL the cells have no more than the objects.
// Without space it is in no cell, and the finisher finds it missing. @holds(objtable's lock)
// @signal-safe
void cells_count(const struct cells_miss *miss);

// What an offset has in common with those in the same cell.
#define CELLS_WHOLE (~0ul) // of all of the object
static inline u64 cells_key(bool large, u64 offset)
{
    if (large || offset >= SPOOL_DATA_PIECES)
        return CELLS_WHOLE;
    return offset < SPOOL_DATA_EXACT ? offset : offset & -(u64)SPOOL_DATA_PIECE;
}
// The same in steps.
struct cells_at {
    u64 offset, key;
    u32 counter, object; // counter 0: it is in no cell
};
void cells_place(const struct cells_miss *miss, struct cells_at *at);
// Begins to load what cells_find() needs: where the cell is noted; then, when that is there, the
// cell.
void cells_prefetch(const struct cells_at *at);
void cells_prefetch_cell(const struct cells_at *at);
// The number of the cell, plus one. 0: there is none, and no space for it.
u32 cells_find(const struct cells_at *at);
static inline struct spool_data_cell *cells_at_number(u32 cell) // plus one
{
    return (struct spool_data_cell *)(DATA_BASE + SPOOL_DATA_CELLS_OFF) +
           (cell - 1) % SPOOL_DATA_CELLS_MAX;
}

// As cells_find(); is kept, with no counter if there is none.
struct cells_kept {
    u32 cell, counter; // plus one; counter 0: none is kept
    bool has, large;   // for who keeps it (cells_kind())
    bool full;         // all words are noted, with this step
    u8 shift;
    u64 key;
    u64 step, inverse, most; // what is a multiple of the step, without a division
};
void cells_keep(struct cells_kept *k, const struct cells_at *at);
// A miss in the cell that is kept.
void cells_add(struct cells_kept *k, u64 offset, u32 l2, u32 ll);
static inline u64 cells_away(const struct spool_data_cell *c, u64 offset)
{
    return offset > c->first ? offset - c->first : c->first - offset;
}

// What is a multiple of the step is so, times the inverse of its odd part and rotated by its even
// one, at most `most` (Granlund and Montgomery, 1994, section 9). A division takes as long as all
// else of a miss.
static inline bool cells_is_multiple(const struct cells_kept *k, u64 away)
{
    u64 product = away * k->inverse;

    return (product >> k->shift | product << (-k->shift & 63)) <= k->most;
}

static inline void cells_widen(struct spool_data_cell *c, u64 offset)
{
    if (offset < c->low)
        c->low = offset;
    if (offset > c->high)
        c->high = offset;
}

// The same where it is usual: of all of the object, all words are noted, and the offset is a
// multiple of the step away. False: it is not so, and nothing has changed.
static inline bool cells_add_again(const struct cells_kept *k, u64 offset, u32 ll)
{
    struct spool_data_cell *c = cells_at_number(k->cell);

    if (k->key != CELLS_WHOLE) {
        if (!c->l1 || offset != c->first)
            return false;
    } else if (!k->full || k->step != c->step || !c->l1 ||
               !cells_is_multiple(k, cells_away(c, offset))) {
        return false;
    }
    cells_widen(c, offset);
    c->l1++;
    c->ll += ll;
    return true;
}

// Whether an object has cells, and whether only one for all of it.
void cells_kind(u32 object, bool *has, bool *large);

// All counts become 0, and their offsets are forgotten. The world is stopped.
void cells_zero(void);

#endif
