// SPDX-License-Identifier: MIT
//
// What this machine's processor and kernel say of themselves, and nothing that follows from it: the
// caches (run_cache.c) and the processor that is shown (run_cpu.c) do not know whether they ask the
// processor or a table of a unit test.
#include <cpuid.h>
#include <string.h>

#include "cli/run/run.h"

#define EXTENDED 0x80000000u
#define OSXSAVE  (1u << 27)

void run_machine_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
    memset(r, 0, 4 * sizeof(*r));
    // Beyond the highest an Intel answers with the highest, an AMD with zeros.
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
