// SPDX-License-Identifier: MIT
//
// Growing arrays and tables.
#ifndef QUERN_PROFILE_GROW_H
#define QUERN_PROFILE_GROW_H

#include <stdlib.h>
#include <string.h>

#include "share/table.h"

// Space for n elements of that size in the array that *pointer, a pointer of any type, points to.
// False: no memory; the array is unchanged.
static inline bool grow_array(void *pointer, size_t n, size_t size)
{
    void *p;

    memcpy(&p, pointer, sizeof(p));
    if (!(p = realloc(p, n * size)))
        return false;
    memcpy(pointer, &p, sizeof(p));
    return true;
}

// Replaces *t by an empty table for that many entries, a power of two; the caller enters the
// existing ones. False: no memory; *t is unchanged.
static inline bool grow_table(struct table *t, size_t entries)
{
    uint32_t *slot = calloc(table_slots(entries), sizeof(*slot));

    if (!slot)
        return false;
    free(t->slot);
    *t = table_over(slot, table_slots(entries));
    return true;
}

#endif
