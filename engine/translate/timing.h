// SPDX-License-Identifier: MIT
// How long translations take, for -v.
#ifndef QUERN_ENGINE_TIMING_H
#define QUERN_ENGINE_TIMING_H

#include "engine/base/types.h"

void timing_init(void);

// Around each translation; made: it succeeded, else its time is not counted. @holds(translation
// lock)
u64 timing_begin(void);
void timing_end(u64 begin, bool made);

// The client disables rdtsc for a thread, and thus for the engine: nothing is timed any more.
void timing_forbidden(void);

#endif
