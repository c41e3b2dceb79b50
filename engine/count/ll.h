// SPDX-License-Identifier: MIT
// The simulated LL: one for all threads of a process.
//
// From the second thread on each reference of translated code's helpers locks the sets that it is
// in, so that threads meet only where their lines do; what replays find waits in the thread's area
// until there are some thousand, and LL is locked once for all of them. What generated replays of
// one thread alone find waits, too, until there are sixteen: their sets come from the host's memory
// meanwhile, all at a time.
#ifndef QUERN_ENGINE_LL_H
#define QUERN_ENGINE_LL_H

#include "engine/thread/thread.h"

// Reads the geometry and makes it, empty. Once, after spooler_map, with --cache-sim=yes.
void ll_init(void);
// Empty again, with the world stopped.
void ll_clear(void);
// Whether there has been a second thread.
bool ll_is_shared(void);
// There is going to be a second thread; by its creator, who is not in LL.
void ll_share(void);
// Before a fork, when what was recorded has been simulated.
void ll_before_fork(void);
// In the child of a fork, which has one thread.
void ll_fork_child(void);
// Who holds them is gone.
void ll_forget_locks(void);

// A thread begins.
void ll_thread_init(struct thread *t);

// A reference to [addr, addr + size), at most a line, that has missed its L1: counted at `counter`,
// and behind it when it misses LL, too; after what waits, at once or, in a replay, by the next
// ll_drain() at the latest. Changes vector registers where something waits. @signal-safe
void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter);

// What waits is done, in its order. Changes vector registers. @signal-safe
void ll_drain(struct thread *t);
bool ll_waits(const struct thread *t);

// Whether its tags have 32 bits, so that vector.S can look at them.
bool ll_is_narrow(void);

#endif
