// SPDX-License-Identifier: MIT
//
// Inclusive costs of calls in a run whose core timed samples (struct spool_sampling). The costs of
// functions are estimates already (finish/spool/spool_estimate.c); what the windows saw of each
// call says how the cost of a function is shared among those who called it.
#ifndef QUERN_FINISH_CALL_ESTIMATE_H
#define QUERN_FINISH_CALL_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "share/spool.h"

// Cy's causes, then Bcm, Bim and Brm.
#define CALL_ESTIMATES (SPOOL_SAMPLED_CAUSES + SPOOL_SAMPLED_BRANCHES)

#define CALL_ESTIMATE_NOBODY UINT32_MAX

struct call_estimate {
    uint32_t from, to;     // functions; from: CALL_ESTIMATE_NOBODY for what starts without a call
    uint64_t site, target; // addresses: with the functions, they order the calls
    uint64_t insns;        // inclusive, exact
    uint64_t timed;        // instructions for which the windows stand
    uint64_t seen[CALL_ESTIMATES]; // in them: parts of cycles, and mispredictions
    uint64_t cost[CALL_ESTIMATES]; // the result
};

// self: costs of each of `functions` functions. all: the sums of the run, for calls that no window
// saw. Sets the costs of the calls: of a function that is in no recursion, all calls together cost
// what it and its calls do. The functions of a recursion are taken as one; a call among them costs
// what the windows saw, for as many instructions as it had.
void call_estimate(struct call_estimate *call, size_t calls, uint64_t (*self)[CALL_ESTIMATES],
                   size_t functions, const struct spool_sampled *all, uint32_t width);

#endif
