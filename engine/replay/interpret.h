// SPDX-License-Identifier: MIT
// Interprets records: simulates their references one by one.
#ifndef QUERN_ENGINE_INTERPRET_H
#define QUERN_ENGINE_INTERPRET_H

#include "engine/callgraph/frames.h"
#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// The value of a slot of a record, which began with the stack pointer sp.
u64 interpret_value(u64 sp, u32 slot, const u64 *record);
// One op. slot: the record. undone: the instruction did not complete; for --trace-refs.
void interpret_op(struct thread *t, const struct record_op *o, const u64 *slot, bool undone);
// A frame of the call graph has changed.
void interpret_frame(struct thread *t, enum frames_late what, u32 frame, u32 counter);
// An indirect branch; and one at a joint of a superblock.
void interpret_indirect(struct thread *t, u64 branch, u64 target, u32 counter);
void interpret_joint(struct thread *t, const struct record_op *o, bool taken, u64 target);
// A data reference; the fetch of an instruction within one line; with their counters.
void interpret_d1(struct thread *t, u32 counter, u32 size, u64 addr);
void interpret_i1(struct thread *t, u32 counter, u32 id, u64 pc);
// With tb_config.predictor: the branch at pc.
void interpret_cond(struct thread *t, u32 counter, u32 taken, u64 pc);
void interpret_target(struct thread *t, u32 counter, u64 pc, u64 target);

// In CORES_LEARN: the fetch o.
void interpret_learn_fetch(struct thread *t, const struct record_op *o);

// With a core: the instructions of a record below `end`, with those of its first nops ops that are
// theirs. The last one is timed when the next one begins, or by cores_end().
void interpret_timed(struct thread *t, const struct record_block *b, u32 nops, u32 end,
                     const u64 *record);

// With a core: the number of instructions of a record with so many ops.
u32 interpret_insns(const struct record_block *b, u32 nops);

// All of a record except a conditional branch at its end. Returns the record's end.
const u64 *interpret_record(struct thread *t, const u64 *record);

// Simulates the branch at the end of the previous record, if its outcome was not known yet:
// `record` tells it. Returns the record, after a word that only tells the outcome.
const u64 *interpret_branch(struct thread *t, const u64 *record);
// Execution continued at pc.
void interpret_came(struct thread *t, u64 pc);

#endif
