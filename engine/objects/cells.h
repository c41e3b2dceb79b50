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
// All counts become 0, and their offsets are forgotten. The world is stopped.
void cells_zero(void);

#endif
