// SPDX-License-Identifier: MIT
// --tsc=counted: a thread's time is the number of instructions that it has executed.
#ifndef QUERN_ENGINE_TICKS_H
#define QUERN_ENGINE_TICKS_H

#include "engine/thread/thread.h"

// The calling thread's, between two blocks.
u64 ticks_now(struct thread *t);

// A new thread's time begins at its creator's.
void ticks_thread_init(struct thread *t, struct thread *parent);

#endif
