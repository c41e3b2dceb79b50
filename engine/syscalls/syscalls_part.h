// SPDX-License-Identifier: MIT
// What the files of the slow system calls (syscalls*.c) share with each other and with signal.c.
#ifndef QUERN_ENGINE_SYSCALLS_PART_H
#define QUERN_ENGINE_SYSCALLS_PART_H

#include "engine/signal/signal.h"
#include "engine/thread/thread.h"

// The call is done: result, rcx, r11 and pc as the instruction leaves them.
void syscalls_return(struct thread *t, long ret);

// Makes the call through the gate, with these arguments instead of the client's (NULL: the client's), and comes back in
// syscalls_done(). Gives up the caller's frames.
_Noreturn void syscalls_gate_with(struct thread *t, const u64 args[6]);

// A gated call was interrupted at its beginning or is complete: the client's own argument registers again.
void syscalls_args_restore(struct thread *t);

// From now on every call is slow, in every thread.
void syscalls_make_all_slow(void);

// These handle the call (true), or leave it to the gate.
bool syscalls_memory(struct thread *t, u32 nr);
bool syscalls_files(struct thread *t, u32 nr);
void syscalls_memory_init(void);
void syscalls_files_done(struct thread *t, u32 nr);

#endif
