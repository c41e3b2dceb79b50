// SPDX-License-Identifier: MIT
// Delivering what is noted, and noting the faults that C code finds out about.
#ifndef QUERN_ENGINE_DELIVER_H
#define QUERN_ENGINE_DELIVER_H

#include "engine/signal/state.h"

// Called by the dispatcher while t->stop is set, in a loop: parks when the world stops, delivers
// what is noted and allowed, opens the mask. After it t->pc and t->regs are where the client goes
// on. Returns 0; or the signal that the process dies of, since the client has no handler for it:
// then the mask is still closed.
int deliver_pending(struct thread *t);

// The client's instruction at t->pc faults (or traps): notes a synchronous signal, which is
// delivered next. SIGSEGV for a fetch: code 1 (unmapped) or 2 (not allowed), addr = first byte that
// cannot be fetched, trapno 14, err 0x14 or 0x15.
void deliver_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err);

// A call through the gate was interrupted before it was made, or is complete: argument registers
// and mask as the client has them. @signal-safe
void deliver_call_over(struct thread *t);

#endif
