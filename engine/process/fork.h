// SPDX-License-Identifier: MIT
// fork, vfork, clone, clone3: which of the four kinds a call is (a process of its own, a process in
// borrowed memory that its parent waits for, a process in shared memory, a thread), and what each
// needs. Called by syscalls.c with the client's state in t and pc at the syscall instruction. A
// call that cannot be begun now because a signal is noted leaves pc there.
#ifndef QUERN_ENGINE_FORK_H
#define QUERN_ENGINE_FORK_H

#include "engine/thread/thread.h"

void fork_sys_fork(struct thread *t);
void fork_sys_vfork(struct thread *t);
void fork_sys_clone(struct thread *t);
void fork_sys_clone3(struct thread *t);

// Called, when set, in a forked child that has its spool, before it goes on.
extern void (*fork_on_child)(void);

#endif
