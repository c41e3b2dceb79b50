// SPDX-License-Identifier: MIT
// When a thread that runs translated code is to look at what it executes: after 10 ms of its
// processor time, and then each time after half as much again, so that it is seldom. STOP_LOOK says
// so.
#ifndef QUERN_ENGINE_SAMPLER_H
#define QUERN_ENGINE_SAMPLER_H

#include "engine/thread/thread.h"

// By the thread itself, when it begins, in a forked child, and when an exec has failed. Without a
// timer (the kernel has no more) it never looks.
void sampler_start(struct thread *t);
// It has looked.
void sampler_next(struct thread *t);
// It ends, or another program is executed. By anyone.
void sampler_end(struct thread *t);

#endif
