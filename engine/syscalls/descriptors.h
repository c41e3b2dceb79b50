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

#endif
