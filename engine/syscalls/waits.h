// SPDX-License-Identifier: MIT
// Client calls that wait for a time, counted from when they are made: one that is broken off for a
// request from outside, or cut short by a signal of the engine's, and made again, waits for the
// rest of it, also those that the kernel tells the rest (select, ppoll): that does not go down
// while the request is answered.
#ifndef QUERN_ENGINE_WAITS_H
#define QUERN_ENGINE_WAITS_H

#include "engine/thread/thread.h"

// The call nr is about to be made: until when it waits.
void waits_note(struct thread *t, u32 nr);
// It is made again: its arguments in t->regs become those of what is left.
void waits_shorten(struct thread *t);

#endif
