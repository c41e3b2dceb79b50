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

// tags[set * room + way]: 0 for an empty way, else the line's number plus one, and the mark.
//
// heads[set * head] are the words of a set by which a line is found, eight ways in each: of each
// way a byte, 0 if it is empty, else one made of the line's number. The word behind them has the
// bits of replacement: the order of use, four bits a way; the tree's node n at bit n (the root is
// 1, the children of n are 2n and 2n + 1); or two for each way. A set's ways have room for whole
// words.
//
// With SIM_LRU and more than SIM_LEVEL_ORDERED ways there are no heads: the ways are in order of
// use, the latest first and the empty ones last; and one set of so many is `recent`, whose keys are
// the tags without their marks; tags[slot] has the mark.
#define SIM_LEVEL_ORDERED 16u

struct sim_level {
    uint64_t *tags, *heads;
    uint64_t set_mask; // sets - 1 if their number is a power of two, else 0
    uint32_t sets, assoc, line_shift;
    uint32_t room, words, head; // words 0: no heads
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

// Begins to load what there is about a line into the host's cache; put: what sim_level_put() needs.
static inline void sim_level_ahead(const struct sim_level *l, uint64_t line, bool put)
{
    uint64_t set = sim_level_set(l, line);
    const uint64_t *ways = l->tags + set * l->room;

    if (l->words)
        __builtin_prefetch(l->heads + set * l->head, 1);
    if (l->words && put)
        return;
    __builtin_prefetch(ways, 1);
    __builtin_prefetch(ways + l->assoc - 1, 1);
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

// Uses a line or else puts it in, without a mark: *old is what it replaced, or 0.
enum sim_use sim_level_refer(struct sim_level *l, uint64_t line, uint64_t *old);
// The same for those who do not ask what it replaced: nothing waits for that in the host's memory.
void sim_level_put(struct sim_level *l, uint64_t line);
// Puts it in with a mark unless it is there. True: it was not, and *old is what it replaced.
bool sim_level_load(struct sim_level *l, uint64_t line, uint64_t *old);

// Takes the line out. True if it was there.
bool sim_level_take(struct sim_level *l, uint64_t line);

// The number of a tag's line.
static inline uint64_t sim_level_line(uint64_t tag)
{
    return (tag & ~SIM_LEVEL_MARK) - 1;
}

#endif
