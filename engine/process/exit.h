// SPDX-License-Identifier: MIT
// exit, exit_group, and an end by signal.
#ifndef QUERN_ENGINE_EXIT_H
#define QUERN_ENGINE_EXIT_H

#include "engine/thread/thread.h"

// Goes back to the call, at t->pc, when a signal has to be delivered first.
_Noreturn void exit_thread(struct thread *t, int code);

// Ends the process of t, with the profile when it is the profiled one. kind is an enum spool_end,
// code the exit status or signal.
_Noreturn void exit_process(struct thread *t, u32 kind, int code);

// In the forked child. exit_signal: what the parent is to get when it ends; an exec would make it
// SIGCHLD, so where it is another this process does not execute the finisher.
void exit_fork_child(u64 exit_signal);

#endif
