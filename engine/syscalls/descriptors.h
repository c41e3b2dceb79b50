// SPDX-License-Identifier: MIT
// The client's calls that take descriptors: the engine's own look closed to the client, in every
// argument.
#ifndef QUERN_ENGINE_DESCRIPTORS_H
#define QUERN_ENGINE_DESCRIPTORS_H

#include "engine/codecache/gate.h"

// Marks in the gate's table the fast calls that take descriptors.
void descriptors_init(u8 table[GATE_CALLS]);

// Before all other handlers of call number nr. True: handled, as it names a descriptor of the
// engine. Does not return if the kernel makes the call. False: it names none.
bool descriptors_call(struct thread *t, u32 nr);

// For 32-bit calls (int80.c), which have their arguments in the same order. Which arguments of call
// number nr are descriptors of the engine: bit 0 is the first.
u32 descriptors_ours(u32 nr, const u64 args[6]);

// Calls with descriptors in memory. poll, true: one is the engine's, and the call was made; it does
// not wait, as a closed descriptor is an event. select, true: one is the engine's.
bool descriptors_poll(u64 at, u64 n, long *ret);
bool descriptors_select(s32 below, const u64 sets[3]);

#endif
