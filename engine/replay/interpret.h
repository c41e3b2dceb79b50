// SPDX-License-Identifier: MIT
// Single references of a record, made now.
#ifndef QUERN_ENGINE_INTERPRET_H
#define QUERN_ENGINE_INTERPRET_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// A value of a record, which began with the stack pointer sp: what a slot holds.
u64 interpret_value(u64 sp, u32 slot, const u64 *record);
// slot: the record. undone: of an instruction that came to nothing, for --trace-refs.
void interpret_op(struct thread *t, const struct record_op *o, const u64 *slot, bool undone);
// An indirect branch; and a superblock's at a joint, where it went.
void interpret_indirect(struct thread *t, u64 branch, u64 target, u32 counter);
void interpret_joint(struct thread *t, const struct record_op *o, bool taken, u64 target);
// A data reference, and the fetch of an instruction that lies in one line, with their counters.
void interpret_d1(struct thread *t, u32 counter, u32 size, u64 addr);
void interpret_i1(struct thread *t, u32 counter, u32 id, u64 pc);

// All of a record, but for a conditional branch that it ends in: returns where it ends.
const u64 *interpret_record(struct thread *t, const u64 *record);

// If it is not known yet how the branch before a record ended: that is what comes first. Where the
// record begins, behind a word that says it.
const u64 *interpret_branch(struct thread *t, const u64 *record);
// It went on at pc.
void interpret_came(struct thread *t, u64 pc);

#endif
