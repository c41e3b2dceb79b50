// SPDX-License-Identifier: MIT
// Signals that were sent to a process and that none of its threads lets in, of those that the
// kernel's masks never hold back (SIGNAL_NEVER_BLOCKED): the first thread that opens takes them.
#ifndef QUERN_ENGINE_COMMON_H
#define QUERN_ENGINE_COMMON_H

#include "engine/base/sys.h"

// Keeps a signal for process tgid; of an ordinary signal one is enough. False: there is no room.
// @signal-safe
bool common_put(s32 tgid, const struct k_siginfo *info);

// Takes one of `set` out (info stored): its number, 0 when there is none. @signal-safe
int common_take(s32 tgid, u64 set, struct k_siginfo *info);

// Which there are for tgid.
u64 common_pending(s32 tgid);

// The process has ended, or (0) this is another process, forked: nothing of it is kept.
void common_forget(s32 tgid);

#endif
