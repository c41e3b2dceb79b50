// SPDX-License-Identifier: MIT
// ptrace of a process that runs under an engine.
#ifndef QUERN_ENGINE_PTRACE_H
#define QUERN_ENGINE_PTRACE_H

#include "engine/thread/thread.h"

// Handles the call (true), or leaves it to the gate.
bool ptrace_call(struct thread *t);

#endif
