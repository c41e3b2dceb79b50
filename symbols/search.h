// SPDX-License-Identifier: MIT
//
// The only search of symbols/: in an array sorted by the address at the start of each element.
#ifndef QUERN_SYMBOLS_SEARCH_H
#define QUERN_SYMBOLS_SEARCH_H

#include <stddef.h>
#include <stdint.h>

// The number of elements, `size` bytes each, with this address or a lower one. The first member of
// an element is its address, a uint64_t.
static inline size_t search_upper(const void *elements, size_t count, size_t size, uint64_t address)
{
    size_t lo = 0, hi = count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (*(const uint64_t *)((const char *)elements + mid * size) <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

#endif
