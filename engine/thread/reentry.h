// SPDX-License-Identifier: MIT
// Re-enters the dispatcher from lower layers: from a thread's start, signals, execs and restarted
// system calls. The dispatcher hands its entries over at start; nothing here names it.
#ifndef QUERN_ENGINE_REENTRY_H
#define QUERN_ENGINE_REENTRY_H

#include "engine/thread/thread.h"

// dispatch_run(), dispatch_syscall_finished(), set by dispatch_init().
extern void (*reentry_run)(struct thread *t);
extern void (*reentry_finished)(struct thread *t);
// dispatch_control()
extern void (*reentry_control)(struct thread *t);

// Continues the client at t->pc with t->regs and t->rflags: delivers pending signals, parks when
// stopped, translates when needed. Runs on the engine stack of t, below the caller's frames, which
// are never returned to.
static inline _Noreturn void reentry_continue(struct thread *t)
{
    reentry_run(t);
    __builtin_unreachable();
}

// reentry.S: the same, from a signal handler: put this address into rip of the interrupted context
// (with rsp = t->engine_sp - 8, all signals blocked) and return from the handler. The dispatcher
// then runs with the FPU state of the interrupted code.
extern const char reentry_resume[];

// The same for a thread whose system call in the gate has completed (RESTORE_GATE_AFTER): regs[0]
// is the result. Runs syscalls_done(t) when sc_post is set.
extern const char reentry_resume_finished[];

// The same for one whose system call was interrupted for a request from outside: regs and
// thread_own.again say how to restart it.
extern const char reentry_resume_control[];

// Leaves the C stack and jumps to a stub of the code cache.
_Noreturn void reentry_enter(u64 stub);

#endif
