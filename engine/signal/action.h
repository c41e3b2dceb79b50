// SPDX-License-Identifier: MIT
// The client's table of signal handlers, one for each CLONE_SIGHAND group, and the kernel's
// dispositions that follow from it.
#ifndef QUERN_ENGINE_ACTION_H
#define QUERN_ENGINE_ACTION_H

#include "engine/signal/state.h"

enum action_default {
    SIGNAL_DEFAULT_END,
    SIGNAL_DEFAULT_IGNORE,
    SIGNAL_DEFAULT_STOP,
};

// Sets the addresses of the engine's own handler and of the restorer that the kernel returns to.
// Before all other functions of this file.
void action_init(u64 handler, u64 handler_restorer);

enum action_default action_default(int sig);

// Makes the table of a newly executed process; sets the kernel's dispositions.
struct signal_table *action_table_inherited(void);

// vfork: the child uses a copy of the table while it borrows the parent's thread block.
struct signal_table *action_table_copy(struct signal_table *from);
void action_table_drop(struct signal_table *table);
void action_table_reset(struct signal_table *table); // CLONE_CLEAR_SIGHAND: handlers become default

// Ignored signals stay ignored over an exec. Makes the kernel ignore also those that it otherwise
// never ignores (SIGNAL_NEVER_BLOCKED); and reverts that.
void action_table_ignore(struct signal_table *table, bool ignore);

// The client's action for a signal that is about to be delivered; SA_RESETHAND takes effect.
struct k_sigaction action_table_get(struct signal_state *s, int sig);

// The client changes one action, the kernel's follows; *before is the old one. act NULL: only reads
// it.
void action_change(struct signal_table *table, int sig, const struct k_sigaction *act,
                   struct k_sigaction *before);

#endif
