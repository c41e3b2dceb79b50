// SPDX-License-Identifier: MIT
// execve and execveat: natively, or into a fresh engine when children are traced. Called by
// syscalls.c for the client's calls, and by launch.c when the program to run is a script.
#ifndef QUERN_ENGINE_EXEC_H
#define QUERN_ENGINE_EXEC_H

#include "engine/thread/thread.h"

// The client's execve (dirfd AT_FDCWD, flags 0) or execveat. Addresses are the client's. Returns
// -errno as the kernel would, with nothing changed; or does not return: the call succeeded, or a
// signal arrived and the client goes on at its system call instruction after the delivery
// (reentry_continue). Caller holds no lock.
long exec_handle(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags);

// At start: the script open as fd, called `name`, is to be run with these arguments. Starts the
// engine again with its interpreter and the spool; returns why that is impossible (half a sentence,
// static).
const char *exec_script(int spool_fd, int fd, const char *name, char *const *argv,
                        char *const *envp);

// Removes the file of a spool that an exec ended: what was counted before it is dropped, as
// Valgrind does.
void exec_remove_old(int fd);

#endif
