// SPDX-License-Identifier: MIT
// 32-bit system calls. They go to the kernel with the client's registers, except those that would
// change the process without the engine's knowledge.
#ifndef QUERN_ENGINE_INT80_H
#define QUERN_ENGINE_INT80_H

#include "engine/thread/thread.h"

// The client is at t->pc, an int $0x80. If the call is made, does not return: it ends in the
// dispatcher. If it is refused, returns with the result in regs[0] and pc after the instruction.
void int80_call(struct thread *t);

#endif
