// SPDX-License-Identifier: MIT
// Walks: how the address of a miss follows from that of the one before, of the same instruction, in
// the same object, by the same thread (struct spool_data_count). An instruction may be in several
// blocks, as the first time that a loop is executed: its walk is with its first counter.
#ifndef QUERN_ENGINE_WALKS_H
#define QUERN_ENGINE_WALKS_H

#include "engine/thread/thread.h"
#include "share/spool.h"

void walks_init(void);

// An instruction that has a number of its own reads or writes, and misses are counted there.
// @holds(the translation lock)
void walks_instruction(u64 number, u32 counter);
// The first counter of the instruction. @signal-safe
u32 walks_first(u32 counter);

// A miss at addr of t, which c counts. c may be NULL. @holds(objtable's lock) @signal-safe
void walks_step(const struct thread *t, struct spool_data_count *c, u64 addr);

// The steps become 0; the next one begins where the last miss was. @holds(objtable's lock)
void walks_zero(struct spool_data_count *c);

#endif
