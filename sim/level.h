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
#include "sim/recent.h"

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

// Of a tag: the line was put in ahead of its use, and not used since.
#define SIM_LEVEL_MARK (UINT64_C(1) << 63)

// tags[set * assoc + way]: 0 for an empty way, else the line's number plus one, and the mark. With
// SIM_LRU the ways are in order of use, the latest first and the empty ones last; else state[set]
// has the bits: the tree's node n at bit n (the root is 1, the children of n are 2n and 2n + 1), or
// two for each way. One set of more than SIM_LEVEL_SEARCHED ways in order of use is `recent`, whose
// keys are the tags without their marks; tags[slot] has the mark.
#define SIM_LEVEL_SEARCHED 16u

struct sim_level {
    uint64_t *tags, *state;
    uint64_t set_mask; // sets - 1 if their number is a power of two, else 0
    uint32_t sets, assoc, line_shift;
    enum sim_replacement replacement;
    bool by_table; // it is `recent`
    struct sim_recent recent;
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

enum sim_use {
    SIM_ABSENT, // nothing has changed
    SIM_PRESENT,
    SIM_FIRST_USE, // present and marked; the mark is gone
};
enum sim_use sim_level_use(struct sim_level *l, uint64_t line);

// Whether the line is there. Changes nothing.
bool sim_level_has(const struct sim_level *l, uint64_t line);

// Puts in a line that is not there, as used last; mark: SIM_LEVEL_MARK or 0. Returns the tag of the
// line that it replaced, with its mark; 0: none.
uint64_t sim_level_fill(struct sim_level *l, uint64_t line, uint64_t mark);

// Takes the line out. True if it was there.
bool sim_level_take(struct sim_level *l, uint64_t line);

// The number of a tag's line.
static inline uint64_t sim_level_line(uint64_t tag)
{
    return (tag & ~SIM_LEVEL_MARK) - 1;
}

#endif
