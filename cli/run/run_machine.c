// SPDX-License-Identifier: MIT
//
// Reads CPUID and XCR0 of this machine, and concludes nothing: run_cache.c and run_cpu.c work the
// same on a unit test's table of another processor.
#include <cpuid.h>
#include <string.h>

#include "cli/run/run.h"

#define EXTENDED 0x80000000u
#define OSXSAVE  (1u << 27)

void run_machine_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    memset(r, 0, 4 * sizeof(*r));
    // Above the highest leaf an Intel answers with the highest one, an AMD with zeros.
    if (leaf <= (uint32_t)__get_cpuid_max(leaf & EXTENDED, NULL))
        __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
}

uint64_t run_machine_xcr0(void)
{
    uint32_t r[4], lo, hi;

    run_machine_cpuid(1, 0, r);
    if (!(r[2] & OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}
