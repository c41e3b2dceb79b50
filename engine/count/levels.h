// SPDX-License-Identifier: MIT
//
// What a machine has below L1, if that is more than ll.c's LL: for each thread an L2, which may
// load lines ahead, and TLBs; an LL for the process. ll.c gives the references that have missed L1,
// in order, and holds its lock meanwhile.
//
// A reference that missed L1 goes to L2 with all its lines; a line that misses L2 goes to LL. A TLB
// is asked for these references, too: one that hits L1 is taken to hit the TLB. Writes fill as
// reads do; nothing is written back.
#ifndef QUERN_ENGINE_LEVELS_H
#define QUERN_ENGINE_LEVELS_H

#include "engine/thread/thread.h"

#define LEVELS_PENDING 65536u // references that may wait in a thread's pieces (ll.c)

// Whether the run has such levels. False before levels_init().
bool levels_are_on(void);

// Called once, after spooler_map, with --cache-sim=yes.
void levels_init(void);
// Empties all levels. The world is stopped.
void levels_clear(void);

// A thread begins: empty levels. With --serialize-threads all threads have the same ones.
void levels_thread_init(struct thread *t);

// Begins to load what a reference to addr will need into the host's cache.
// @signal-safe
void levels_ahead(const struct thread *t, u64 addr);

// What the last reference that missed L1 has found: enum core_level and enum core_translation; and
// the lines that were loaded ahead because of it, with where they were.
#define LEVELS_AHEAD 40u // of both lines of a reference: 2 * SIM_AHEAD_MAX
struct levels_found {
    u8 level, translation;
    u32 n;
    struct {
        u64 addr;
        u8 level;
    } ahead[LEVELS_AHEAD];
};
const struct levels_found *levels_found(const struct thread *t);

// How a data reference that a core times is translated: enum core_translation. The TLB that says it
// sees references that hit L1, too, which the counted DTLB does not; but only what is timed.
// missed: it is the last reference that missed L1. @signal-safe
u8 levels_translation(struct thread *t, u64 addr, u32 size, bool missed);

// A reference to [addr, addr + size), at most a line of L1, that has missed L1; fetch: of an
// instruction. Counts the miss at `counter`, and what else it misses, uses or wastes at the
// counters behind (spool_ref_events). @signal-safe
void levels_ref(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter);

// The same for one after the other, where nobody asks what each has found: LL may do its part
// later, by levels_finish() at the latest. Only if levels_can_wait(): not where misses are counted
// by object, or without an L2. @signal-safe
bool levels_can_wait(void);
// Until levels_apart(t, NULL, NULL): LL does its part between these two calls, and all else of t's
// references is simulated beside those of other threads. With levels_ref_later() alone.
void levels_apart(struct thread *t, void (*take)(void), void (*drop)(void));
typedef void levels_one(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter);
levels_one levels_ref_later;
void levels_finish(struct thread *t);

#endif
