// SPDX-License-Identifier: MIT
// The client's calls that take descriptors: the engine's own are closed ones to it, whichever
// argument they are.
#ifndef QUERN_ENGINE_DESCRIPTORS_H
#define QUERN_ENGINE_DESCRIPTORS_H

#include "engine/codecache/gate.h"

// In the gate's table: calls that are not slow, but take descriptors.
void descriptors_init(u8 table[GATE_CALLS]);

// Before anybody else looks at call number nr. True: handled, for it names a descriptor of the
// engine's; or does not return, when the kernel is to say so. False: it names none.
bool descriptors_call(struct thread *t, u32 nr);

// For calls of the 32-bit kind (int80.c), which have their arguments in the same order. Bits of the
// arguments of call number nr that are descriptors of the engine's: bit 0 is the first.
u32 descriptors_ours(u32 nr, const u64 args[6]);

// The descriptors are in memory. poll: true, it is made, for one of them is the engine's; a closed
// descriptor is news, and it does not wait. select: one is.
bool descriptors_poll(u64 at, u64 n, long *ret);
bool descriptors_select(s32 below, const u64 sets[3]);

#endif
