// SPDX-License-Identifier: MIT
// What the threads of a process have recorded that SIGKILL has ended: whoever still has its memory
// (replayer.h) replays it, so that nothing is lost.
#ifndef QUERN_ENGINE_SALVAGE_H
#define QUERN_ENGINE_SALVAGE_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// Where the complete records from `from` on end, at `end` at the latest. inside: their thread was
// in translated code, so that the last one may not be complete: it is left out.
const u64 *salvage_end(const u64 *from, const u64 *end, bool inside);

// Words of what is at `at`: a record, or what stands between two; 0: nothing is.
u32 salvage_words(const u64 *at);

// The stack pointer behind the records in [from, to), where it was `sp` before them.
u64 salvage_stack(const u64 *from, const u64 *to, u64 sp);

// Who was replaying t's records is gone: they are replayed from where it had come to. By t.
// @signal-safe
void salvage_resume(struct thread *t);

// t's thread is gone, in the middle of anything. What it had handed over has been replayed if there
// was a replayer. buffer: that which it was filling, of so many bytes; NULL: it is not to be looked
// at.
void salvage_replay(struct thread *t, const u64 *buffer, u64 bytes);

#endif
