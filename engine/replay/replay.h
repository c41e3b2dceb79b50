// SPDX-License-Identifier: MIT
// What records (log.h) stand for is simulated.
#ifndef QUERN_ENGINE_REPLAY_H
#define QUERN_ENGINE_REPLAY_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// With caches_init() done.
void replay_init(void);

void replay_publish(const struct record_draft *d);

// The complete records in [from, end). replay_run keeps the vector registers, replay_records
// changes them.
void replay_run(struct thread *t, const u64 *from, const u64 *end);
void replay_records(struct thread *t, const u64 *from, const u64 *end);
// The beginning of one: up to instruction insn, of which a string instruction has not been done
// (`rep`) or has not been begun.
void replay_part(struct thread *t, const u64 *from, u32 insn);

#endif
