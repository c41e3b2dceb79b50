// SPDX-License-Identifier: MIT
// The system call gate: how a client's system call leaves translated code and comes back. The gate
// itself is a stub (stubs.S): it makes the call with the client's registers and signals unblocked.
// Slow calls go to the dispatcher.
#ifndef QUERN_ENGINE_GATE_H
#define QUERN_ENGINE_GATE_H

#include "engine/thread/thread.h"

#define GATE_CALLS 512 // calls with larger numbers are never slow

// By number: GATE_SLOW and its like (thread.h). Each thread's gate reads a copy in its area
// (TA_SLOW_TABLE). Call it with the spool mapped, before the first thread.
void gate_init(const u8 table[GATE_CALLS]);
void gate_thread_init(struct thread *t);

// Every call is slow (serialised threads, --stress, --collect-systime, a seccomp filter): from now
// on, in every thread.
void gate_make_all_slow(void);
extern bool gate_all_slow;

// The call is done: sets result, rcx, r11 and pc as the instruction leaves them.
void gate_return(struct thread *t, long ret);

// Makes the call through the gate, with these arguments (NULL: the client's), and continues in
// syscalls_done(). t->pc must be the address of the client's syscall instruction and t->sc_next the
// one behind it. Drops the caller's frames.
_Noreturn void gate_call(struct thread *t, const u64 args[6]);

// Restarts a call that the kernel gave up before it had any effect: t->regs has its number and
// arguments. Drops the caller's frames.
_Noreturn void gate_restart(struct thread *t);

// A call of gate_call() was interrupted before it began, or is complete: restores the client's own
// argument registers.
void gate_args_restore(struct thread *t);

#endif
