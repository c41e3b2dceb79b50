// SPDX-License-Identifier: MIT
// What is asked of the program from outside, by quern control: a part of the profile, zero,
// counting on and off, its end. The request lies in the spool (struct spool_control); a signal
// makes a thread look at it. A call of the client that this breaks off is made again, and the
// client sees nothing of it but that it was late.
#ifndef QUERN_ENGINE_CONTROL_H
#define QUERN_ENGINE_CONTROL_H

#include "engine/thread/threads.h"

// With the spool mapped.
void control_init(void);

// With --dump-every-bb: the thread is about to execute a block. No lock may be held. And which it
// is: when it is led back before the block has begun, that does not count.
void control_block(struct thread *t);
void control_block_is(struct thread *t, u32 counter);

// Looks at STOP_CONTROL and does what is asked, if no other thread does. No lock may be held.
void control_see(struct thread *t);

enum control_call {
    CONTROL_AGAIN, // by gate_again(); the kernel's mask is open
    CONTROL_ANEW,  // a handler comes first, then the client's instruction once more
    CONTROL_OVER,  // it ends with what is in regs[0]: a handler has broken it off, or all is done
};

// How the call of a thread goes on that was broken off or cut short (thread_own.again).
enum control_call control_call(struct thread *t);

#endif
