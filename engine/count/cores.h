// SPDX-License-Identifier: MIT
// Each thread's core (sim/core.h): collects what an instruction does, and counts its cycles. Only
// with tb_config.core. Replays call it (replay/interpret.c): begin, the fetch, references and
// branch of the instruction, end.
#ifndef QUERN_ENGINE_CORES_H
#define QUERN_ENGINE_CORES_H

#include "engine/thread/thread.h"
#include "sim/core.h"

// What is known of an instruction before it is executed. Records have one for each of theirs, to
// which the ops with its number belong (replay/record.h).
struct cores_insn {
    u64 pc;
    u32 counter; // of its cycles
    u32 writes; // first counter of writes; ~0u: what it writes counts as read, or it writes nothing
    struct core_op op;
    u8 insn; // number
};

// A thread begins: a core that has executed nothing. With --serialize-threads all have the same.
void cores_thread_init(struct thread *t);

// An instruction; the one before it ends.
void cores_begin(struct thread *t, const struct cores_insn *i);
// Its line of code has been fetched.
void cores_fetch(struct thread *t, bool missed);
// A data reference, whose misses are counted at `counter`.
void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed);
// The outcome of its branch.
void cores_branch(struct thread *t, bool taken, bool mispredicted);
// It has been executed, if one has begun.
void cores_end(struct thread *t);

#endif
