// SPDX-License-Identifier: MIT
// --tsc=counted: a thread's time is the number of instructions that it has executed, and its random
// numbers are none.
#ifndef QUERN_ENGINE_VTSC_H
#define QUERN_ENGINE_VTSC_H

#include "engine/thread/thread.h"

// The calling thread's, between two blocks.
u64 vtsc_now(struct thread *t);

// The next number of the thread's sequence, which is the same in every run.
u64 vtsc_random(struct thread *t);

// t's counters are about to become 0: its time goes on.
void vtsc_keep(struct thread *t);

// A new thread's time begins at its creator's, and its sequence follows from that one's.
void vtsc_thread_init(struct thread *t, struct thread *parent);

#endif
