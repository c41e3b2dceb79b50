// SPDX-License-Identifier: MIT
//
// Which counters are of one instruction. It may be in several blocks, as the first time that a loop
// is executed, and has counters in each of them: it is known by the first one. For what is learnt
// of an instruction: walks through objects (objects/walks.h), lines that are loaded ahead
// (sim/regions.h).
#ifndef QUERN_ENGINE_INSNIDS_H
#define QUERN_ENGINE_INSNIDS_H

#include "engine/base/types.h"

// Called once, if either is asked for. Before it, each counter is of an instruction of its own.
void insnids_init(void);

// An instruction that has a number of its own reads or writes, and misses are counted there.
// @holds(the translation lock)
void insnids_note(u64 number, u32 counter);
bool insnids_on(void);

// The first counter of the instruction. @signal-safe
u32 insnids_first(u32 counter);

#endif
