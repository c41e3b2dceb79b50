// SPDX-License-Identifier: MIT
// The simulation of records (recordbuf.h).
#ifndef QUERN_ENGINE_REPLAY_H
#define QUERN_ENGINE_REPLAY_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// After caches_init().
void replay_init(void);

void replay_publish(const struct record_draft *d);

// Replays the complete records in [from, end). replay_run() preserves the vector registers,
// replay_records() changes them.
void replay_run(struct thread *t, const u64 *from, const u64 *end);
void replay_records(struct thread *t, const u64 *from, const u64 *end);
// Replays the beginning of a record: up to instruction insn, a string instruction that has not been
// completed (`rep`) or has not begun.
void replay_part(struct thread *t, const u64 *from, u32 insn);

#endif
