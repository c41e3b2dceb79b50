// SPDX-License-Identifier: MIT
// Client requests of programs compiled with valgrind.h, callgrind.h or cachegrind.h. The decoder
// finds the sequence of instructions (x86/decode.c), which ends its block, and the dispatcher comes
// here. A program without requests pays nothing.
#ifndef QUERN_ENGINE_REQUESTS_H
#define QUERN_ENGINE_REQUESTS_H

#include "engine/thread/thread.h"

// After the options are read, before anything is translated.
void requests_init(void);

// rax points to the request. Sets the result in rdx, which holds the native result. No lock may be
// held.
void requests_answer(struct thread *t);

#endif
