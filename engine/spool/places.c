// SPDX-License-Identifier: MIT
// Places of thread slots (places.h).
#include "engine/spool/places.h"

#include "engine/base/lock.h"

_Static_assert((SPOOL_THREADS_MAX - SPOOL_THREADS_NEAR) % PLACES_IN_ROW == 0, "whole rows");
_Static_assert(TA_COUNTERS + SPOOL_THREAD_SIZE <= THREAD_AREA_STRIDE, "one behind the other");
_Static_assert(TA_COUNTERS + SPOOL_THREAD_SIZE <= THREAD_FAR_CALLS &&
                   THREAD_FAR_CALLS + SPOOL_STACK_SIZE <= THREAD_FAR_STRIDE,
               "one behind the other");
_Static_assert(THREAD_FAR_CALLS % SPOOL_STACK_SIZE == 0 &&
                   THREAD_FAR_STRIDE % SPOOL_STACK_SIZE == 0 && CALLS_BASE % SPOOL_STACK_SIZE == 0,
               "spool_stack_offset");

u64 places_row[PLACES_ROWS_MAX];
u32 places_rows;
u64 (*places_find)(u64 len, u64 top);

static struct lock lock;

u32 places_count(void)
{
    return SPOOL_THREADS_NEAR + __atomic_load_n(&places_rows, __ATOMIC_ACQUIRE) * PLACES_IN_ROW;
}

bool places_more(u32 count)
{
    u64 at = 0;
    bool done;

    lock_take(&lock);
    done = places_count() > count;
    if (!done && places_find && places_rows < PLACES_ROWS_MAX)
        at = places_find(PLACES_ROW_BYTES + THREAD_FAR_STRIDE, THREAD_FAR_TOP);
    if (at) {
        places_row[places_rows] = (at + THREAD_FAR_STRIDE - 1) & ~(THREAD_FAR_STRIDE - 1ul);
        __atomic_store_n(&places_rows, places_rows + 1, __ATOMIC_RELEASE);
    }
    lock_drop(&lock);
    return done || at;
}

u32 places_slot_of(u64 addr, u64 *offset)
{
    u32 rows = __atomic_load_n(&places_rows, __ATOMIC_ACQUIRE);
    u64 from = addr - THREAD_AREA_BASE;

    if (from < SPOOL_THREADS_NEAR * (u64)THREAD_AREA_STRIDE) {
        *offset = from % THREAD_AREA_STRIDE;
        return (u32)(from / THREAD_AREA_STRIDE);
    }
    for (u32 i = 0; i < rows; i++) {
        from = addr - places_row[i];
        if (from >= PLACES_ROW_BYTES)
            continue;
        *offset = from % THREAD_FAR_STRIDE;
        return SPOOL_THREADS_NEAR + i * PLACES_IN_ROW + (u32)(from / THREAD_FAR_STRIDE);
    }
    return SPOOL_THREADS_MAX;
}
