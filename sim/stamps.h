// SPDX-License-Identifier: MIT
//
// One level of a simulated cache, as cache.h, with time stamps in place of an order of ways: a hit
// stores the time in its way, and a miss replaces the way with the least stamp. Exactly least
// recently used, as long as no two lines of a set get the same stamp. A table of hints has the way
// in which each line was last found; a hint may be stale: the tag decides. So a hit is a compare
// and a store, which the engine generates as code (engine/replay/routine.c).
//
// Pure arithmetic, as cache.h.
#ifndef QUERN_SIM_STAMPS_H
#define QUERN_SIM_STAMPS_H

#include "sim/cache.h"

#define SIM_STAMPS_MAX   65536u // ways of all sets: the range of a hint
#define SIM_STAMPS_HINTS 8192u
// Tag of an empty way: an address that no processor accepts.
#define SIM_STAMPS_EMPTY UINT64_C(0x8051756e72000000)

// Way w of set s has number s * stride + w; a tag is the address of its line. Ways between two sets
// are empty and have the latest stamp.
struct sim_stamps {
    uint64_t *tags, *stamps;
    uint16_t *hints; // by the line's number, modulo SIM_STAMPS_HINTS
    uint64_t low;    // line - 1
    uint32_t assoc, stride, set_mask, line_shift;
};

static inline bool sim_stamps_fits(const struct sim_geometry *g)
{
    return g->size / g->line <= SIM_STAMPS_MAX;
}

// An empty cache of a valid geometry that fits, its sets `stride` ways apart: g's associativity or
// more, and no more than SIM_STAMPS_MAX in all. Storage: as many tags and stamps, these zeroed;
// SIM_STAMPS_HINTS hints, zeroed.
void sim_stamps_init(struct sim_stamps *c, const struct sim_geometry *g, uint32_t stride,
                     uint64_t *tags, uint64_t *stamps, uint16_t *hints);

// Uses the line of address a at `now`, which is later than all times before; true if it was not in
// the cache.
bool sim_stamps_touch(struct sim_stamps *c, uint64_t a, uint64_t now);

// The same for the set that starts at way `first`, with tags computed by the caller. Returns the
// line's way and, after a miss, the old tag (the low half of one of 64 bits).
struct sim_stamps_way {
    uint32_t way;
    bool miss;
    uint32_t old;
};
struct sim_stamps_way sim_stamps_touch_id(uint32_t *tags, uint64_t *stamps, uint32_t first,
                                          uint32_t assoc, uint32_t tag, uint64_t now);

#endif
