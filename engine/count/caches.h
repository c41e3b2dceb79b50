// SPDX-License-Identifier: MIT
// Each thread's simulated I1, D1 and branch predictor; LL is in ll.h. State that translated code
// accesses is in the thread's area (thread.h).
#ifndef QUERN_ENGINE_CACHES_H
#define QUERN_ENGINE_CACHES_H

#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// Reads the geometries and makes LL. Called once, after spooler_map.
void caches_init(void);

// Empty caches and predictor for a new thread. t->counters must be mapped. Returns 0 or -errno.
int caches_thread_init(struct thread *t);
void caches_thread_fini(struct thread *t);
// Before a fork, after all records have been replayed.
void caches_before_fork(void);
void caches_fork_child(void);

// With --data=yes, before records of t are replayed: leaves to C what is watched since
// (objects/sharing.h).
void caches_replays(struct thread *t);

// Empties all caches; predictors stay. The world is stopped, and no record waits for its replay:
// not with --replay.
void caches_clear(void);

// --serialize-threads: t has the turn now (stopworld_on_turn), and gets the state. caches_holder():
// whose area has the state; NULL: none.
void caches_turn(struct thread *t);
struct thread *caches_holder(void);

// The step of a thread's clock, for caches with stamps.
#define CACHES_TICK 32
// The clock was lost: sets it past the latest stamp.
void caches_restore_clock(struct thread *t);

// Whether routine_miss_d1 and routine_miss_i1 may handle misses; they stop when LL is widened.
bool caches_by_vectors(void);
// Whether the code of routine.S for sets of whole vectors may handle misses; the ways from set to
// set of D1.
bool caches_by_whole_vectors(void);
// The same of data alone, where those that miss wait (objects/many.h).
bool caches_d1_by_whole_vectors(void);
u32 caches_d1_stride(void);

// -- for the helpers: helpers.h says what they may do --

// A data reference. Counts a miss of D1 at `counter`, one of LL at the next. In size: CACHES_WRITE,
// it writes and does not read, only with --curve=yes; CACHES_STORES, it writes, only with
// --data=yes.
#define CACHES_WRITE  0x80000000u
#define CACHES_STORES 0x40000000u
static inline u32 caches_way(bool reads, bool writes)
{
    u32 bits = writes && !reads && tb_config.curve ? CACHES_WRITE : 0;

    return writes && tb_config.data ? bits | CACHES_STORES : bits;
}
void caches_dref(struct thread *t, u64 addr, u32 size, u32 counter);
// A reference that has missed D1; a fetch that has missed I1.
void caches_l1_missed(struct thread *t, u64 addr, u32 size, u32 counter);
// id: of its last line.
void caches_i1_missed(struct thread *t, u64 addr, u32 size, u32 counter, u32 id);
// An instruction fetch: whether I1 missed. first, last: ids of its lines; 0: I1 has no ids.
bool caches_iref(struct thread *t, u64 pc, u32 len, u32 first, u32 last);
// What LL's batch has of a fetch besides its bytes.
u32 caches_fetch_bits(u32 id);
// Larger ids are not in them.
u32 caches_ids(void);

// -- for ahead.h --
// In an area that has the tables of a second state: makes it, and empties it.
void caches_ahead_init(struct thread *a);
void caches_ahead_empty(struct thread *a);
// Of a second state, a data reference that has two lines.
extern void (*caches_two_lines)(struct thread *t, u64 addr, u32 size, u32 counter);
// Uses the line of addr; bits: those of a fetch, or 0. Whether it was not in the L1.
bool caches_touch(struct thread *t, u64 addr, u32 bits);

// A conditional branch: whether it was mispredicted, which is counted at `counter`.
bool caches_branch(struct thread *t, u64 pc, bool taken, u32 counter);
// An indirect branch: whether it was mispredicted. branch: the low half of its address; with
// tb_config.predictor also, from bit CACHES_LENGTH on, the length of a call's instruction, behind
// which a return is predicted; and CACHES_RETURN: a return or, with a length, a direct call, which
// is never wrong.
#define CACHES_LENGTH 32
#define CACHES_RETURN (UINT64_C(1) << 36)
bool caches_indirect(struct thread *t, u64 branch, u64 target);
// The predictor has not seen the branches so far, and sees the ones from here on.
void caches_branches_begin(struct thread *t);
// It and its counter as two words of 32 bits, and back.
static inline u32 caches_branch_low(u64 branch, u32 counter)
{
    return counter | (u32)(branch >> CACHES_LENGTH) << 27;
}

static inline u64 caches_branch_of(u32 low, u32 high)
{
    return high | (u64)(low >> 27) << CACHES_LENGTH;
}

static inline u32 caches_counter_of(u32 low)
{
    return low & ((1u << 27) - 1);
}

_Static_assert(SPOOL_COUNTERS_MAX <= 1u << 27, "five bits are left beside a counter");

#endif
