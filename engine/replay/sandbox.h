// SPDX-License-Identifier: MIT
// The replayer shares the client's memory, so the client can make it execute anything. The kernel
// enforces two bounds on that:
//
// - Calls. A seccomp filter allows only the calls that it needs: they open nothing, name no process
//   but the client, and make no memory. So the client gains no right through it, whatever user it
//   began as.
// - Time. While the client exists it waits for the replayer, and replayer.c checks progress. Once
//   the client is gone the replayer has SANDBOX_ORPHAN_S to replay what is left, and signals work.
//   A timer checks once a second, because overwritten records may lead to code that checks nothing.
//
// @threads: only the replayer calls these.
#ifndef QUERN_ENGINE_SANDBOX_H
#define QUERN_ENGINE_SANDBOX_H

#include "engine/base/sys.h"

// The signal that it may send, to a thread of the client: one that the engine never blocks.
#define SANDBOX_SIGNAL SIGSYS

// Seconds on a processor, and by the clock. `quern recover` waits for ten by the clock.
#define SANDBOX_ORPHAN_S      8
#define SANDBOX_ORPHAN_WALL_S 60

// Enters the sandbox for good. client: the parent's pid. 0, or -errno: the process is not confined,
// and must not continue.
long sandbox_enter(s32 client);

// Makes the filter and returns its length. For its unit test, too.
#define SANDBOX_ROWS 26
u32 sandbox_filter(s32 client, struct k_bpf_insn rows[SANDBOX_ROWS]);

#endif
