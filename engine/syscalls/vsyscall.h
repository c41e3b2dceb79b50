// SPDX-License-Identifier: MIT
// The three entries of the vsyscall page (gettimeofday, time, getcpu): the page may be
// execute-only, so it cannot be translated. A call there becomes a system call with an emulated
// return. The dispatcher calls this before it translates.
#ifndef QUERN_ENGINE_VSYSCALL_H
#define QUERN_ENGINE_VSYSCALL_H

#include "engine/thread/thread.h"

#define VSYSCALL_PAGE 0xffffffffff600000ul

// If t->pc is one of the three addresses: makes the call, returns from it in t, and returns true.
// If the stack cannot be read, notes a fault instead (also true).
bool vsyscall_try(struct thread *t);

#endif
