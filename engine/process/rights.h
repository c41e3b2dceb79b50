// SPDX-License-Identifier: MIT
// Calls by which a process gives up rights. Nothing that shares memory with the client may keep
// what the client has lost: before such a call who replays and the clerk end, memory that a family
// of processes has in common is left, and the way out of a chroot is closed. Who replays begins
// anew with the rights that are left. What is asked of this file, and of others, is in
// docs/security.md.
#ifndef QUERN_ENGINE_RIGHTS_H
#define QUERN_ENGINE_RIGHTS_H

#include "engine/thread/thread.h"

// If the client's call `nr` is one of those that are the kernel's alone, makes it. False: it is
// none; its caller goes on.
bool rights_call(struct thread *t, u32 nr);

// Around a call that is the engine's to make: seccomp.
void rights_begin(struct thread *t);
void rights_end(struct thread *t);

// The program begins with filters, those of who executed it.
void rights_judged(void);

// Before something after which it cannot be told when the rights are gone: there are no such
// processes in this one any more.
void rights_forgo(struct thread *t);

// Whether this is such a call of int $0x80 (its number and first argument).
bool rights_is_int80(u32 nr, u64 arg);

// Whether a file of this name changes the rights of who writes to it (LSM attributes below /proc).
bool rights_is_file(const char *path);

// The child of a fork with these flags, of the parent's rights at most.
void rights_fork_child(u64 clone_flags);

// A thread is made by another one, with its rights; and ends, perhaps the last that has rights
// which the others have given up.
void rights_inherit(struct thread *t, const struct thread *parent);
void rights_thread_ends(struct thread *t);

#endif
