// SPDX-License-Identifier: MIT
// --replay: translated code does not simulate, it records. A record is the id of its fragment (u32,
// in a word) and words that the addresses of its references are made of; what is static is said
// once, in a struct record_block. When a thread's buffer is full its records are replayed, in their
// order, as if the references were made then (replay.c).
//
// A buffer is its thread's. It ends at a page that cannot be written: the store that meets it comes
// to recordbuf_full() by way of the signal handler. Others may look at it while its thread is quiet.
#ifndef QUERN_ENGINE_RECORDBUF_H
#define QUERN_ENGINE_RECORDBUF_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

struct restore_left;

// With the options read: memory for what records mean. Where there is none, nothing is recorded
// unless that has been asked for.
void recordbuf_reserve(void);
// The same, before the first thread. Does nothing without --replay, like all else
// here.
void recordbuf_init(void);
void recordbuf_thread_init(struct thread *t);

// Whether a block is sure to fit. And the id that the next one gets. @holds(translation lock)
bool recordbuf_has_room(void);
u32 recordbuf_next_id(void);
void recordbuf_publish(const struct record_draft *d);
// Every fragment is gone. The world is stopped and everything replayed.
void recordbuf_flush(void);

// Replays what t has recorded; t is quiet, or the caller.
void recordbuf_drain(struct thread *t);
// The same of every thread. Those of the process `stopped` are stopped, 0: the world is; of others
// one that records is left out.
#define RECORDBUF_NONE_STOPPED (-1)
void recordbuf_drain_all(s32 stopped);

// The thread comes from exit k of a fragment.
void recordbuf_edge(struct thread *t, u32 id, u32 k);
// It came from elsewhere, to the block at pc, which has not begun its record.
void recordbuf_came(struct thread *t, u64 pc);
// It goes into translated code.
void recordbuf_enter(struct thread *t);
// It has left one in the middle. @signal-safe
void recordbuf_left(struct thread *t, const struct restore_left *left);
// Called with what a full buffer holds, before it is replayed; NULL: nobody asks. @signal-safe
extern void (*recordbuf_seen)(const u64 *from, const u64 *end);
// Whether a fault at addr says that the buffer is full; then there is room again, and *r11 is where
// the fragment's record begins. @signal-safe
bool recordbuf_full(struct thread *t, u64 addr, u64 *r11);

#endif
