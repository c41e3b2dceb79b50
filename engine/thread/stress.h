// SPDX-License-Identifier: MIT
// --stress: a timer for each thread that pokes it every so many microseconds.
#ifndef QUERN_ENGINE_STRESS_H
#define QUERN_ENGINE_STRESS_H

#include "engine/thread/thread.h"

// By the thread itself, when it begins and in a forked child.
void stress_start(struct thread *t);

// No preemption while the client's call is made.
void stress_pause(struct thread *t);
void stress_resume(struct thread *t);

#endif
