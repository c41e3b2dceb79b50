// SPDX-License-Identifier: MIT
// When a thread that runs translated code is to look at what it executes: after 10 ms of its
// processor time, and then each time after half as much again, so that it is seldom. STOP_LOOK says
// so.
#ifndef QUERN_ENGINE_LOOKS_H
#define QUERN_ENGINE_LOOKS_H

#include "engine/thread/thread.h"

// By the thread itself, when it begins, in a forked child, and when an exec has failed. Without a
// timer (the kernel has no more) it never looks.
void looks_start(struct thread *t);
// It has looked.
void looks_next(struct thread *t);
// It ends, or another program is executed. By anyone.
void looks_end(struct thread *t);

#endif
