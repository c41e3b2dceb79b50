// SPDX-License-Identifier: MIT
// The client's system calls on signals (called by syscalls.c; same results as the kernel's).
#ifndef QUERN_ENGINE_SIGCALLS_H
#define QUERN_ENGINE_SIGCALLS_H

#include "engine/thread/thread.h"

// rt_sigprocmask: sets the result and the pc in *t. They are unchanged when a signal has to be
// delivered first; then the call is restarted.
void sigcalls_procmask(struct thread *t);
long sigcalls_action(struct thread *t, int sig, u64 act, u64 old, u64 size);
long sigcalls_altstack(struct thread *t, u64 ss, u64 old);
long sigcalls_pending(struct thread *t, u64 set, u64 size);
// arch_prctl(ARCH_REQ_XCOMP_PERM, feature)
long sigcalls_xcomp_perm(struct thread *t, u64 code, u64 feature);
void sigcalls_return(struct thread *t); // rt_sigreturn: regs, pc, mask; FPU state

#endif
