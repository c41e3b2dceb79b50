// SPDX-License-Identifier: MIT
// When a thread samples which translated code it executes: after 10 ms of its processor time, then
// at intervals that grow by a half each, so samples become rare. STOP_SAMPLE requests one.
#ifndef QUERN_ENGINE_SAMPLER_H
#define QUERN_ENGINE_SAMPLER_H

#include "engine/thread/thread.h"

// Called by the thread itself: when it starts, in a forked child, and when an exec has failed.
// Without a timer (the kernel has no more) it never samples.
void sampler_start(struct thread *t);
// After a sample: arms the timer again.
void sampler_next(struct thread *t);
// It exits, or another program is executed. Any thread may call it.
void sampler_end(struct thread *t);

#endif
