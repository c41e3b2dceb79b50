// SPDX-License-Identifier: MIT
// exit, exit_group, and an end by signal.
#ifndef QUERN_ENGINE_EXIT_H
#define QUERN_ENGINE_EXIT_H

#include "engine/thread/thread.h"

// If a signal must be delivered first, the client repeats the call at t->pc.
_Noreturn void exit_thread(struct thread *t, int code);

// Ends the process of t, and writes the profile if it is the profiled one. kind is an enum
// spool_end, code the exit status or signal.
_Noreturn void exit_process(struct thread *t, u32 kind, int code);

// In the forked child. exit_signal: the signal that the parent gets when the child ends. An exec
// would make it SIGCHLD, so with another signal this process does not execute the finisher.
void exit_fork_child(u64 exit_signal);

#endif
