// SPDX-License-Identifier: MIT
// System calls of the 32-bit kind. They go to the kernel with the client's registers, but for those
// that would change the process behind the engine's back.
#ifndef QUERN_ENGINE_INT80_H
#define QUERN_ENGINE_INT80_H

#include "engine/thread/thread.h"

// The client is at t->pc, an int $0x80. Does not return when the call is made: it ends in the
// dispatcher. Returns when it was refused, with the result in regs[0] and pc behind it.
void int80_call(struct thread *t);

#endif
