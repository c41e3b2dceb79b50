// SPDX-License-Identifier: MIT
// The engine's signal handler, and the one thing that ends in it: a single step.
#ifndef QUERN_ENGINE_HANDLER_H
#define QUERN_ENGINE_HANDLER_H

#include "engine/signal/frame.h"

// The kernel's way in, on the alternate stack.
void handler_entry(int sig, struct k_siginfo *info, struct k_ucontext *uc);

// Executes the one client instruction at t->pc in place, with the trap flag, and comes back through
// the handler to the dispatcher.
_Noreturn void handler_step(struct thread *t);

// The instruction that was to be stepped, or done in its place, has faulted: it was not executed,
// and does not count.
void handler_not_stepped(struct thread *t);

#endif
