// SPDX-License-Identifier: MIT
// Where in their objects misses are (struct spool_data_cell): what the finisher makes fields of. A
// program's variables and blocks of allocators have cells; of other objects no beginning is known.
#ifndef QUERN_ENGINE_CELLS_H
#define QUERN_ENGINE_CELLS_H

#include "engine/base/types.h"

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
// *full: kept with the cell, at first and after cells_zero() 0.
void cells_add(u32 cell, const struct cells_miss *miss, const struct cells_at *at, u64 *full);
// All counts become 0, and their offsets are forgotten. The world is stopped.
void cells_zero(void);

#endif
