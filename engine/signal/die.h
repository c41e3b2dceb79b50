// SPDX-License-Identifier: MIT
// A process dies of a signal, by the signal's default action.
#ifndef QUERN_ENGINE_DIE_H
#define QUERN_ENGINE_DIE_H

#include "engine/thread/thread.h"

// Now, without any profile: for processes that only borrow the memory.
_Noreturn void die_natively(int sig);

// Would the kernel write a core file, or hand one to a program? A pipe takes one in spite of a
// limit of 0.
bool die_leaves_core(int sig);

// Natively, when the profile is written: with the client's registers and, where it was sent to this
// thread alone or caused by it, the client's own siginfo, so that a core file or a debugger sees
// the client.
_Noreturn void die_as_client(struct thread *t, int sig);

#endif
