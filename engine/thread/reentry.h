// SPDX-License-Identifier: MIT
// The way back to the dispatcher from below it: from births, signals, execs and calls that are made
// anew. The dispatcher hands its entries over at start, so that nothing here names it.
#ifndef QUERN_ENGINE_REENTRY_H
#define QUERN_ENGINE_REENTRY_H

#include "engine/thread/thread.h"

// dispatch_run(), dispatch_syscall_finished(), set by dispatch_init().
extern void (*reentry_run)(struct thread *t);
extern void (*reentry_finished)(struct thread *t);
// dispatch_control()
extern void (*reentry_control)(struct thread *t);

// Continues the client at t->pc with t->regs and t->rflags: delivers what is pending, parks when
// stopped, translates when needed. Runs on the engine stack of t from where it is called; its
// caller's frames are given up.
static inline _Noreturn void reentry_continue(struct thread *t)
{
    reentry_run(t);
    __builtin_unreachable();
}

// loop.S: the same, entered from a signal handler: put this address into the interrupted context's
// rip (with rsp = t->engine_sp - 8, and the signal mask all-blocked), return from the handler, and
// the dispatcher follows with the FPU state as it was interrupted.
extern const char reentry_resume[];

// The same for a thread whose system call in the gate has completed (RESTORE_GATE_AFTER): regs[0] is
// the result. Runs syscalls_done(t) when sc_post is set.
extern const char reentry_resume_finished[];

// The same for one whose call was broken off for a request from outside: regs and thread_own.again
// say how it is made again.
extern const char reentry_resume_control[];

// Gives the C stack up and goes to a stub of the code cache.
_Noreturn void reentry_enter(u64 stub);

#endif
