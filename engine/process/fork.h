// SPDX-License-Identifier: MIT
// fork, vfork, clone, clone3: decides which of the four kinds a call is (a separate process, a
// process in borrowed memory whose parent waits, a process in shared memory, a thread), and does
// what each needs. Called by syscalls.c with the client's state in t and pc at the syscall
// instruction. If a signal is noted, the call does not start and pc stays there.
#ifndef QUERN_ENGINE_FORK_H
#define QUERN_ENGINE_FORK_H

#include "engine/thread/thread.h"

void fork_sys_fork(struct thread *t);
void fork_sys_vfork(struct thread *t);
void fork_sys_clone(struct thread *t);
void fork_sys_clone3(struct thread *t);

// If set, called in a forked child that has its spool, before it goes on.
extern void (*fork_on_child)(void);

#endif
