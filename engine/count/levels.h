// SPDX-License-Identifier: MIT
//
// The levels below L1 of a machine that has an L2, or whose LL is replaced or filled in another way
// than ll.c does: an L2 for each thread, an LL for the process. ll.c gives them the references that
// have missed L1, in order, and holds its lock meanwhile.
//
// A reference that missed L1 goes to L2 with all its lines; a line that misses L2 goes to LL.
// Writes fill as reads do; nothing is written back.
#ifndef QUERN_ENGINE_LEVELS_H
#define QUERN_ENGINE_LEVELS_H

#include "engine/thread/thread.h"

// Whether the run has such levels. False before levels_init().
bool levels_are_on(void);

// Called once, after spooler_map, with --cache-sim=yes.
void levels_init(void);
// Empties all levels. The world is stopped.
void levels_clear(void);

// A thread begins: an empty L2. With --serialize-threads all threads have the same one.
void levels_thread_init(struct thread *t);

// Begins to load what a reference to addr will need into the host's cache. @signal-safe
void levels_ahead(const struct thread *t, u64 addr);

// A reference to [addr, addr + size), at most a line of L1, that has missed L1. Counts the miss at
// `counter`, and misses of the next levels at the next counters. @signal-safe
void levels_ref(struct thread *t, u64 addr, u32 size, u32 counter);

#endif
