// SPDX-License-Identifier: MIT
// The client's memory calls.
#ifndef QUERN_ENGINE_MEMORY_H
#define QUERN_ENGINE_MEMORY_H

#include "engine/thread/thread.h"

// brk: where the client's break starts when the kernel could not be told so and it must be
// emulated; else 0. top: below it the engine chooses addresses (--reproducible); 0: the kernel
// does.
void memory_init(u64 brk, u64 top);

// Handles call number nr (true), or leaves it to the gate.
bool memory_call(struct thread *t, u32 nr);

#endif
