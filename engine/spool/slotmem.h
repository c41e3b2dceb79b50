// SPDX-License-Identifier: MIT
// Addresses of each thread slot's memory: the thread area (thread/thread.h), followed by its
// counters. The first SPOOL_THREADS_FIXED slots have fixed addresses. Further slots come in rows,
// placed in free address space when they are needed. A row is reserved as a whole; memory is mapped
// when a slot is used.
#ifndef QUERN_ENGINE_SLOTMEM_H
#define QUERN_ENGINE_SLOTMEM_H

#include "engine/base/layout.h"
#include "engine/base/types.h"
#include "share/spool.h"

#define SLOTMEM_IN_ROW    256u
#define SLOTMEM_ROW_BYTES (SLOTMEM_IN_ROW * (u64)THREAD_FAR_STRIDE)
#define SLOTMEM_ROWS_MAX  ((SPOOL_THREADS_MAX - SPOOL_THREADS_FIXED) / SLOTMEM_IN_ROW)

extern u64 slotmem_row[SLOTMEM_ROWS_MAX]; // start address of each row
extern u32 slotmem_rows;                  // usable rows

// vmmap_gap(); NULL: there are no rows.
extern u64 (*slotmem_find)(u64 len, u64 top);

// How many slots have addresses.
u32 slotmem_count(void);
// Adds a row to those for `count` slots, unless another thread has done it. False: there is no
// space. Takes the lock of the map of client memory.
bool slotmem_more(u32 count);

static inline u64 slotmem_area(u32 slot)
{
    u32 far = slot - SPOOL_THREADS_FIXED;

    if (slot < SPOOL_THREADS_FIXED)
        return THREAD_AREA_BASE + slot * (u64)THREAD_AREA_STRIDE;
    return slotmem_row[far / SLOTMEM_IN_ROW] + far % SLOTMEM_IN_ROW * (u64)THREAD_FAR_STRIDE;
}

static inline u64 *slotmem_counters(u32 slot)
{
    return (u64 *)(slotmem_area(slot) + TA_COUNTERS);
}

// Start of a slot's open calls; for SPOOL_THREADS_MAX, of the saved call stacks (spool_saved).
static inline u64 slotmem_calls(u32 slot)
{
    return slot < SPOOL_THREADS_FIXED || slot == SPOOL_THREADS_MAX
               ? CALLS_BASE + spool_stack_at(slot)
               : slotmem_area(slot) + THREAD_FAR_CALLS;
}

// The slot whose memory contains this address, and the offset; SPOOL_THREADS_MAX: none.
// @signal-safe
u32 slotmem_slot_of(u64 addr, u64 *offset);

#endif
