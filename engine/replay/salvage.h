// SPDX-License-Identifier: MIT
// Salvage after SIGKILL: whoever still has the memory of the killed process (replayer.h) replays
// what its threads recorded, so that nothing is lost.
#ifndef QUERN_ENGINE_SALVAGE_H
#define QUERN_ENGINE_SALVAGE_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// The end of the complete records in [from, end). inside: their thread was in translated code, so
// that the last record may be incomplete and is left out.
const u64 *salvage_end(const u64 *from, const u64 *end, bool inside);

// The number of words of the record, or of the entry between records, at `at`; 0: there is none.
u32 salvage_words(const u64 *at);

// The stack pointer after the records in [from, to); sp: before them.
u64 salvage_stack(const u64 *from, const u64 *to, u64 sp);

// The process that replayed t's records is gone: thread t replays the rest. @signal-safe
void salvage_resume(struct thread *t);

// t's thread was killed anywhere. A replayer, if there was one, has replayed what t had handed
// over. buffer: the one that t was filling, and its size in bytes; NULL: skip it.
void salvage_replay(struct thread *t, const u64 *buffer, u64 bytes);

#endif
