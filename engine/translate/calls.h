// SPDX-License-Identifier: MIT
// --calls=yes: what calls, returns and jumps between functions are made of in translated code.
// Does nothing without it.
#ifndef QUERN_ENGINE_TRANSLATE_CALLS_H
#define QUERN_ENGINE_TRANSLATE_CALLS_H

#include "engine/emit/tb.h"

// The thread's totals grow by what the block does. `free`: every arithmetic flag is.
void calls_emit_totals(struct tb *b, bool free);

// Behind the push of the return address of instruction i, a direct call.
void calls_emit_call(struct tb *b, u32 i);
// The same through register or memory, and a jump, a return: the target is in rcx, which has been
// spilled, and is there again.
void calls_emit_call_to(struct tb *b, u32 i);
void calls_emit_jump_to(struct tb *b, u32 i);
void calls_emit_return(struct tb *b, u32 i);

// Whether control that goes from instruction i to target leaves the function; and that it does now.
bool calls_emit_leaves(const struct tb *b, u64 target);
// What will most likely follow the record that ends with instruction i (RECORD_ENTER, RECORD_LEAVE).
void calls_expect(struct tb *b, u32 i);
void calls_emit_jump(struct tb *b, u32 i, u64 target);
// The same of a jump, wherever it leads.
void calls_emit_goto(struct tb *b, u32 i);
// With --collect-jumps=yes: a conditional jump is followed.
void calls_emit_followed(struct tb *b, u32 i);

// Before an instruction that may set the stack pointer to something that does not follow from where
// it was. Frames are put right at the end of the block.
void calls_emit_stack_set(struct tb *b, const struct insn *in);

// A misprediction, in a cold part where the flags are free.
void calls_emit_miss(struct tb *b, u32 counter);

// COLD_CALLS.
void calls_emit_cold(struct tb *b, const struct cold *c);

#endif
