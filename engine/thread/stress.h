// SPDX-License-Identifier: MIT
// --stress: a timer for each thread that kicks it every so many microseconds.
#ifndef QUERN_ENGINE_STRESS_H
#define QUERN_ENGINE_STRESS_H

#include "engine/thread/thread.h"

// Called by the thread itself, when it starts and in a forked child.
void stress_start(struct thread *t);

// No preemption while the client's call is made.
void stress_pause(struct thread *t);
void stress_resume(struct thread *t);

#endif
