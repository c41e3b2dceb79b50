// SPDX-License-Identifier: MIT
//
// Regions: lines that a processor loads ahead because they were referred to in the last times that
// the same instruction came to a new place. AMD names a "region prefetcher" of L1 (Software
// Optimization Guide for the AMD Zen 4 Microarchitecture, 57647), without figures; those here are
// measured (docs/design/072-core.md).
//
// A reference to a line that is not in a region begins one: the lines from SIM_REGION_BELOW before
// it to SIM_REGION_ABOVE behind it. Of each instruction that has begun regions, a counter from 0 to
// 7 for each of these lines goes up when the line was referred to before the region was forgotten,
// else down. A line whose counter is SIM_REGION_LIKELY or more is named when the instruction begins
// another region. Regions are in pages, up to SIM_PAGE_REGIONS of each, the oldest of which is
// forgotten for another one; all are when their page is. Which pages are known is the caller's to
// say, by slots.
//
// Pure arithmetic, as cache.h. It has pointers into itself: not to be copied once it is used.
#ifndef QUERN_SIM_REGIONS_H
#define QUERN_SIM_REGIONS_H

#include <stdint.h>

#include "sim/recent.h"

#define SIM_PAGES         32u // that are known at a time
#define SIM_PAGE_LINES    64u // 4 KiB with lines of 64 bytes
#define SIM_PAGE_REGIONS  4u
#define SIM_REGION_BELOW  4u
#define SIM_REGION_ABOVE  6u
#define SIM_REGION_LINES  (SIM_REGION_BELOW + 1 + SIM_REGION_ABOVE)
#define SIM_REGION_LIKELY 3u
#define SIM_REGION_CODES  128u // instructions
#define SIM_REGION_WORDS  322u // of sim_recent_bytes()

struct sim_page_regions {
    uint64_t touched; // lines of the page, a bit each
    uint8_t n;        // regions so far: up to SIM_PAGE_REGIONS, then as much and its remainder
    uint8_t at[SIM_PAGE_REGIONS];
    uint32_t code[SIM_PAGE_REGIONS];   // plus one
    uint64_t before[SIM_PAGE_REGIONS]; // what had been touched then, with the first line
};

struct sim_regions {
    struct sim_recent codes; // plus one; the first region of all prepares it
    uint64_t storage[SIM_REGION_WORDS];
    uint8_t seen[SIM_REGION_CODES][SIM_REGION_LINES]; // by slot
    struct sim_page_regions page[SIM_PAGES];
};

static inline void sim_region_forget(struct sim_regions *r, const struct sim_page_regions *p,
                                     uint32_t i)
{
    uint64_t touched = p->touched & ~p->before[i];
    uint32_t slot = sim_recent_find(&r->codes, p->code[i]);
    uint32_t line = p->at[i] - SIM_REGION_BELOW; // below the page: above all lines
    uint8_t *seen = r->seen[slot % SIM_REGION_CODES];

    if (slot >= SIM_REGION_CODES)
        return;
    for (uint32_t k = 0; k < SIM_REGION_LINES; k++, line++) {
        if (line >= SIM_PAGE_LINES || line == p->at[i])
            continue;
        if (touched >> line & 1)
            seen[k] += seen[k] < 7;
        else
            seen[k] -= seen[k] > 0;
    }
}

// Another page has this slot from here on.
static inline void sim_regions_begin(struct sim_regions *r, uint32_t slot)
{
    struct sim_page_regions *p = &r->page[slot];

    for (uint32_t i = 0; i < p->n && i < SIM_PAGE_REGIONS; i++)
        sim_region_forget(r, p, i);
    p->n = 0;
    p->touched = 0;
}

// The lines that are likely where this instruction begins a region at line `at` of a page: bit k is
// line at + k - SIM_REGION_BELOW.
static inline uint32_t sim_region_likely(struct sim_regions *r, uint32_t at, uint32_t code)
{
    uint32_t slot, line = at - SIM_REGION_BELOW, likely = 0;
    uint64_t old;

    if (!r->codes.slots)
        sim_recent_init_zeroed(&r->codes, SIM_REGION_CODES, r->storage);
    slot = sim_recent_find(&r->codes, code);
    if (slot >= SIM_REGION_CODES) {
        slot = sim_recent_put(&r->codes, code, &old);
        for (uint32_t k = 0; k < SIM_REGION_LINES; k++)
            r->seen[slot][k] = 0;
        return 0;
    }
    sim_recent_touch(&r->codes, slot);
    for (uint32_t k = 0; k < SIM_REGION_LINES; k++, line++)
        if (line < SIM_PAGE_LINES && r->seen[slot][k] >= SIM_REGION_LIKELY)
            likely |= 1u << k;
    return likely;
}

// A reference to line `at` of the page in this slot, by the instruction whose number is `code`, up
// to UINT32_MAX - 1. Returns the lines to load ahead as sim_region_likely() says them, all in the
// page; 0: none.
static inline uint32_t sim_regions_refer(struct sim_regions *r, uint32_t slot, uint32_t at,
                                         uint32_t code)
{
    struct sim_page_regions *p = &r->page[slot];
    uint32_t i;

    for (i = 0; i < p->n && i < SIM_PAGE_REGIONS; i++)
        if (at - p->at[i] + SIM_REGION_BELOW < SIM_REGION_LINES) {
            p->touched |= UINT64_C(1) << at;
            return 0;
        }
    i = p->n % SIM_PAGE_REGIONS;
    if (p->n >= SIM_PAGE_REGIONS)
        sim_region_forget(r, p, i);
    p->n = (uint8_t)(p->n < 2 * SIM_PAGE_REGIONS - 1 ? p->n + 1u : SIM_PAGE_REGIONS);
    p->touched |= UINT64_C(1) << at;
    p->before[i] = p->touched;
    p->at[i] = (uint8_t)at;
    p->code[i] = code + 1;
    return sim_region_likely(r, at, code + 1);
}

#endif
