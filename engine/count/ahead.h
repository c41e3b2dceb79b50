// SPDX-License-Identifier: MIT
// A buffer of records, simulated ahead of its turn: while the buffers before it are still being
// simulated on another processor, so that two processors simulate one thread's caches.
//
// The caches' contents at the buffer's beginning are not known then. A second state, in an area of
// its own, begins empty. A reference to a line that the buffer has used before, and that has not
// been replaced since, hits; one that replaces a line of the buffer's own misses; and one that
// fills an empty way is *open*: at most as many as there are ways. All misses are listed, the open
// ones, too, and nothing is counted. When the buffers before it are done,
// - the open references are used, in their order, in the thread's own caches, which tells the hits
//   among them; those leave the list. (What lies between them replaces none of the earlier
//   contents, and changes no order among these.)
// - what is left of the list is simulated by LL and counted, as any batch is;
// - the lines of the second state become the most recent ones of the thread's.
// So counts and contents are exactly those of a simulation in order.
#ifndef QUERN_ENGINE_AHEAD_H
#define QUERN_ENGINE_AHEAD_H

#include "engine/callgraph/calls.h"
#include "engine/callgraph/frames.h"
#include "engine/thread/thread.h"

// Called by ahead_*: waits until it is the turn of the records that `of` simulates ahead, as
// replayer.c knows. Returns with nobody else simulating its records.
extern void (*ahead_await_turn)(struct thread *of);

void ahead_init(void);

// A thread begins, whose replayer counts at `misses`, in a slot whose area is not used otherwise:
// there is its second state. Without such a slot it has none.
void ahead_thread_init(struct thread *t);

// Whether t may simulate a buffer ahead now, `before` others being queued: nothing is in its second
// state, what is recorded is batched as that needs, the last one had not so many misses that it did
// not pay, and by its instructions no core will want to see this one.
bool ahead_may(const struct thread *t, u32 before);
// Another buffer is full.
void ahead_next(struct thread *t);

// Returns t's second state, empty, for records that begin with the stack pointer sp and, with
// --calls=yes, the last frame `top`. They are replayed as if they were that thread's, with vector
// registers saved.
struct thread *ahead_begin(struct thread *t, u64 sp, u64 top);

// After that: does what can be done before their turn.
void ahead_sort(struct thread *t);

// It is their turn, and nobody simulates t's records: ends their simulation. t has then simulated
// them. What a killed call has done, it does not do again, but for one reference. As ll_drain().
void ahead_join(struct thread *t);

// t was killed while it simulated its second state, in its records' turn: before whoever goes on
// with those records.
void ahead_resume(struct thread *t);

// Whether that can be done. It cannot if t's core is to see some of the buffer's instructions, or
// if more has missed than there is space for: then its records are to be replayed.
bool ahead_joins(const struct thread *t);
// Whether that is not known before: the records are needed until then.
bool ahead_keeps(void);

// What t has in its second state is given up.
void ahead_forget(struct thread *t);

// Of a second state with --calls=yes: a frame has changed, as frames_replay(); one that has noted
// the totals ends; a handler's; all frames that have not noted them do. They are put on the list.
void ahead_frame(struct thread *a, enum frames_late what, u32 frame, u32 counter);
void ahead_left(struct thread *a, u64 frame, u32 counter);
void ahead_back(struct thread *a, u64 frame);
void ahead_note(struct thread *a);

// As calls_count(); of a second state it is done when that is joined.
void ahead_count_later(struct thread *a, u32 counter, u64 n);
static inline void ahead_count(struct thread *t, u32 counter, u64 n)
{
    if (UNLIKELY(t->is_ahead))
        ahead_count_later(t, counter, n);
    else
        calls_count(t, counter, n);
}

// A two-line fetch, of a second state.
void ahead_fetch(struct thread *a, u64 pc, u32 len, u32 first, u32 last, u32 counter);

#endif
