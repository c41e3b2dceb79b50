// SPDX-License-Identifier: MIT
// Whether a debugger traces this process.
#ifndef QUERN_ENGINE_TRACER_H
#define QUERN_ENGINE_TRACER_H

#include "engine/base/types.h"

// At start, once the spool is mapped.
void tracer_init(void);

// Does anything trace this process? A tracer would see the exec of the finisher.
bool tracer_is_there(void);

// Is there a tracer that was not there at the start? A debugger sets breakpoints in the text of its
// child, which the engine does not execute. A tracer from the start debugs the engine itself.
bool tracer_is_debugger(void);

#endif
