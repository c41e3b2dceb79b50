// SPDX-License-Identifier: MIT
// A process dies of a signal, by the signal's default action.
#ifndef QUERN_ENGINE_DIE_H
#define QUERN_ENGINE_DIE_H

#include "engine/thread/thread.h"

// At once, without a profile: for processes that only borrow the memory.
_Noreturn void die_natively(int sig);

// Would the kernel write a core file, or hand one to a program? A pipe takes one in spite of a
// limit of 0.
bool die_leaves_core(int sig);

// Natively, after the profile was written: with the client's registers and, where the signal was
// sent to this thread only or caused by it, the client's own siginfo, for core files and debuggers.
_Noreturn void die_as_client(struct thread *t, int sig);

#endif
