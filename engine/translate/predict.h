// SPDX-License-Identifier: MIT
// The branch predictor in translated code.
#ifndef QUERN_ENGINE_PREDICT_H
#define QUERN_ENGINE_PREDICT_H

#include "engine/emit/tb.h"

// Instruction i is a conditional branch, taken or not.
void predict_edge(struct tb *b, u32 i, bool taken);
// Instruction i is an indirect branch, or a return; the target is in rcx, which has been spilled.
void predict_indirect(struct tb *b, u32 i);
// Instruction i is a direct call.
void predict_call(struct tb *b, u32 i);
// COLD_BC and COLD_BI.
void predict_cold(struct tb *b, const struct cold *c);

#endif
