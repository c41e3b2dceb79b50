// SPDX-License-Identifier: MIT
// Creates threads: the first one and those of fork.c.
#ifndef QUERN_ENGINE_THREADSTART_H
#define QUERN_ENGINE_THREADSTART_H

#include "engine/thread/thread.h"

// The first thread: thread area, %gs, slot 0, counters, code cache and data of the simulation. All
// signals are blocked; regs and pc are zero.
struct thread *threadstart_main(void);

// A thread block for a child of parent, not yet in the list; NULL: no slot or no memory left. After
// setup_thread(), threadstart_abort undoes everything and removes it from the list.
struct thread *threadstart_new(struct thread *parent);
void threadstart_abort(struct thread *t);

// A new thread calls this first, with all signals blocked: sets %gs, tid and the signal stack.
void threadstart_start(struct thread *t);

#endif
