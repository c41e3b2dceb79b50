// SPDX-License-Identifier: MIT
// Instructions by their counters (insnids.h).
#include "engine/spool/insnids.h"

#include "engine/base/heap.h"
#include "share/spool.h"

static struct {
    // By counter, its instruction's first one; 0: itself.
    u32 *first;
    // By hash, the instructions so far: numbers, and counters plus one. @guarded(translation lock)
    struct known {
        u64 number, counter;
    } * known;
    u32 size, used;
} ids;

static struct known *known_of(u64 number)
{
    u32 i = (u32)(number * 0x9e3779b97f4a7c15ul >> 32) & (ids.size - 1);

    while (ids.known[i].counter && ids.known[i].number != number)
        i = (i + 1) & (ids.size - 1);
    return &ids.known[i];
}

static void known_grow(void)
{
    struct known *old = ids.known;
    u32 size = ids.size;

    ids.size *= 2;
    ids.known = heap_alloc(ids.size * sizeof(*old));
    for (u32 i = 0; i < size; i++)
        if (old[i].counter)
            *known_of(old[i].number) = old[i];
    heap_free(old, size * sizeof(*old));
}

void insnids_note(u64 number, u32 counter)
{
    struct known *k = known_of(number);

    if (k->counter) {
        if (counter < SPOOL_COUNTERS_MAX)
            ids.first[counter] = (u32)k->counter - 1;
        return;
    }
    *k = (struct known){ number, counter + 1ul };
    if (++ids.used > ids.size / 2)
        known_grow();
}

bool insnids_on(void)
{
    return ids.first != NULL;
}

u32 insnids_first(u32 counter)
{
    u32 first = ids.first && counter < SPOOL_COUNTERS_MAX ? ids.first[counter] : 0;

    return first ? first : counter;
}

void insnids_init(void)
{
    if (ids.first)
        return;
    ids.first = heap_pages(SPOOL_COUNTERS_MAX * sizeof(u32));
    ids.size = 8192;
    ids.known = heap_alloc(ids.size * sizeof(*ids.known));
}
