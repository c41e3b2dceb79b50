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
#define SIM_REGION_WORDS  514u // of sim_recent_bytes()

struct sim_page_regions {
    uint64_t touched; // lines of the page, a bit each
    uint64_t covered; // those that are in its regions
    uint8_t n;        // regions so far: up to SIM_PAGE_REGIONS, then as much and its remainder
    uint8_t at[SIM_PAGE_REGIONS];
    uint8_t slot[SIM_PAGE_REGIONS];    // where the instruction was then
    uint32_t code[SIM_PAGE_REGIONS];   // plus one
    uint64_t before[SIM_PAGE_REGIONS]; // what had been touched then, with the first line
};

// The counters of an instruction, a bit of each in a word, the lowest first: bit k is of the line k
// behind the region's beginning.
struct sim_region_seen {
    uint16_t bit[3];
};

struct sim_regions {
    struct sim_recent codes; // plus one; the first region of all prepares it
    uint64_t storage[SIM_REGION_WORDS];
    struct sim_region_seen seen[SIM_REGION_CODES]; // by slot
    struct sim_page_regions page[SIM_PAGES];
};

// The bits of a page's lines that are in the region of line `at`, from its beginning on.
static inline uint32_t sim_region_of(uint64_t lines, uint32_t at)
{
    uint64_t of = at >= SIM_REGION_BELOW ? lines >> (at - SIM_REGION_BELOW)
                                         : lines << (SIM_REGION_BELOW - at);

    return (uint32_t)of & ((1u << SIM_REGION_LINES) - 1);
}

static inline void sim_region_forget(struct sim_regions *r, const struct sim_page_regions *p,
                                     uint32_t i)
{
    uint32_t up = sim_region_of(p->touched & ~p->before[i], p->at[i]);
    uint32_t down = sim_region_of(~UINT64_C(0), p->at[i]) & ~up & ~(1u << SIM_REGION_BELOW);
    uint32_t slot = p->slot[i] % SIM_REGION_CODES;
    uint16_t *bit = r->seen[slot].bit;
    uint32_t zero = bit[0], one = bit[1], two = bit[2], carry;

    if (r->codes.slot[slot + 1].key != p->code[i])
        return;
    up &= ~(zero & one & two) & ~(1u << SIM_REGION_BELOW);
    down &= zero | one | two;
    carry = (zero & up) | (~zero & down);
    bit[0] = (uint16_t)(zero ^ (up | down));
    bit[1] = (uint16_t)(one ^ carry);
    bit[2] = (uint16_t)(two ^ (carry & ((one & up) | (~one & down))));
}

// Another page has this slot from here on.
static inline void sim_regions_begin(struct sim_regions *r, uint32_t slot)
{
    struct sim_page_regions *p = &r->page[slot];

    for (uint32_t i = 0; i < p->n && i < SIM_PAGE_REGIONS; i++)
        sim_region_forget(r, p, i);
    p->n = 0;
    p->touched = p->covered = 0;
}

// The lines that are likely where this instruction begins a region at line `at` of a page: bit k is
// line at + k - SIM_REGION_BELOW. *slot: the instruction's.
static inline uint32_t sim_region_likely(struct sim_regions *r, uint32_t at, uint32_t code,
                                         uint8_t *slot)
{
    const uint16_t *bit;
    uint64_t old;
    uint32_t of;

    if (!r->codes.slots)
        sim_recent_init_zeroed(&r->codes, SIM_REGION_CODES, r->storage);
    of = sim_recent_find(&r->codes, code);
    if (of >= SIM_REGION_CODES) {
        of = sim_recent_put(&r->codes, code, &old);
        r->seen[of] = (struct sim_region_seen){ { 0 } };
    } else {
        sim_recent_touch(&r->codes, of);
    }
    *slot = (uint8_t)of;
    bit = r->seen[of].bit;
    _Static_assert(SIM_REGION_LIKELY == 3, "one and zero, or two");
    return (bit[2] | (bit[1] & bit[0])) & sim_region_of(~UINT64_C(0), at);
}

// The lines of a page that are in the region of line `at`, a bit each.
static inline uint64_t sim_region_lines(uint32_t at)
{
    const uint64_t lines = (UINT64_C(1) << SIM_REGION_LINES) - 1;

    return at >= SIM_REGION_BELOW ? lines << (at - SIM_REGION_BELOW)
                                  : lines >> (SIM_REGION_BELOW - at);
}

// A reference to line `at` of the page in this slot, by the instruction whose number is `code`, up
// to UINT32_MAX - 1. Returns the lines to load ahead as sim_region_likely() says them, all in the
// page; 0: none.
static inline uint32_t sim_regions_refer(struct sim_regions *r, uint32_t slot, uint32_t at,
                                         uint32_t code)
{
    struct sim_page_regions *p = &r->page[slot];
    uint32_t i;

    p->touched |= UINT64_C(1) << at;
    if (p->covered >> at & 1)
        return 0;
    i = p->n % SIM_PAGE_REGIONS;
    if (p->n >= SIM_PAGE_REGIONS) {
        sim_region_forget(r, p, i);
        p->covered = 0;
        for (uint32_t k = 0; k < SIM_PAGE_REGIONS; k++)
            p->covered |= k != i ? sim_region_lines(p->at[k]) : 0;
    }
    p->covered |= sim_region_lines(at);
    p->n = (uint8_t)(p->n < 2 * SIM_PAGE_REGIONS - 1 ? p->n + 1u : SIM_PAGE_REGIONS);
    p->before[i] = p->touched;
    p->at[i] = (uint8_t)at;
    p->code[i] = code + 1;
    return sim_region_likely(r, at, code + 1, &p->slot[i]);
}

#endif
