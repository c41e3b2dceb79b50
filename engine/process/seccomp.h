// SPDX-License-Identifier: MIT
// The client's seccomp filters. The kernel does not get them, as it would apply them to the
// engine's own calls: the engine keeps the classic BPF programs and runs them for each of the
// client's calls (from then on all calls are slow). At an exec they go to the next engine, or, if
// the program is to run natively, to the kernel.
#ifndef QUERN_ENGINE_SECCOMP_H
#define QUERN_ENGINE_SECCOMP_H

#include "engine/base/types.h"

struct thread;

// seccomp(2) and prctl(PR_SET_SECCOMP).
long seccomp_sys(struct thread *t, u32 op, u32 flags, u64 args);
long seccomp_sys_prctl(struct thread *t, u64 mode, u64 filter);
long seccomp_mode(struct thread *t); // PR_GET_SECCOMP

// Runs the filters for the call at t->pc. True: make the call. False: it was refused, and regs[0]
// or a noted signal has the result.
bool seccomp_check(struct thread *t);

// At an exec: writes the filters to the spool of the next engine (0 or -errno); reads them there.
long seccomp_hand_over(struct thread *t, int spool_fd);
void seccomp_take_over(struct thread *t);

// Right before a native exec: gives the filters to the kernel, which applies them to all calls that
// are not made by the engine's text. False: the kernel refused.
bool seccomp_to_kernel(struct thread *t);

// Copies the filters of a parent to a new thread.
void seccomp_inherit(struct thread *t, const struct thread *parent);

#endif
