// SPDX-License-Identifier: MIT
//
// The cold part of the branch predictors: reset. See branch.h.
#include "sim/branch.h"

void sim_branch_init(struct sim_branch *b)
{
    for (int i = 0; i < SIM_BRANCH_COUNTERS; i++)
        b->counter[i] = 0;
    for (int i = 0; i < SIM_BRANCH_TARGETS; i++)
        b->target[i] = 0;
    b->history = 0;
}
