// SPDX-License-Identifier: MIT
// Each thread's simulated I1, D1 and branch predictor; LL is another room's (ll.h). Where
// translated code looks at them they lie in the thread's area (thread.h).
#ifndef QUERN_ENGINE_CACHES_H
#define QUERN_ENGINE_CACHES_H

#include "engine/thread/thread.h"

// Reads the geometries, and makes LL. Once, after spooler_map.
void caches_init(void);

// Empty caches and predictor for a thread that begins. t->counters must be mapped. Returns 0 or
// -errno.
int caches_thread_init(struct thread *t);
void caches_thread_fini(struct thread *t);
// Before a fork, when what was recorded has been simulated.
void caches_before_fork(void);
void caches_fork_child(void);

// All caches are empty again, predictors as they were. With the world stopped, and nothing recorded
// that waits to be simulated: not with --replay.
void caches_clear(void);

// --serialize-threads: t has got the turn (stopworld_on_turn): the state goes with it. And whose it is
// until then; NULL: nobody's.
void caches_turn(struct thread *t);
struct thread *caches_holder(void);

// The clock of a thread whose caches know recency by stamps goes on by this.
#define CACHES_TICK 32
// It has been lost: it goes on behind the latest stamp.
void caches_clock_goes_on(struct thread *t);

// Whether misses may be left to routine_miss_d1 and routine_miss_i1, which stop when LL is widened.
bool caches_by_vectors(void);
// Whether those of sets of 8 or 16 ways may be left to their own (routine.S), and how far D1's sets
// are apart.
bool caches_by_whole_vectors(void);
u32 caches_d1_stride(void);

// -- for the helpers: see prof.h for what they may do --

// A data reference; a miss is counted at `counter`, one of LL behind it.
void caches_dref(struct thread *t, u64 addr, u32 size, u32 counter);
// A reference that has missed its L1.
void caches_l1_missed(struct thread *t, u64 addr, u32 size, u32 counter);
// Fetches an instruction: whether I1 missed. first, last: ids of its lines, 0 where I1 has none.
bool caches_iref(struct thread *t, u64 pc, u32 len, u32 first, u32 last);
// A conditional branch; a misprediction is counted.
void caches_branch(struct thread *t, u64 pc, bool taken, u32 counter);
// An indirect one: whether it was mispredicted.
bool caches_indirect(struct thread *t, u32 index, u64 target);

#endif
