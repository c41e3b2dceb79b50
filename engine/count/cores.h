// SPDX-License-Identifier: MIT
// Each thread's core (sim/core.h): collects what an instruction does, and counts its cycles. Only
// with tb_config.core. Replays call it (replay/interpret.c): begin, the fetch, references and branch
// of the instruction, end.
#ifndef QUERN_ENGINE_CORES_H
#define QUERN_ENGINE_CORES_H

#include "engine/thread/thread.h"

struct record_core;

// A thread begins: a core that has executed nothing. With --serialize-threads all have the same.
void cores_thread_init(struct thread *t);

// An instruction; the one before it ends.
void cores_begin(struct thread *t, const struct record_core *i);
// Its line of code has been fetched.
void cores_fetch(struct thread *t, bool missed);
// A data reference, whose misses are counted at `counter`.
void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed);
// The outcome of its branch.
void cores_branch(struct thread *t, bool taken, bool mispredicted);
// It has been executed, if one has begun.
void cores_end(struct thread *t);

#endif
