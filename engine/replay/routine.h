// SPDX-License-Identifier: MIT
// A generated routine for each fragment that is executed more than a few times. It simulates what
// one of its records stands for and goes straight on to the next record's.
#ifndef QUERN_ENGINE_ROUTINE_H
#define QUERN_ENGINE_ROUTINE_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// Where arena_head.routine leads while a block has none: in the area, below RECORD_END.
#define ROUTINE_COLD 16u

void routine_init(void);

// What the id of b leads to, which has been published last; `at`: where its head ends. Returns
// where the code there ends, ARENA_CODE_MAX further at most: with none, `at`.
// @holds(translation lock)
u8 *routine_begin(const struct record_block *b, u8 *at);

// Runs from a record on, whose id it is, to the RECORD_END behind the last; returns where that is.
const u64 *routine_enter(struct thread *t, const u64 *record, u64 routine);

// In the child of a fork.
void routine_fork_child(void);

// Who holds them is gone.
void routine_forget_locks(void);

#endif
