// SPDX-License-Identifier: MIT
// The client's memory calls.
#ifndef QUERN_ENGINE_MEMORY_H
#define QUERN_ENGINE_MEMORY_H

#include "engine/thread/thread.h"

// brk: start of the client's break if it must be emulated because the kernel's could not be set;
// else 0. top: the engine chooses addresses below it (--reproducible); 0: the kernel chooses.
void memory_init(u64 brk, u64 top);

// Handles call number nr (true), or leaves it to the gate.
bool memory_call(struct thread *t, u32 nr);

#endif
