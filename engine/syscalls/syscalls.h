// SPDX-License-Identifier: MIT
// The system calls that do not go straight through the gate. Most calls, and every unknown one,
// pass unchanged: only those in a table leave the fast gate.
//
// A handler first checks whether it can go on (no side effects), then commits. If a signal is noted
// before that, it returns with pc still at the syscall instruction, and the call is repeated after
// the delivery. Calls that may block or be interrupted are made by gate_call() with sc_post set;
// the others directly.
#ifndef QUERN_ENGINE_SYSCALLS_H
#define QUERN_ENGINE_SYSCALLS_H

#include "engine/thread/thread.h"

// After the spool is mapped, before the first thread. brk, top: as in memory_init().
void syscalls_init(u64 brk, u64 top);

// The client is at t->pc, a syscall instruction; t->sc_next is the address after it. Returns with
// the result in regs[0], rcx and r11 as the instruction leaves them and pc = sc_next (or with pc
// unchanged: repeat it); or ends in gate_call().
void syscalls_slow(struct thread *t);

// After a call made by gate_call(), result in regs[0].
void syscalls_done(struct thread *t);

// Before syscalls_done(): whether the call ended with EINTR only because another thread's signal
// woke this one. Make it again then.
bool syscalls_woken_in_vain(const struct thread *t);

// modify_ldt, for both the 64-bit and the 32-bit call.
long syscalls_modify_ldt(struct thread *t, u64 func, u64 at, u64 bytes);

#endif
