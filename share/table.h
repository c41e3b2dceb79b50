// SPDX-License-Identifier: MIT
//
// A hash table with open addressing: finds the number of an entry by the hash of its key. The
// entries, their keys and all memory are the caller's. The table holds only numbers, in slots of 32
// bits, and fills at most half of them, which keeps searches short. No allocation, no libc: the
// same in the engine and in tools.
//
//     size_t at = table_first(&t, hash);
//     for (; table_used(&t, at); at = table_next(&t, at))
//         if (entry[table_number(&t, at)] has the key)
//             return table_number(&t, at);
//     table_put(&t, at, count); // not found: at is its slot
//     return count++;
//
// To grow: zeroed memory for twice as many slots, table_over(), table_add() for each entry.
#ifndef QUERN_SHARE_TABLE_H
#define QUERN_SHARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    uint32_t *slot; // number + 1; 0: free
    size_t mask;    // slots - 1; slots are a power of two
};

// How many slots a table of at most `entries` entries, a power of two, must have.
static inline size_t table_slots(size_t entries)
{
    return entries * 2;
}

// A table in the caller's slots: zeroed, their number a power of two.
static inline struct table table_over(uint32_t *slot, size_t slots)
{
    return (struct table){ slot, slots - 1 };
}

// The first slot of a search.
static inline size_t table_first(const struct table *t, uint64_t hash)
{
    return hash & t->mask;
}

// The next slot.
static inline size_t table_next(const struct table *t, size_t at)
{
    return (at + 1) & t->mask;
}

// False: the search is over, the entry is not in the table.
static inline bool table_used(const struct table *t, size_t at)
{
    return t->slot[at] != 0;
}

static inline uint32_t table_number(const struct table *t, size_t at)
{
    return t->slot[at] - 1;
}

// Enters a number at the slot where its search ended. Numbers are below UINT32_MAX.
static inline void table_put(struct table *t, size_t at, uint32_t number)
{
    t->slot[at] = number + 1;
}

// Enters a number that is not in the table.
static inline void table_add(struct table *t, uint64_t hash, uint32_t number)
{
    size_t at = table_first(t, hash);

    while (table_used(t, at))
        at = table_next(t, at);
    table_put(t, at, number);
}

#endif
