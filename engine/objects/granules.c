// SPDX-License-Identifier: MIT
// Small ranges by their granules (granules.h).
#include "engine/objects/granules.h"

#include "engine/base/heap.h"

#define GRANULE (1u << GRANULES_SHIFT)
#define PAGES   (1ul << GRANULES_TABLE_BITS) // of a table
#define TABLES  ((1ul << GRANULES_BITS) / PAGE_SIZE / PAGES)
#define MANY    64u // pages of another range that are forgotten one by one

struct granules granules;

void granules_init(void)
{
    granules.table = heap_pages(TABLES * sizeof(*granules.table));
    granules.used = granules.arrays_used = granules.changes = 1;
}

static struct granules_page *page_get(u64 addr)
{
    struct granules_page **table = &granules.table[addr / PAGE_SIZE / PAGES];

    if (!*table)
        *table = heap_pages(PAGES * sizeof(**table));
    return granules_page(addr);
}

// ---- Ranges and arrays ----

// 0: there are too many.
static u32 range_new(void)
{
    u32 i = granules.free, piece = granules.used >> GRANULES_PIECE_BITS;

    if (i) {
        granules.free = granules_at(i)->object;
        return i;
    }
    if (piece >= GRANULES_PIECES)
        return 0;
    if (!granules.piece[piece])
        granules.piece[piece] =
            heap_pages(sizeof(struct granules_range) << GRANULES_PIECE_BITS);
    return granules.used++;
}

static void range_free(u32 i)
{
    *granules_at(i) = (struct granules_range){ .object = granules.free };
    granules.free = i;
}

// All of it is 0. 0: there are too many.
static u32 array_new(void)
{
    u32 i = granules.arrays_free, piece = granules.arrays_used >> GRANULES_ARRAY_BITS;

    if (i) {
        granules.arrays_free = granules_array(i)[0];
        granules_array(i)[0] = 0;
        return i;
    }
    if (piece >= GRANULES_ARRAYS)
        return 0;
    if (!granules.arrays[piece])
        granules.arrays[piece] =
            heap_pages((u64)PAGE_SIZE / GRANULE * sizeof(u32) << GRANULES_ARRAY_BITS);
    return granules.arrays_used++;
}

static void array_free(u32 i)
{
    granules_array(i)[0] = granules.arrays_free;
    granules.arrays_free = i;
}

// ---- Granules of ranges ----

// The part of the granules of [*at, end) that is in one page; *at becomes its end.
struct part {
    struct granules_page *page;
    u32 first, last; // granules
};

static struct part next_part(u64 *at, u64 end, bool make)
{
    u64 stop = (*at / PAGE_SIZE + 1) * PAGE_SIZE;
    struct part part = { .page = make ? page_get(*at) : granules_page(*at) };

    if (stop > end)
        stop = end;
    part.first = (u32)(*at % PAGE_SIZE / GRANULE);
    part.last = (u32)((stop - 1) % PAGE_SIZE / GRANULE);
    *at = stop;
    return part;
}

static bool is_free(u64 start, u64 end)
{
    for (u64 at = start; at < end;) {
        struct part part = next_part(&at, end, false);
        const u32 *array = part.page && part.page->array ? granules_array(part.page->array) : NULL;

        for (u32 i = part.first; array && i <= part.last; i++)
            if (array[i])
                return false;
    }
    return true;
}

// Whether all pages have arrays now.
static bool make_arrays(u64 start, u64 end)
{
    for (u64 at = start; at < end;) {
        struct part part = next_part(&at, end, true);

        if (!part.page->array && !(part.page->array = array_new()))
            return false;
    }
    return true;
}

static void set(u64 start, u64 end, u32 number)
{
    for (u64 at = start; at < end;) {
        struct part part = next_part(&at, end, false);
        u32 *array = granules_array(part.page->array), n = part.last + 1 - part.first;

        for (u32 i = part.first; i <= part.last; i++)
            array[i] = number;
        part.page->used += number ? n : -n;
        if (!part.page->used) {
            array_free(part.page->array);
            part.page->array = 0;
        }
    }
}

bool granules_put(u64 start, u64 end, u64 born, u32 object, u32 who)
{
    u32 i;

    if (end - start > GRANULES_MOST || (end - 1) >> GRANULES_BITS || !is_free(start, end) ||
        !make_arrays(start, end))
        return false;
    i = range_new();
    if (!i)
        return false;
    *granules_at(i) =
        (struct granules_range){ start | (end - start) << GRANULES_BITS, born, object, who };
    set(start, end, i);
    return true;
}

void granules_remove(struct granules_range *g)
{
    u64 start = granules_start(g), end = granules_end(g);
    u32 i = granules_number(granules_page(start), start);

    set(start, end, 0);
    range_free(i);
}

struct granules_range *granules_first(u64 start, u64 end)
{
    for (u64 at = start; at < end && !(at >> GRANULES_BITS);) {
        u64 table = PAGES * PAGE_SIZE;
        struct part part;

        if (!granules.table[at / table]) {
            at = (at / table + 1) * table;
            continue;
        }
        part = next_part(&at, end, false);
        for (u32 i = part.first; part.page->array && i <= part.last; i++) {
            u32 number = granules_array(part.page->array)[i];
            struct granules_range *g = number ? granules_at(number) : NULL;

            if (g && granules_start(g) < end && granules_end(g) > start)
                return g;
        }
    }
    return NULL;
}

// ---- Other ranges ----

void granules_are_alone(u64 addr)
{
    struct granules_page *p = granules_page(addr);

    if (p)
        p->others = granules.changes;
}

void granules_other(u64 start, u64 end)
{
    if ((end - 1) / PAGE_SIZE - start / PAGE_SIZE >= MANY) {
        granules.changes += 1 + (granules.changes == ~0u);
        return;
    }
    for (u64 page = start / PAGE_SIZE; page <= (end - 1) / PAGE_SIZE; page++) {
        struct granules_page *p = granules_page(page * PAGE_SIZE);

        if (p)
            p->others = 0;
    }
}
