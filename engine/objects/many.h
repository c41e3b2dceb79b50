// SPDX-License-Identifier: MIT
// --data=yes: counts many misses at once.
#ifndef QUERN_ENGINE_MANY_H
#define QUERN_ENGINE_MANY_H

#include "engine/base/types.h"
#include "engine/thread/thread.h"

// References of t that have missed L1, and LL (0 or 1), in their order, in a replay without L2. One
// lock; what one of them needs is loaded while others are counted. *size := done before a miss is
// counted: after SIGKILL none has been counted twice. With --no-hints who simulates LL has
// objects_missed() instead, which remembers nothing. @signal-safe
#define MANY_MISSES 16u
struct many_ref {
    u64 addr;
    u32 counter, ll;
    u32 *size;
};
// n: at most MANY_MISSES.
void many_missed(const struct thread *t, const struct many_ref *ref, u32 n, u32 done);

#endif
