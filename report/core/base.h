// SPDX-License-Identifier: MIT
//
// What every file of report/core uses: the type of a count, the results of functions that can fail,
// and replacements for a few libc functions. The core is compiled natively and to wasm32; it has no
// libc, no input or output and no globals.
#ifndef QUERN_REPORT_CORE_BASE_H
#define QUERN_REPORT_CORE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A count, a difference or a sum, in units of 1/scale of its event.
__extension__ typedef __int128 core_count;
__extension__ typedef unsigned __int128 core_bits;

#define CORE_NONE UINT32_MAX // no function, no string, no edge

#define CORE_COUNT_MAX ((core_count)(~(core_bits)0 >> 1))
#define CORE_COUNT_MIN (-CORE_COUNT_MAX - 1)

// Results below zero: nothing was done.
enum core_error {
    CORE_DAMAGED = -1, // the bytes are not what docs/report-format.md says
    CORE_MEMORY = -2,  // there is no memory
    CORE_VERSION = -3, // a format of another version
    CORE_WRONG = -4,   // no such data, or not yet
};

#define core_copy(to, from, size) __builtin_memcpy((to), (from), (size))
#define core_zero(to, size)       __builtin_memset((to), 0, (size))

static inline uint32_t core_min32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#endif
