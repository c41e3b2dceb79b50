// SPDX-License-Identifier: MIT
// Client calls that wait for a time, from when they are made. If such a call is interrupted by
// `quern control`, or cut short by a signal of the engine, it is repeated for the remaining time.
// This also holds for calls that return the remaining time (select, ppoll): the kernel's value does
// not include the time of the request.
#ifndef QUERN_ENGINE_WAITS_H
#define QUERN_ENGINE_WAITS_H

#include "engine/thread/thread.h"

// The call nr is about to be made: notes the end of its wait.
void waits_note(struct thread *t, u32 nr);
// The call is repeated: changes its arguments in t->regs to the remaining time.
void waits_shorten(struct thread *t);

#endif
