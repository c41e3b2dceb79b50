// SPDX-License-Identifier: MIT
// execve and execveat: natively, or into a new engine when children are traced. syscalls.c calls it
// for the client's calls, launch.c when the program to run is a script.
#ifndef QUERN_ENGINE_EXEC_H
#define QUERN_ENGINE_EXEC_H

#include "engine/thread/thread.h"

// The client's execve (dirfd AT_FDCWD, flags 0) or execveat. Addresses are the client's. Returns
// -errno as the kernel would, with nothing changed; or does not return: the call succeeded, or a
// signal arrived and the client repeats its system call instruction after the delivery
// (reentry_continue). The caller holds no lock.
long exec_handle(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags);

// At start: runs the script open as fd, called `name`, with these arguments. Starts the engine
// again with the script's interpreter and the spool. Returns why that is impossible (half a
// sentence, static).
const char *exec_script(int spool_fd, int fd, const char *name, char *const *argv,
                        char *const *envp);

// Removes the file of a spool that an exec ended: the counts before the exec are dropped, as in
// Valgrind.
void exec_remove_old(int fd);

#endif
