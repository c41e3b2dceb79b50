// SPDX-License-Identifier: MIT
// What signal.c and signal_table.c share.
#ifndef QUERN_ENGINE_SIGNAL_PART_H
#define QUERN_ENGINE_SIGNAL_PART_H

#include "engine/signal/frame.h"
#include "engine/signal/signal.h"

enum signal_default {
    SIGNAL_DEFAULT_END,
    SIGNAL_DEFAULT_IGNORE,
    SIGNAL_DEFAULT_STOP,
};

enum signal_default signal_default(int sig);

// What the kernel is told when the client's action is this.
void signal_kernel_action(int sig, const struct k_sigaction *client, struct k_sigaction *kernel);

// The table of a process that has just been executed; tells the kernel.
struct signal_table *signal_table_inherited(void);

// An exec keeps what is ignored: tells the kernel so of the signals, too, that it otherwise never ignores; and takes it back.
void signal_table_ignore(struct signal_table *table, bool ignore);

// The client's action for a signal that is about to be delivered; SA_RESETHAND takes effect.
struct k_sigaction signal_table_get(struct signal_state *s, int sig);

// The client's mask changes (the kernel's follows).
void signal_set_mask(struct thread *t, u64 mask);

// The kernel's way in, on the alternate stack, and out again (sigret.S).
void signal_handler(int sig, struct k_siginfo *info, struct k_ucontext *uc);
extern const char signal_restorer[];

#endif
