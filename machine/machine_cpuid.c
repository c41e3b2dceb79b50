// SPDX-License-Identifier: MIT
//
// What CPUID says of a processor and its caches: of this machine's, or of a table (--cpu, unit
// tests). Facts: Intel SDM volume 2, CPUID leaves 0, 1, 4 and 7; AMD APM volume 3, leaf 8000_001D.
#include "machine/machine.h"

#include <string.h>

#define EXTENDED 0x80000000u
#define GUEST    (1u << 31) // leaf 1, ecx: reserved for hypervisors
#define HYBRID   (1u << 15) // leaf 7, edx

void machine_cpuid_caches(struct machine_cpuid *p, uint32_t leaf, machine_cpuid_fn ask,
                          const void *of)
{
    for (uint32_t sub = 0; sub < 32; sub++) {
        unsigned type, level;
        struct spool_geometry g;
        uint32_t r[4]; // eax to edx
        uint64_t size;

        ask(of, leaf, sub, r);
        type = r[0] & 31; // 0 none, 1 data, 2 instruction, 3 unified
        level = (r[0] >> 5) & 7;
        if (type == 0)
            break;
        g.line = (r[1] & 0xfff) + 1;
        g.assoc = (r[1] >> 22) + 1;
        size = (uint64_t)g.assoc * (((r[1] >> 12) & 0x3ff) + 1) * g.line * ((uint64_t)r[2] + 1);
        if (r[0] & (1u << 9)) // fully associative
            g.assoc = (uint32_t)(size / g.line);
        if (size > UINT32_MAX)
            size = UINT32_MAX & ~(uint64_t)(g.line - 1);
        g.size = (uint32_t)size;
        if (level == 1 && type == 2)
            p->i1 = g;
        else if (level == 1 && type == 1)
            p->d1 = g;
        else if (level == 1 && type == 3)
            p->i1 = p->d1 = g;
        if (level == 2 && type != 2)
            p->l2 = g;
        if (level > 1 && level > p->ll_level && type != 2) {
            p->ll = g;
            p->ll_level = level;
            p->sharers = (r[0] >> 14 & 0xfff) + 1;
        }
    }
}

static void read_identity(struct machine_cpuid *p, machine_cpuid_fn ask, const void *of)
{
    uint32_t r[4], family;

    ask(of, 0, 0, r);
    memcpy(p->vendor, &r[1], 4);
    memcpy(p->vendor + 4, &r[3], 4);
    memcpy(p->vendor + 8, &r[2], 4);
    ask(of, 1, 0, r);
    family = r[0] >> 8 & 15;
    p->family = family + (family == 15 ? r[0] >> 20 & 0xff : 0);
    p->model = r[0] >> 4 & 15;
    if (family == 6 || family == 15)
        p->model |= r[0] >> 12 & 0xf0;
    p->guest = (r[2] & GUEST) != 0;
}

void machine_cpuid(struct machine_cpuid *p, machine_cpuid_fn ask, const void *of)
{
    uint32_t r[4], max;

    memset(p, 0, sizeof(*p));
    read_identity(p, ask, of);
    ask(of, 0, 0, r);
    max = r[0];
    if (max >= 7) {
        ask(of, 7, 0, r);
        p->hybrid = (r[3] & HYBRID) != 0;
    }
    if (max >= 4)
        machine_cpuid_caches(p, 4, ask, of);
    ask(of, EXTENDED, 0, r);
    if (!p->ll.size && r[0] >= 0x8000001du)
        machine_cpuid_caches(p, 0x8000001du, ask, of);
}
