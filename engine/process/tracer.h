// SPDX-License-Identifier: MIT
// Debuggers: whether one looks at this process.
#ifndef QUERN_ENGINE_TRACER_H
#define QUERN_ENGINE_TRACER_H

#include "engine/base/types.h"

// At start, once the spool is mapped.
void tracer_init(void);

// Does anything trace this process? It would see an exec of the finisher.
bool tracer_is_there(void);

// A debugger plants breakpoints in the text of its child, which the engine does not execute. One
// that has been there from the start looks at the engine.
bool tracer_is_debugger(void);

#endif
