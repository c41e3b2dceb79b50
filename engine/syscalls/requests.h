// SPDX-License-Identifier: MIT
// Client requests: what a program compiled with valgrind.h, callgrind.h or cachegrind.h asks for.
// The decoder finds the sequence of instructions (x86/decode.c), which ends its block, and the
// dispatcher comes here; a program that makes no request pays nothing.
#ifndef QUERN_ENGINE_REQUESTS_H
#define QUERN_ENGINE_REQUESTS_H

#include "engine/thread/thread.h"

// With the options read, before anything is translated.
void requests_init(void);

// rax points to the request; the answer is put into rdx, which holds what natively is the answer.
// No lock may be held.
void requests_answer(struct thread *t);

#endif
