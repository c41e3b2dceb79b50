// SPDX-License-Identifier: MIT
// The system calls that do not go straight through the gate. Most calls, and every unknown one,
// pass untouched: only those of a table leave the fast gate.
//
// A handler first finds out whether it can go on (no side effects), then commits. When a signal is
// noted before that, it returns with pc still at the syscall instruction, and the call is made anew
// after the delivery. Calls that may block or be interrupted are made by gate_call() with sc_post
// set; the others directly.
#ifndef QUERN_ENGINE_SYSCALLS_H
#define QUERN_ENGINE_SYSCALLS_H

#include "engine/thread/thread.h"

// With the spool mapped, before the first thread. brk, top: as memory_init().
void syscalls_init(u64 brk, u64 top);

// The client is at t->pc, a syscall instruction; t->sc_next behind it. Returns with the result in
// regs[0], rcx and r11 as the instruction leaves them and pc = sc_next (or with pc unchanged: do it
// again); or ends in gate_call().
void syscalls_slow(struct thread *t);

// After a call made by gate_call(), result in regs[0].
void syscalls_done(struct thread *t);

// modify_ldt, by either way into the kernel.
long syscalls_modify_ldt(struct thread *t, u64 func, u64 at, u64 bytes);

#endif
