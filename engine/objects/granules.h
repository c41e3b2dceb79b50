// SPDX-License-Identifier: MIT
// Small ranges of addresses, of one set of ranges (ranges.h), found by the granules of 16 bytes
// that they cover: of each page with such ranges there is an array of their numbers. To look one
// up, to put it there and to remove it takes no search. In a treap of all blocks most steps were a
// miss of the host's caches (docs/design/090-data-objects.md).
//
// Two ranges in one granule: the second one finds no place here, and is among the large ones.
#ifndef QUERN_ENGINE_GRANULES_H
#define QUERN_ENGINE_GRANULES_H

#include "engine/base/types.h"

#define GRANULES_MOST 1024u // bytes of a range

#define GRANULES_SHIFT      4u
#define GRANULES_IN_PAGE    (PAGE_SIZE >> GRANULES_SHIFT)
#define GRANULES_BITS       47u // of an address
#define GRANULES_TABLE_BITS 18u // log2 of the pages of a table

// 24 bytes for each live block.
struct granules_range {
    u64 place; // where it starts, and above GRANULES_BITS its bytes; 0: it is none
    u64 born;
    u32 object, who;
};

_Static_assert(sizeof(struct granules_range) == 24, "one for each small live block");

struct granules_page {
    u32 array;  // of its granules; 0: none has a range
    u32 used;   // granules
    u32 others; // the number of changes when no other range was here; 0: some may be
};

// In pieces that never move, and tables that never go: a reader in another process may meet what
// its owner, killed meanwhile, has left half done.
#define GRANULES_PIECE_BITS 16u // log2 of the ranges of a piece
#define GRANULES_PIECES     8192u
#define GRANULES_ARRAY_BITS 10u // the same of arrays
#define GRANULES_ARRAYS     0x8000u

struct granules {
    struct granules_page **table; // by address; NULL: no page there ever had a range
    struct granules_range *piece[GRANULES_PIECES];
    u32 (*arrays[GRANULES_ARRAYS])[GRANULES_IN_PAGE]; // numbers of ranges, 0: none
    u32 used, arrays_used;                            // the first of each is unused
    u32 free, arrays_free;                            // lists
    u32 changes;                                      // of many pages by other ranges; never 0
};
extern struct granules granules;

static inline u64 granules_start(const struct granules_range *g)
{
    return g->place & ((1ul << GRANULES_BITS) - 1);
}

static inline u64 granules_end(const struct granules_range *g)
{
    return granules_start(g) + (g->place >> GRANULES_BITS);
}

static inline struct granules_range *granules_at(u32 i)
{
    return &granules.piece[i >> GRANULES_PIECE_BITS][i & ((1u << GRANULES_PIECE_BITS) - 1)];
}

// NULL: no page near it ever had a range.
static inline struct granules_page *granules_page(u64 addr)
{
    u64 page = addr / PAGE_SIZE;
    struct granules_page *table =
        addr >> GRANULES_BITS ? NULL : granules.table[page >> GRANULES_TABLE_BITS];

    return table ? &table[page & ((1u << GRANULES_TABLE_BITS) - 1)] : NULL;
}

static inline u32 *granules_array(u32 array)
{
    return granules.arrays[array >> GRANULES_ARRAY_BITS][array & ((1u << GRANULES_ARRAY_BITS) - 1)];
}

// The number of the range that has the granule of addr; 0: none.
static inline u32 granules_number(const struct granules_page *p, u64 addr)
{
    u32 i = p && p->array && p->array < granules.arrays_used
                ? granules_array(p->array)[addr / (1u << GRANULES_SHIFT) % GRANULES_IN_PAGE]
                : 0;

    return i < granules.used ? i : 0;
}

// The range at addr. NULL: there is none here. @signal-safe
static inline struct granules_range *granules_find(u64 addr)
{
    u32 i = granules_number(granules_page(addr), addr);
    struct granules_range *g = i ? granules_at(i) : NULL;

    return g && addr - granules_start(g) < g->place >> GRANULES_BITS ? g : NULL;
}

// Begins to load what granules_find() needs: the granule, then, when that is there, its range.
static inline void granules_ahead(u64 addr)
{
    const struct granules_page *p = granules_page(addr);

    if (p && p->array && p->array < granules.arrays_used)
        __builtin_prefetch(
            &granules_array(p->array)[addr / (1u << GRANULES_SHIFT) % GRANULES_IN_PAGE]);
}

static inline void granules_ahead_range(u64 addr)
{
    u32 i = granules_number(granules_page(addr), addr);

    if (i)
        __builtin_prefetch(granules_at(i), 1);
}

// Whether a range is in the page of addr. @signal-safe
static inline bool granules_has(u64 addr)
{
    const struct granules_page *p = granules_page(addr);

    return p && p->used;
}

// Once, before all others.
void granules_init(void);
// False: it is too large, or a granule has another one; nothing has changed.
bool granules_put(u64 start, u64 end, u64 born, u32 object, u32 who);
// What granules_find() or granules_first() has returned.
void granules_remove(struct granules_range *g);
// The first with a byte in [start, end). NULL: there is none.
struct granules_range *granules_first(u64 start, u64 end);

// Whether it is known that no other range of the set is in the page of addr. @signal-safe
static inline bool granules_alone(u64 addr)
{
    const struct granules_page *p = granules_page(addr);

    return p && p->others == granules.changes;
}
// It is so now.
void granules_are_alone(u64 addr);
// Another range of the set is at [start, end).
void granules_other(u64 start, u64 end);

#endif
