// SPDX-License-Identifier: MIT
//
// A level of a simulated cache below the first: set-associative, any number of sets, with a choice
// of replacement, and with the lines that it replaces, which a level below may be filled with. It
// knows lines, not addresses: a line's number is its address divided by the size of a line.
//
// Pure arithmetic, as cache.h.
#ifndef QUERN_SIM_LEVEL_H
#define QUERN_SIM_LEVEL_H

#include "sim/cache.h"

// Which line of a full set is replaced. An empty way is filled first, the lowest one.
enum sim_replacement {
    SIM_LRU, // the least recently used
    // A binary tree over the ways, a bit for each node. A use makes the bits on the way's path
    // point away from it; the line replaced is where all bits point. Ways: a power of two.
    SIM_PLRU,
    // Each way has a prediction of two bits: 0 after a hit, 2 after a fill. The line replaced is
    // the first whose prediction is 3; while there is none, all predictions grow by one (Jaleel et
    // al., "High performance cache replacement using re-reference interval prediction", ISCA 2010,
    // SRRIP with hit priority).
    SIM_SRRIP,
};

// Of SIM_PLRU and SIM_SRRIP, whose state of a set is one word.
#define SIM_LEVEL_WAYS 32u

// tags[set * assoc + way]: 0 for an empty way, else the line's number plus one. With SIM_LRU the
// ways are in order of use, the latest first and the empty ones last; else state[set] has the bits:
// the tree's node n at bit n (the root is 1, the children of n are 2n and 2n + 1), or two for each
// way.
struct sim_level {
    uint64_t *tags, *state;
    uint64_t set_mask; // sets - 1 if their number is a power of two, else 0
    uint32_t sets, assoc, line_shift;
    enum sim_replacement replacement;
};

// A valid geometry (sim_geometry_check_last) that r can have.
bool sim_level_can(const struct sim_geometry *g, enum sim_replacement r);

// Bytes of the storage; a multiple of 8.
size_t sim_level_bytes(const struct sim_geometry *g, enum sim_replacement r);

// An empty level in storage of sim_level_bytes() zeroed bytes, aligned to 8, the caller's.
void sim_level_init_zeroed(struct sim_level *l, const struct sim_geometry *g,
                           enum sim_replacement r, void *storage);

static inline uint64_t sim_level_set(const struct sim_level *l, uint64_t line)
{
    return l->set_mask || l->sets == 1 ? line & l->set_mask : line % l->sets;
}

// Uses the line. True if it is there; else nothing has changed.
bool sim_level_use(struct sim_level *l, uint64_t line);

// Puts in a line that is not there, as used last. Returns the number of the line that it replaced,
// plus one; 0: none.
uint64_t sim_level_fill(struct sim_level *l, uint64_t line);

// Takes the line out. True if it was there.
bool sim_level_take(struct sim_level *l, uint64_t line);

#endif
