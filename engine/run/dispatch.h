// SPDX-License-Identifier: MIT
// The dispatcher: from "client state in the thread block" to translated code and back.
#ifndef QUERN_ENGINE_DISPATCH_H
#define QUERN_ENGINE_DISPATCH_H

#include "engine/codecache/stubs.h"
#include "engine/thread/thread.h"

// Continues the client at t->pc with t->regs and t->rflags. Delivers pending signals, parks when
// stopped, translates when needed. Runs on the engine stack of t from its top: the caller's frames
// are never returned to. t->state is TS_ENGINE.
_Noreturn void dispatch_run(struct thread *t);

// The functions that the stubs call, for tcache_init().
extern const void *const dispatch_calls[STUB_COUNT];

// Hands the entries to reentry.h. Before the first thread.
void dispatch_init(void);

#endif
