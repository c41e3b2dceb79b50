// SPDX-License-Identifier: MIT
// --calls=yes: the code emitted for calls, returns and jumps between functions. Without it these
// functions do nothing.
#ifndef QUERN_ENGINE_TRANSLATE_CALLS_H
#define QUERN_ENGINE_TRANSLATE_CALLS_H

#include "engine/emit/tb.h"

// Adds the block's static counts to the thread's totals. `free`: every arithmetic flag is free.
void calls_emit_totals(struct tb *b, bool free);

// After the push of the return address of instruction i, a direct call.
void calls_emit_call(struct tb *b, u32 i);
// A call through register or memory, such a jump, a return: the target is in rcx, which has been
// spilled, before and after.
void calls_emit_call_to(struct tb *b, u32 i);
void calls_emit_jump_to(struct tb *b, u32 i);
void calls_emit_return(struct tb *b, u32 i);

// Whether control that goes to target leaves the function.
bool calls_emit_leaves(const struct tb *b, u64 target);
// Notes what most likely follows the record that ends with instruction i (RECORD_ENTER,
// RECORD_LEAVE).
void calls_expect(struct tb *b, u32 i);
// Control goes from instruction i to target, perhaps to another function.
void calls_emit_jump(struct tb *b, u32 i, u64 target);
// The same for a direct jump, which --collect-jumps=yes counts.
void calls_emit_goto(struct tb *b, u32 i);
// With --collect-jumps=yes: a conditional jump is taken.
void calls_emit_followed(struct tb *b, u32 i);

// Before an instruction that may set the stack pointer to a value that does not follow from the old
// one. The end of the block corrects the frames.
void calls_emit_stack_set(struct tb *b, const struct insn *in);

// Counts a misprediction, in a cold part where the flags are free.
void calls_emit_miss(struct tb *b, u32 counter);

// COLD_CALLS.
void calls_emit_cold(struct tb *b, const struct cold *c);

#endif
