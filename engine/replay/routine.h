// SPDX-License-Identifier: MIT
// A generated routine for each fragment that is executed more than a few times. It simulates one
// record and continues directly with the routine of the next one.
#ifndef QUERN_ENGINE_ROUTINE_H
#define QUERN_ENGINE_ROUTINE_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// arena_head.routine of a block without a routine: in the arena, below RECORD_END.
#define ROUTINE_COLD 16u

void routine_init(void);

// Makes the code for b, the block published last; `at`: the end of its head. Returns the end of the
// code, at most ARENA_CODE_MAX further; `at` if there is none. @holds(translation lock)
u8 *routine_begin(const struct record_block *b, u8 *at);

// Runs `routine`, the code of `record`, and the routines after it up to RECORD_END. Returns where
// that is.
const u64 *routine_enter(struct thread *t, const u64 *record, u64 routine);

// Two processors replay one thread's records from now on, or do not: meanwhile no link of a routine
// is led elsewhere.
void routine_replays_two(bool on);

// In the child of a fork.
void routine_fork_child(void);

// Frees locks whose holder is dead.
void routine_forget_locks(void);

#endif
