// SPDX-License-Identifier: MIT
// Delivers noted signals, and notes the faults that C code detects.
#ifndef QUERN_ENGINE_DELIVER_H
#define QUERN_ENGINE_DELIVER_H

#include "engine/signal/state.h"

// The dispatcher calls it in a loop while t->stop is set: parks when the world stops, delivers
// noted signals that are not blocked, opens the mask. The client then continues with t->pc and
// t->regs. Returns 0; or the signal that the process dies of, because the client has no handler for
// it: then the mask is still closed.
int deliver_pending(struct thread *t);

// The client's instruction at t->pc faults (or traps): notes a synchronous signal, which is
// delivered next. SIGSEGV for a fetch: code 1 (unmapped) or 2 (not allowed), addr = first byte that
// cannot be fetched, trapno 14, err 0x14 or 0x15.
void deliver_fault(struct thread *t, int sig, int code, u64 addr, u64 trapno, u64 err);

// A call through the gate was interrupted before it was made, or is complete: restores the client's
// argument registers and mask. @signal-safe
void deliver_call_over(struct thread *t);

#endif
