// SPDX-License-Identifier: MIT
// Where a thread slot's memory lies: its area (thread/thread.h), behind that its counters. The
// first SPOOL_THREADS_NEAR slots have a place each from the beginning. Places of further ones come
// in rows, where the address space has room when they are needed. A row is claimed as a whole;
// nothing of it is mapped before its slots are used.
#ifndef QUERN_ENGINE_SLOTMEM_H
#define QUERN_ENGINE_SLOTMEM_H

#include "engine/base/layout.h"
#include "engine/base/types.h"
#include "share/spool.h"

#define SLOTMEM_IN_ROW    256u
#define SLOTMEM_ROW_BYTES (SLOTMEM_IN_ROW * (u64)THREAD_FAR_STRIDE)
#define SLOTMEM_ROWS_MAX  ((SPOOL_THREADS_MAX - SPOOL_THREADS_NEAR) / SLOTMEM_IN_ROW)

extern u64 slotmem_row[SLOTMEM_ROWS_MAX]; // where each begins
extern u32 slotmem_rows;                  // that are there: grows when a row can be used

// vmmap_gap(); NULL: there are no rows.
extern u64 (*slotmem_find)(u64 len, u64 top);

// How many slots have places.
u32 slotmem_count(void);
// One row more than for `count` slots, unless somebody else was faster. False: there is none to be
// had. Takes the lock of the map of client memory.
bool slotmem_more(u32 count);

static inline u64 slotmem_area(u32 slot)
{
    u32 far = slot - SPOOL_THREADS_NEAR;

    if (slot < SPOOL_THREADS_NEAR)
        return THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE;
    return slotmem_row[far / SLOTMEM_IN_ROW] + far % SLOTMEM_IN_ROW * (u64)THREAD_FAR_STRIDE;
}

static inline u64 *slotmem_counters(u32 slot)
{
    return (u64 *)(slotmem_area(slot) + TA_COUNTERS);
}

// Where a slot's open calls begin; of SPOOL_THREADS_MAX, those of stacks that were left.
static inline u64 slotmem_calls(u32 slot)
{
    return slot < SPOOL_THREADS_NEAR || slot == SPOOL_THREADS_MAX
               ? CALLS_BASE + spool_stack_at(slot)
               : slotmem_area(slot) + THREAD_FAR_CALLS;
}

// The slot whose place holds this address, and from where on in it; SPOOL_THREADS_MAX: none.
// @signal-safe
u32 slotmem_slot_of(u64 addr, u64 *offset);

#endif
