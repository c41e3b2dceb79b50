// SPDX-License-Identifier: MIT
//
// Searching what is sorted by a number of 64 bits: instructions by address, rows by line.
#ifndef QUERN_REPORT_CORE_SEARCH_H
#define QUERN_REPORT_CORE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

// The first element whose key is at least the given one; count: there is none. Elements have `size`
// bytes each, and the key, a uint64_t, at `offset`.
static inline size_t search_lower(const void *elements, size_t count, size_t size, size_t offset,
                                  uint64_t key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint64_t *)((const char *)elements + middle * size + offset) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
