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
#include "sim/level_ops.h"

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
