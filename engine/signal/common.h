// SPDX-License-Identifier: MIT
// Held signals of processes: signals of SIGNAL_NEVER_BLOCKED, which the kernel does not block, sent
// to a process whose threads all block them. The first thread that unblocks one takes it.
#ifndef QUERN_ENGINE_COMMON_H
#define QUERN_ENGINE_COMMON_H

#include "engine/base/sys.h"

// Stores a signal for process tgid; an ordinary signal is stored once. False: the table is full.
// @signal-safe
bool common_put(s32 tgid, const struct k_siginfo *info);

// Removes one of `set` (info stored): its number, or 0 when there is none. @signal-safe
int common_take(s32 tgid, u64 set, struct k_siginfo *info);

// The set of stored signals for tgid.
u64 common_pending(s32 tgid);

// Drops the signals of a process that has exited, or (0) all of them, in a forked child.
void common_forget(s32 tgid);

#endif
