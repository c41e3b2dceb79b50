// SPDX-License-Identifier: MIT
// The dispatcher: from "client state in the thread block" to translated code and back.
#ifndef QUERN_ENGINE_DISPATCH_H
#define QUERN_ENGINE_DISPATCH_H

#include "engine/thread/thread.h"

// Continues the client at t->pc with t->regs and t->rflags. Delivers what is pending, parks when stopped, translates when
// needed. Runs on the engine stack of t from its top: whoever calls it gives up its own frames. t->state is TS_ENGINE.
_Noreturn void dispatch_run(struct thread *t);

// The same, entered from a signal handler: put this address into the interrupted context's rip (with rsp = t->engine_sp - 8,
// and the signal mask all-blocked), return from the handler, and dispatch_run(t) follows with the FPU state as it was interrupted.
extern const char dispatch_resume[];

// The same for a thread whose system call in the gate has completed (TCACHE_GATE_AFTER): regs[0] is the result. Runs
// syscalls_done(t) when sc_post is set.
extern const char dispatch_syscall_done[];

// Makes the client's system call from C through the gate: loads the client's registers from t->regs, makes the call with
// signals open (the handler classifies by pc), then calls syscalls_done(t). t->pc must be the address of the client's syscall
// instruction and t->sc_next the one behind it.
_Noreturn void dispatch_gate(struct thread *t);

#endif
