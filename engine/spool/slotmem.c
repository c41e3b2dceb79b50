// SPDX-License-Identifier: MIT
// Memory of thread slots (slotmem.h).
#include "engine/spool/slotmem.h"

#include "engine/base/lock.h"

_Static_assert((SPOOL_THREADS_MAX - SPOOL_THREADS_FIXED) % SLOTMEM_IN_ROW == 0, "whole rows");
_Static_assert(TA_COUNTERS + SPOOL_THREAD_SIZE <= THREAD_AREA_STRIDE, "consecutive");
_Static_assert(TA_COUNTERS + SPOOL_THREAD_SIZE <= THREAD_FAR_CALLS &&
                   THREAD_FAR_CALLS + SPOOL_STACK_SIZE <= THREAD_FAR_STRIDE,
               "consecutive");
_Static_assert(THREAD_FAR_CALLS % SPOOL_STACK_SIZE == 0 &&
                   THREAD_FAR_STRIDE % SPOOL_STACK_SIZE == 0 && CALLS_BASE % SPOOL_STACK_SIZE == 0,
               "spool_stack_offset");

u64 slotmem_row[SLOTMEM_ROWS_MAX];
u32 slotmem_rows;
u64 (*slotmem_find)(u64 len, u64 top);

static struct lock lock;

u32 slotmem_count(void)
{
    return SPOOL_THREADS_FIXED + __atomic_load_n(&slotmem_rows, __ATOMIC_ACQUIRE) * SLOTMEM_IN_ROW;
}

bool slotmem_more(u32 count)
{
    u64 at = 0;
    bool done;

    lock_take(&lock);
    done = slotmem_count() > count;
    if (!done && slotmem_find && slotmem_rows < SLOTMEM_ROWS_MAX)
        at = slotmem_find(SLOTMEM_ROW_BYTES + THREAD_FAR_STRIDE, THREAD_FAR_TOP);
    if (at) {
        slotmem_row[slotmem_rows] = (at + THREAD_FAR_STRIDE - 1) & ~(THREAD_FAR_STRIDE - 1ul);
        __atomic_store_n(&slotmem_rows, slotmem_rows + 1, __ATOMIC_RELEASE);
    }
    lock_drop(&lock);
    return done || at;
}

u32 slotmem_slot_of(u64 addr, u64 *offset)
{
    u32 rows = __atomic_load_n(&slotmem_rows, __ATOMIC_ACQUIRE);
    u64 from = addr - THREAD_AREA_BASE;

    if (from < SPOOL_THREADS_FIXED * (u64)THREAD_AREA_STRIDE) {
        *offset = from % THREAD_AREA_STRIDE;
        return (u32)(from / THREAD_AREA_STRIDE);
    }
    for (u32 i = 0; i < rows; i++) {
        from = addr - slotmem_row[i];
        if (from >= SLOTMEM_ROW_BYTES)
            continue;
        *offset = from % THREAD_FAR_STRIDE;
        return SPOOL_THREADS_FIXED + i * SLOTMEM_IN_ROW + (u32)(from / THREAD_FAR_STRIDE);
    }
    return SPOOL_THREADS_MAX;
}
