// SPDX-License-Identifier: MIT
// The beginning of a thread, the first one and those of fork.c.
#ifndef QUERN_ENGINE_BIRTH_H
#define QUERN_ENGINE_BIRTH_H

#include "engine/thread/thread.h"

// The first thread: area, %gs, slot 0, counters, code cache and profiler data. Everything is
// blocked; regs and pc are zero.
struct thread *birth_main(void);

// A block for a child of parent, not yet in the list; NULL: no slot or no memory left. Once its
// signal state is made, birth_abort takes all of it back, from the list, too.
struct thread *birth_new(struct thread *parent);
void birth_abort(struct thread *t);

// The first thing that a new thread does, with everything blocked: %gs, tid, the kernel's signal
// stack.
void birth_start(struct thread *t);

#endif
