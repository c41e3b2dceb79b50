// SPDX-License-Identifier: MIT
// The simulated LL: one for all threads of a process.
//
// From the second thread on each reference of translated code's helpers locks the sets that it is
// in, so that threads meet only where their lines do; what replays find waits in the thread's area
// until there are some thousand, and LL is locked once for all of them. What generated replays of
// one thread alone find waits, too, until there are sixteen: their sets come from the host's memory
// meanwhile, all at a time. Where another process replays, it leaves them in pieces of some
// thousand to the thread, if that has nothing else to do.
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
// Whether this process is the one that replays, and the client's is gone; NULL: it is not.
extern bool (*ll_is_orphan)(void);

// A thread begins.
void ll_thread_init(struct thread *t);

// A reference to [addr, addr + size), at most a line, that has missed its L1: counted at `counter`,
// and behind it when it misses LL, too; after what waits, at once or, in a replay, by the next
// ll_drain() at the latest. Changes vector registers where something waits. @signal-safe
void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter);

// What waits is done, in its order. Changes vector registers. @signal-safe
void ll_drain(struct thread *t);
bool ll_waits(const struct thread *t);

// For who replays: as much waits as may, t->ll being at a multiple of 64 KiB. As ll_drain().
void ll_full(struct thread *t);

// Before a replay of t's records: by the process beside its thread, or not. As ll_drain().
void ll_beside(struct thread *t, bool beside);
// And behind it: what waits is done, or left to who has time for it. As ll_drain().
void ll_replayed(struct thread *t);

// By the thread that t is, while it waits for the process beside it: does a part of what waits, if
// there is enough and nobody is at it. False: there was nothing to do. As ll_drain().
bool ll_help(struct thread *t);
// Before it sleeps on *word: it is to be woken once when there is much to do. True: there is.
bool ll_ask(struct thread *t, u32 *word);

// Whether its tags have 32 bits, so that vector.S can look at them.
bool ll_is_narrow(void);

#endif
