// SPDX-License-Identifier: MIT
// --replay: translated code that records (replay/recordbuf.h). r11 holds t->record_at: it points to
// the start of the fragment's record, and behind the record once that is complete. The client's r11
// is in its slot, and is swapped with t->record_at around the instructions that use it.
#ifndef QUERN_ENGINE_RECORDING_H
#define QUERN_ENGINE_RECORDING_H

#include "engine/emit/tb.h"

// Begins a fragment, before its first byte; begins its record, after the self-check.
void recording_begin(struct tb *b);
void recording_open(struct tb *b);

// Replaces refs_insn().
void recording_insn(struct tb *b, u32 i);
// Replaces refs_string() for a rep instruction.
void recording_string(struct tb *b, u32 i);

// Ends the record: only instruction i of the block can still fault, or none (i == b->n), and only
// the word of recording_target() is missing.
void recording_close(struct tb *b, u32 i);
// Branch i, after which a superblock continues at `next`: the taken way or the other one. Returns
// the number of the side, where control leaves the superblock.
u32 recording_joint(struct tb *b, u32 i, bool taken, u64 next);
// In the cold part of a side: ends the record there.
void recording_side(struct tb *b, u32 side);
// The functions from here to recording_left() store words behind a record, with --replay only.
// This word is RECORD_TAKEN or RECORD_NOT_TAKEN.
void recording_word(struct tb *b, u32 word);
// The helper that is called next may store words, too. Returns the address where it must come back
// in place of `back`.
u64 recording_lend(struct tb *b, u64 back);
// The frame at the address in register `frame` was made.
void recording_entered(struct tb *b, u32 frame);
// That frame has ended. Register `counter` holds its edge's counter and is changed: the counters
// that grow begin `first` further on.
void recording_left(struct tb *b, u32 frame, u32 counter, u32 first);

// The same two for a change within a superblock, by its instruction i: they are a part of its
// record.
void recording_entered_within(struct tb *b, u32 i, u32 frame);
void recording_left_within(struct tb *b, u32 i, u32 frame, u32 counter, u32 first);

// An indirect branch's target is in rcx, which has been spilled: stores it, if it is predicted.
void recording_target(struct tb *b);
// Stores it to the record's last slot.
void recording_target_is(struct tb *b);

#endif
