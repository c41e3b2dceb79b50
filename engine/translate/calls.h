// SPDX-License-Identifier: MIT
// --calls=yes: the code emitted for calls, returns and jumps between functions. Without it these
// functions do nothing.
#ifndef QUERN_ENGINE_TRANSLATE_CALLS_H
#define QUERN_ENGINE_TRANSLATE_CALLS_H

#include "engine/emit/tb.h"

// Adds the static counts of the fragment's first `blocks` to the thread's totals, except those that
// have been added (b->summed). `free`: every arithmetic flag is free; avoid: registers not to use.
void calls_emit_totals(struct tb *b, u32 blocks, bool free, u32 avoid);

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

// Whether a superblock may go on at next after the blocks that b has.
bool calls_can_join(const struct tb *b, u64 next);
// At a joint of a superblock, an indirect branch or a return, instruction i: before its target, in
// rcx, is compared with `next`, where the superblock goes on; and when rcx, their difference, is 0.
// side: a jump out of the superblock, in the state that is between the two. Leaves by it, too, if
// the call graph has to be asked in C.
void calls_begin_joint(struct tb *b, u32 i);
void calls_emit_joint(struct tb *b, u32 i, u64 next, u64 side);
// In the cold part of a side, by instruction i: as at the end of a fragment. target: of a
// conditional branch; of an indirect one it is in rcx.
void calls_emit_side(struct tb *b, u32 i, u64 target);

// COLD_CALLS.
void calls_emit_cold(struct tb *b, const struct cold *c);

#endif
