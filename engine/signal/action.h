// SPDX-License-Identifier: MIT
// The client's table of signal handlers, one for each CLONE_SIGHAND group, and what the kernel is
// told of it.
#ifndef QUERN_ENGINE_ACTION_H
#define QUERN_ENGINE_ACTION_H

#include "engine/signal/state.h"

enum action_default {
    SIGNAL_DEFAULT_END,
    SIGNAL_DEFAULT_IGNORE,
    SIGNAL_DEFAULT_STOP,
};

// Addresses of the engine's own handler and of the restorer that the kernel returns to. Before
// anything else here.
void action_init(u64 handler, u64 handler_restorer);

enum action_default action_default(int sig);

// The table of a process that has just been executed; tells the kernel.
struct signal_table *action_table_inherited(void);

// vfork: the child works on a copy of the table while it borrows the parent's thread block.
struct signal_table *action_table_copy(struct signal_table *from);
void action_table_drop(struct signal_table *table);
void action_table_reset(struct signal_table *table); // CLONE_CLEAR_SIGHAND: handlers become default

// An exec keeps what is ignored: tells the kernel so of the signals, too, that it otherwise never
// ignores; and takes it back.
void action_table_ignore(struct signal_table *table, bool ignore);

// The client's action for a signal that is about to be delivered; SA_RESETHAND takes effect.
struct k_sigaction action_table_get(struct signal_state *s, int sig);

// The client's own change of one action: the kernel follows, *before is what it was. act NULL:
// nothing changes.
void action_change(struct signal_table *table, int sig, const struct k_sigaction *act,
                   struct k_sigaction *before);

#endif
