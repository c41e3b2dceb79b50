// SPDX-License-Identifier: MIT
// The process that replays shares the client's memory, so the client can make it execute anything.
// Two things bound what comes of that, and both are the kernel's to enforce:
//
// - Calls. A seccomp filter leaves it those that it needs, which open nothing, name no other
//   process but the client, and make no memory. So it has no right that a client could gain through
//   it, whatever user it began as.
// - Time. While the client is there it is waited for (replayer.c sees whether it goes on). From the
//   moment the client is gone it has SANDBOX_ORPHAN_S to replay what is left, and signals work.
//   It is seen once in a second by a timer, for records that the client has overwritten may lead
//   to code that looks at nothing.
//
// @threads: called by that process alone.
#ifndef QUERN_ENGINE_SANDBOX_H
#define QUERN_ENGINE_SANDBOX_H

#include "engine/base/sys.h"

// The signal that it may send, to a thread of the client: one that the engine never blocks.
#define SANDBOX_SIGNAL SIGSYS

// Seconds on a processor, and by the clock. `quern recover` waits for ten by the clock.
#define SANDBOX_ORPHAN_S      8
#define SANDBOX_ORPHAN_WALL_S 60

// For good. client: its parent's number. 0, or -errno: it is not shut in, and must not go on.
long sandbox_enter(s32 client);

// The filter, of which it returns the length. For its unit test, too.
#define SANDBOX_ROWS 26
u32 sandbox_filter(s32 client, struct k_bpf_insn rows[SANDBOX_ROWS]);

#endif
