// SPDX-License-Identifier: MIT
// The client's seccomp filters. They are not given to the kernel, which would judge the engine's
// own calls by them: the engine keeps the classic BPF programs and runs them for each of the
// client's calls (all calls are slow from then on). Over an exec they go to the next engine, or,
// when the program is to run natively, to the kernel after all.
#ifndef QUERN_ENGINE_SECCOMP_H
#define QUERN_ENGINE_SECCOMP_H

#include "engine/base/types.h"

struct thread;

// seccomp(2) and prctl(PR_SET_SECCOMP).
long seccomp_sys(struct thread *t, u32 op, u32 flags, u64 args);
long seccomp_sys_prctl(struct thread *t, u64 mode, u64 filter);
long seccomp_mode(struct thread *t); // PR_GET_SECCOMP

// Judges the call at t->pc. True: go on. False: it was refused, and regs[0] or a noted signal says
// how.
bool seccomp_check(struct thread *t);

// Over an exec. Into the spool of the engine that is to start; 0 or -errno. And out of it.
long seccomp_hand_over(struct thread *t, int spool_fd);
void seccomp_take_over(struct thread *t);

// Right before a native exec: gives the filters to the kernel, which judges by them whatever does
// not come from the engine's own text. False: it does not take them.
bool seccomp_to_kernel(struct thread *t);

// Copies the filters of a parent to a new thread.
void seccomp_inherit(struct thread *t, const struct thread *parent);

#endif
