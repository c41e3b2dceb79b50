// SPDX-License-Identifier: MIT
// The beginning of a thread, the first one and those of fork.c.
#ifndef QUERN_ENGINE_THREADSTART_H
#define QUERN_ENGINE_THREADSTART_H

#include "engine/thread/thread.h"

// The first thread: area, %gs, slot 0, counters, code cache and profiler data. Everything is
// blocked; regs and pc are zero.
struct thread *threadstart_main(void);

// A block for a child of parent, not yet in the list; NULL: no slot or no memory left. Once its
// signal state is made, threadstart_abort takes all of it back, from the list, too.
struct thread *threadstart_new(struct thread *parent);
void threadstart_abort(struct thread *t);

// The first thing that a new thread does, with everything blocked: %gs, tid, the kernel's signal
// stack.
void threadstart_start(struct thread *t);

#endif
