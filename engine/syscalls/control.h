// SPDX-License-Identifier: MIT
// Requests by `quern control`: write a part of the profile, zero the counts, switch counting on and
// off, end the program. The request is in the spool (struct spool_control); a signal makes a thread
// read it. A call of the client that the signal interrupts is made again: to the client it only
// takes longer.
#ifndef QUERN_ENGINE_CONTROL_H
#define QUERN_ENGINE_CONTROL_H

#include "engine/thread/threads.h"

// After the spool is mapped.
void control_init(void);

// With --dump-every-bb: the thread is about to execute a block. No lock may be held.
// control_block_is(): which block it is. If the thread returns before the block has started, the
// block does not count.
void control_block(struct thread *t);
void control_block_is(struct thread *t, u32 counter);

// Checks STOP_CONTROL and serves the request, if no other thread does. No lock may be held.
void control_see(struct thread *t);

enum control_call {
    CONTROL_AGAIN, // repeat it by gate_restart(); signals are unblocked in the kernel
    CONTROL_ANEW,  // deliver a signal first, then execute the client's instruction again
    CONTROL_OVER,  // it ends with the result in regs[0]: interrupted by a handler, or complete
};

// How a thread's interrupted or cut call goes on (thread_own.again).
enum control_call control_call(struct thread *t);

#endif
