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

// Of SIM_PLRU and SIM_SRRIP.
#define SIM_LEVEL_WAYS 32u

// Of a line that was replaced: it was put in ahead of its use, and not used since.
#define SIM_LEVEL_MARK (UINT64_C(1) << 63)

// With SIM_LRU and more ways than these, and more than one set, a set's ways are a list.
#define SIM_LEVEL_ORDERED 16u

// How the lines of a level are kept.
enum sim_level_kind {
    // Each set has its tags side by side, and a state. These are for processors of today, with tags
    // of 32 bits: room for so many, and of the tree as many ways.
    SIM_LEVEL_TREE_8, // SIM_PLRU
    SIM_LEVEL_TREE_16,
    SIM_LEVEL_ORDER_8, // SIM_LRU
    SIM_LEVEL_ORDER_16,
    SIM_LEVEL_PREDICTIONS_16, // SIM_SRRIP
    SIM_LEVEL_SETS,           // any other ways, tags of 32 or 64 bits
    // Each set has its tags in order of use, the latest first and the empty ones last; the highest
    // bit of a tag is the mark.
    SIM_LEVEL_LIST,
    SIM_LEVEL_TABLE, // one set of many ways: `recent`, whose keys are the tags
};

// A line's number is (quotient * odd + group) << low_bits | low: `group` and `low` are its set, the
// quotient plus one is its tag. Sets are odd << low_bits. A tag of 0 is an empty way.
//
// Of the first kinds a set's state is one word if there are at most 16 ways and replacement needs
// no more than 32 bits: these, 16 bits for the ways in use, 16 for those with a mark. Else two
// words: the bits of replacement; 32 bits for the ways in use, 32 for the marks. The bits of
// replacement: the order of use, four bits a way; the tree's node n at bit n (the root is 1, the
// children of n are 2n and 2n + 1); or two for each way.
struct sim_level {
    void *tags; // at set * room + way, of 32 or 64 bits; of SIM_LEVEL_TABLE a slot's mark
    uint64_t *state;
    uint32_t sets, assoc, line_shift;
    uint32_t room, tag_bytes, words; // from set to set: tags, and words of state
    uint32_t low_bits, odd;
    uint64_t low_mask;
    enum sim_replacement replacement;
    enum sim_level_kind kind;
    uint32_t away[SIM_LEVEL_WAYS], path[SIM_LEVEL_WAYS]; // of a way: its nodes, and which are 1
    struct sim_recent recent;
};

// A valid geometry (sim_geometry_check_last) that r can have.
bool sim_level_can(const struct sim_geometry *g, enum sim_replacement r);

// Bytes of the storage, a multiple of 8, if no line's number reaches `lines` (UINT64_MAX: any).
size_t sim_level_bytes(const struct sim_geometry *g, enum sim_replacement r, uint64_t lines);

// An empty level in storage of sim_level_bytes() zeroed bytes, the caller's, aligned to 8, better
// to a line of the host's cache.
void sim_level_init_zeroed(struct sim_level *l, const struct sim_geometry *g,
                           enum sim_replacement r, uint64_t lines, void *storage);

// Begins to load what there is about a line into the host's cache.
void sim_level_ahead(const struct sim_level *l, uint64_t line);

enum sim_use {
    SIM_ABSENT, // nothing has changed
    SIM_PRESENT,
    SIM_FIRST_USE, // present and marked; the mark is gone
};
enum sim_use sim_level_use(struct sim_level *l, uint64_t line);

// Whether the line is there. Changes nothing.
bool sim_level_has(const struct sim_level *l, uint64_t line);

// Puts in a line that is not there, as used last; mark: SIM_LEVEL_MARK or 0. Returns the number of
// the line that it replaced, plus one, with its mark; 0: none.
uint64_t sim_level_fill(struct sim_level *l, uint64_t line, uint64_t mark);

// Uses a line or else puts it in, without a mark: *old is what it replaced, or 0.
enum sim_use sim_level_refer(struct sim_level *l, uint64_t line, uint64_t *old);
// The same for those who do not ask what it replaced.
void sim_level_put(struct sim_level *l, uint64_t line);
// Puts it in with a mark unless it is there. True: it was not, and *old is what it replaced.
bool sim_level_load(struct sim_level *l, uint64_t line, uint64_t *old);

// Takes the line out. True if it was there.
bool sim_level_take(struct sim_level *l, uint64_t line);

// The number of a line that was replaced.
static inline uint64_t sim_level_line(uint64_t old)
{
    return (old & ~SIM_LEVEL_MARK) - 1;
}

#endif
