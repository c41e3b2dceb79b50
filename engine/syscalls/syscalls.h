// SPDX-License-Identifier: MIT
// The system calls that do not go straight through the gate. Most calls, and every unknown one, pass untouched: only those of
// syscalls_slow_table leave the fast gate.
//
// A handler first finds out whether it can go on (no side effects), then commits. When a signal is noted before that, it returns
// with pc still at the syscall instruction, and the call is made anew after the delivery. Calls that may block or be
// interrupted are made by dispatch_gate() with sc_post set; the others directly.
#ifndef QUERN_ENGINE_SYSCALLS_H
#define QUERN_ENGINE_SYSCALLS_H

#include "engine/thread/thread.h"

#define SYSCALLS_TABLE_SIZE 512

// By number: 1 leaves the fast gate. Each thread's gate looks at a copy in its area (TA_SLOW_TABLE). When syscalls_all_slow is
// set (serialised threads, a seccomp filter) every entry is 1.
extern u8 syscalls_slow_table[SYSCALLS_TABLE_SIZE];
extern u32 syscalls_all_slow;

// Called by threads_init_main(): reads spool->flags.
void syscalls_init(void);

// The client is at t->pc, a syscall instruction; t->sc_next behind it. Returns with the result in regs[0], rcx and r11 as the
// instruction leaves them and pc = sc_next (or with pc unchanged: do it again); or ends in dispatch_gate().
void syscalls_slow(struct thread *t);

// After a call made by dispatch_gate(), result in regs[0].
void syscalls_done(struct thread *t);

#endif
