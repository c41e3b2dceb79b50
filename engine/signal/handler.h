// SPDX-License-Identifier: MIT
// The engine's signal handler, and single steps, which end in it.
#ifndef QUERN_ENGINE_HANDLER_H
#define QUERN_ENGINE_HANDLER_H

#include "engine/signal/frame.h"

// The kernel enters here, on the alternate stack.
void handler_entry(int sig, struct k_siginfo *info, struct k_ucontext *uc);

// Executes one client instruction at t->pc in place, with the trap flag, and returns through the
// handler to the dispatcher.
_Noreturn void handler_step(struct thread *t);

// The instruction to be stepped or emulated has faulted: it was not executed, and does not count.
void handler_not_stepped(struct thread *t);

#endif
