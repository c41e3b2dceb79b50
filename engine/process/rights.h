// SPDX-License-Identifier: MIT
// Calls by which a process gives up rights. Nothing that shares memory with the client may keep
// rights that the client has lost. Before such a call the replayer and the background finisher are
// stopped, the memory shared by a family of processes is left, and the descriptor that leads out of
// a chroot is closed. The replayer restarts with the remaining rights. docs/security.md has the
// requirements.
#ifndef QUERN_ENGINE_RIGHTS_H
#define QUERN_ENGINE_RIGHTS_H

#include "engine/thread/thread.h"

// If the client's call `nr` gives up rights and needs nothing else of the engine, makes it. False:
// it is no such call; the caller goes on.
bool rights_call(struct thread *t, u32 nr);

// Around a call that the engine handles itself: seccomp.
void rights_begin(struct thread *t);
void rights_end(struct thread *t);

// The program starts with the filters of the process that executed it.
void rights_judged(void);

// Before a call after which the engine cannot tell when rights are lost: no replayer and no
// background finisher in this process any more.
void rights_forgo(struct thread *t);

// Whether this call by int $0x80 (number and first argument) gives up rights.
bool rights_is_int80(u32 nr, u64 arg);

// Whether writing to a file of this name changes the writer's rights (LSM attributes below /proc).
bool rights_is_file(const char *path);

// In the child of a fork with these flags. Its rights are at most the parent's.
void rights_fork_child(u64 clone_flags);

// A new thread gets its parent's rights. A thread ends: it may be the last with rights that the
// others have given up.
void rights_inherit(struct thread *t, const struct thread *parent);
void rights_thread_ends(struct thread *t);

#endif
