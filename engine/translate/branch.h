// SPDX-License-Identifier: MIT
// Which indirect branches are predicted, and how the predictor is told of them; for code that
// simulates and for code that records.
#ifndef QUERN_ENGINE_BRANCH_H
#define QUERN_ENGINE_BRANCH_H

#include "engine/emit/tb.h"

// Whether it is an indirect branch that is predicted: with a predictor of today returns are, too.
bool branch_is_indirect(const struct insn *in);
// Of such a branch, and with tb_config.predictor of a direct call: what caches_indirect() takes.
u64 branch_word(const struct insn *in);
// The counter of its mispredictions.
u32 branch_counter(const struct tb *b, u32 i);

#endif
