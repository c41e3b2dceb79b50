// SPDX-License-Identifier: MIT
// Instructions that the engine executes in the processor's place: with --cpu those that report
// features of the processor, with --tsc=counted those whose result differs between runs; always
// loads of %gs and branches that name the program's own code segment.
#ifndef QUERN_ENGINE_EMULATE_H
#define QUERN_ENGINE_EMULATE_H

#include "engine/thread/thread.h"

// With the options read, after the decoder is ready.
void emulate_init(void);

// Executes the instruction at t->pc if it is one of these; false: the processor has to.
bool emulate_insn(struct thread *t);

#endif
