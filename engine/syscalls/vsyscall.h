// SPDX-License-Identifier: MIT
// The three entries of the vsyscall page (gettimeofday, time, getcpu): the page may be
// execute-only, so it cannot be translated. A call there is done as a system call, with an emulated
// return. Called by the dispatcher before it translates.
#ifndef QUERN_ENGINE_VSYSCALL_H
#define QUERN_ENGINE_VSYSCALL_H

#include "engine/thread/thread.h"

#define VSYSCALL_PAGE 0xffffffffff600000ul

// t->pc is one of the three addresses: does the call, returns from it in t, and says true. When the
// stack cannot be read a fault is noted instead (also true).
bool vsyscall_try(struct thread *t);

#endif
