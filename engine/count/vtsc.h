// SPDX-License-Identifier: MIT
// --tsc=counted, the virtual TSC: a thread's time is the number of instructions that it has
// executed, and its random numbers are a fixed sequence.
#ifndef QUERN_ENGINE_VTSC_H
#define QUERN_ENGINE_VTSC_H

#include "engine/thread/thread.h"

// The calling thread's time, between two blocks.
u64 vtsc_now(struct thread *t);

// The next number of the thread's sequence, which is the same in every run.
u64 vtsc_random(struct thread *t);

// Called before t's counters become 0: its time goes on from there.
void vtsc_before_clear(struct thread *t);

// A new thread's time starts at its creator's time, and its random sequence follows from its
// creator's.
void vtsc_thread_init(struct thread *t, struct thread *parent);

#endif
