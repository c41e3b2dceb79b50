// SPDX-License-Identifier: MIT
//
// Open addressing, once: finds the number of an entry by the hash of its key. The entries, their
// keys and all memory are the caller's; the table holds numbers only, in slots of 32 bits, and
// fills at most half of them, so that a search ends soon. No allocation, no libc: the same in the
// engine and in tools.
//
//     size_t at = table_first(&t, hash);
//     for (; table_used(&t, at); at = table_next(&t, at))
//         if (entry[table_number(&t, at)] is the one)
//             return table_number(&t, at);
//     table_put(&t, at, count); // it is not there: here it belongs
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

// A table in the caller's slots, all zero, a power of two of them.
static inline struct table table_over(uint32_t *slot, size_t slots)
{
    return (struct table){ slot, slots - 1 };
}

// Where a search begins.
static inline size_t table_first(const struct table *t, uint64_t hash)
{
    return hash & t->mask;
}

// Where it goes on.
static inline size_t table_next(const struct table *t, size_t at)
{
    return (at + 1) & t->mask;
}

// False: the search is over, what was looked for is not there.
static inline bool table_used(const struct table *t, size_t at)
{
    return t->slot[at] != 0;
}

static inline uint32_t table_number(const struct table *t, size_t at)
{
    return t->slot[at] - 1;
}

// Enters a number where a search for it ended. Numbers are below UINT32_MAX.
static inline void table_put(struct table *t, size_t at, uint32_t number)
{
    t->slot[at] = number + 1;
}

// Enters a number that is known not to be there.
static inline void table_add(struct table *t, uint64_t hash, uint32_t number)
{
    size_t at = table_first(t, hash);

    while (table_used(t, at))
        at = table_next(t, at);
    table_put(t, at, number);
}

#endif
