// SPDX-License-Identifier: MIT
// Instructions that the engine executes in the processor's place: with --cpu those that say what
// the processor can do, with --tsc=counted those that would answer otherwise in every run; always
// loads of %gs and branches that name the program's own code segment.
#ifndef QUERN_ENGINE_EMULATE_H
#define QUERN_ENGINE_EMULATE_H

#include "engine/thread/thread.h"

// With the options read, after the decoder is ready.
void emulate_init(void);

// The instruction at t->pc, if it is one of these; false: it is for the processor.
bool emulate_insn(struct thread *t);

#endif
