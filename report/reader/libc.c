// SPDX-License-Identifier: MIT
//
// There is one thread, so the comparison function may be in a variable.
#include "report/reader/libc.h"

#include <stdint.h>
#include <stdlib.h>

static int (*compare_with)(const void *, const void *, void *);
static void *compare_of;

static int compare(const void *a, const void *b)
{
    return compare_with(a, b, compare_of);
}

void qsort_r(void *base, size_t n, size_t size, int (*with)(const void *, const void *, void *),
             void *of)
{
    compare_with = with;
    compare_of = of;
    qsort(base, n, size, compare);
}

// The compiler's library, which divides 128 bits, is compiled with stack protection.
uintptr_t __stack_chk_guard = 0x51756572;
_Noreturn void __stack_chk_fail(void);

_Noreturn void __stack_chk_fail(void)
{
    __builtin_trap();
}
