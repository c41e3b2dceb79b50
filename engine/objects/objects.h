// SPDX-License-Identifier: MIT
// --data=yes: misses by object of the data (docs/design/090-data-objects.md). A reference that hits
// costs nothing; a data reference that misses L1 is looked up here, as of its own time.
#ifndef QUERN_ENGINE_OBJECTS_H
#define QUERN_ENGINE_OBJECTS_H

#include "engine/spool/config.h"
#include "engine/thread/thread.h"

// After calls_init(). Without --data=yes they do nothing.
void objects_init(void);
void objects_thread_init(struct thread *t);

void objects_miss(const struct thread *t, u64 addr, u32 counter, u32 l2, u32 ll);

// A reference to addr, which counts at `counter`, has missed L1, and L2 and LL (0 or 1). Its
// counters have been incremented: after SIGKILL an object has no miss that the code has not.
// Fetches are left out. @signal-safe
static inline void objects_missed(const struct thread *t, u64 addr, u32 counter, u32 l2, u32 ll)
{
    if (tb_config.data)
        objects_miss(t, addr, counter, l2, ll);
}

// -- for many.c --

struct cells_miss;
struct found;
// False: no reference counts there.
bool objects_is_data(u32 counter, bool *write);
// Finds the object of a miss as of a time. The miss gets it. Returns whether it is in a block.
// @holds(objtable's lock)
bool objects_find(const struct thread *t, u64 at, struct cells_miss *miss, struct found *found);
// Counts a miss as of a time. @holds(objtable's lock)
void objects_count(const struct thread *t, u64 at, struct cells_miss *miss);

#endif
