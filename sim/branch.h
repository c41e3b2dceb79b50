// SPDX-License-Identifier: MIT
//
// The branch predictors of a machine of 2004, as Cachegrind simulates them: conditional branches by
// two-bit counters indexed by global history and address, indirect ones by the last target seen at
// an address. Returns and direct jumps count as predicted; they do not come here.
//
// Pure arithmetic, as cache.h: no I/O, no globals, no allocation, no libc. Called by the engine for
// every branch and by the tests. An all-zero struct sim_branch is the initial state, so fresh
// memory needs no initialisation.
#ifndef QUERN_SIM_BRANCH_H
#define QUERN_SIM_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_BRANCH_HISTORY_BITS 7
#define SIM_BRANCH_ADDR_BITS    7
#define SIM_BRANCH_COUNTERS     (1 << (SIM_BRANCH_HISTORY_BITS + SIM_BRANCH_ADDR_BITS)) // 16384
#define SIM_BRANCH_TARGETS      512

struct sim_branch {
    uint8_t counter[SIM_BRANCH_COUNTERS]; // 0 and 1 predict not taken, 2 and 3 taken
    uint64_t target[SIM_BRANCH_TARGETS];
    uint64_t history; // the last outcomes, the latest in bit 0; only the low 7 bits are ever set
};

// The conditional branch at addr was taken or not; true if it was mispredicted. @hot
static inline bool sim_branch_cond(struct sim_branch *b, uint64_t addr, bool taken)
{
    uint8_t *counter = &b->counter[b->history << SIM_BRANCH_ADDR_BITS |
                                   (addr & ((1 << SIM_BRANCH_ADDR_BITS) - 1))];
    bool predicted = *counter >= 2;

    if (taken && *counter < 3)
        ++*counter;
    else if (!taken && *counter > 0)
        --*counter;
    b->history = (b->history << 1 | taken) & ((1 << SIM_BRANCH_HISTORY_BITS) - 1);
    return predicted != taken;
}

// The indirect call or jump at addr went to target; true if it was mispredicted. @hot
static inline bool sim_branch_indirect(struct sim_branch *b, uint64_t addr, uint64_t target)
{
    uint64_t *last = &b->target[addr & (SIM_BRANCH_TARGETS - 1)];
    bool miss = *last != target;

    *last = target;
    return miss;
}

// Resets all state.
void sim_branch_init(struct sim_branch *b);

#endif
