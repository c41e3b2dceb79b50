// SPDX-License-Identifier: MIT
// --replay: translated code that records (replay/recordbuf.h). Client r11 is given away: it holds t->log,
// where the fragment's record begins, and behind the record once that is complete; the client's is
// in its slot, and changes places with t->log around the instructions that use it.
#ifndef QUERN_ENGINE_RECORDING_H
#define QUERN_ENGINE_RECORDING_H

#include "engine/emit/tb.h"

// A fragment begins: before its first byte; and its record, behind the self-check.
void recording_begin(struct tb *b);
void recording_open(struct tb *b);

// Instead of refs_insn().
void recording_insn(struct tb *b, u32 i);
// Instead of refs_string(), of a rep instruction.
void recording_string(struct tb *b, u32 i);

// Nothing of the block can fault any more but instruction i, or nothing (b->n), and only what
// recording_target() stores is missing.
void recording_close(struct tb *b, u32 i);
// A branch at which a superblock goes on at `next`, which is where it is taken to, or not. Returns
// the number of the side where it does not; and what the record is then.
u32 recording_joint(struct tb *b, u32 i, bool taken, u64 next);
void recording_side(struct tb *b, u32 side);
// Behind a record: a word (RECORD_TAKEN, RECORD_NOT_TAKEN), and what becomes of a frame, whose address is
// in a register: it was made; it has ended, with its edge's counter in another one, which changes:
// it is the counter `first` behind it from which on the edge's grow. Nothing without --replay.
void recording_word(struct tb *b, u32 word);
// What is called next may put words there, too. Returns where it is to come back to in place of
// `back`.
u64 recording_lend(struct tb *b, u64 back);
void recording_entered(struct tb *b, u32 frame);
void recording_left(struct tb *b, u32 frame, u32 counter, u32 first);

// An indirect branch's target is in rcx, which has been spilled.
void recording_target(struct tb *b);
// And it has a slot, the last.
void recording_target_is(struct tb *b);

#endif
