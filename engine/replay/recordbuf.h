// SPDX-License-Identifier: MIT
// --replay: translated code does not simulate, it records. A record is the id of its fragment (u32,
// in a word) and the words from which the addresses of its references are computed; the static part
// is stored once, in a struct record_block. When a thread's buffer is full its records are
// replayed, in order, as if the references were made then (replay.c).
//
// Each thread has its buffer. It ends at a guard page: the store that hits it reaches
// recordbuf_full() through the signal handler. Other threads may read a buffer while its thread is
// quiet.
#ifndef QUERN_ENGINE_RECORDBUF_H
#define QUERN_ENGINE_RECORDBUF_H

#include "engine/replay/record.h"
#include "engine/thread/thread.h"

// A thread's buffers have 512 KiB, and if it is alone 2 MiB once so many have been full. A full
// buffer costs a signal; new pages cost more than that many signals; and of several threads each
// simulates a buffer at a time, so that the order of their references is coarser with larger ones.
#define RECORDBUF_GROWS 256u

// How far before its store a line of the buffer is asked for, in bytes. A buffer comes back from
// the processor that replayed it, and stores wait in order for the lines that are in its cache
// (docs/design/030). With 512, 1024, 2048 and 4096 bzip2 took 1.40, 1.30, 1.27 and 1.32 s.
#define RECORDBUF_AHEAD 2048

struct restore_progress;

// After the options are read: memory for descriptions of records. Without memory nothing is
// recorded, unless the user asked for it.
void recordbuf_reserve(void);
// Before the first thread. Does nothing without --replay, like everything here.
void recordbuf_init(void);
void recordbuf_thread_init(struct thread *t);

// Whether any block fits; the id that the next one gets. @holds(translation lock)
bool recordbuf_has_space(void);
u32 recordbuf_next_id(void);
void recordbuf_publish(const struct record_draft *d);
// All fragments are dropped. The world is stopped and everything has been replayed.
void recordbuf_flush(void);

// Replays t's records; t is quiet, or the caller.
void recordbuf_drain(struct thread *t);
// The same for every thread. stopped: the process whose threads are stopped; 0: the world is. Of
// other threads, one that records is left out.
#define RECORDBUF_NONE_STOPPED (-1)
void recordbuf_drain_all(s32 stopped);

// Whether a record tells on its own by which exit it is left, or what comes next need not.
bool recordbuf_is_told(u32 id);
// The thread comes from exit k of a fragment.
void recordbuf_edge(struct thread *t, u32 id, u32 k);
// The thread came from elsewhere to the block at pc, which has not begun its record.
void recordbuf_continue_at(struct thread *t, u64 pc);
// The thread enters translated code.
void recordbuf_enter(struct thread *t);
// The thread has left a fragment half-way. @signal-safe
void recordbuf_interrupted(struct thread *t, const struct restore_progress *left);
// Called with the contents of a full buffer, before its replay; NULL: no one needs it. @signal-safe
extern void (*recordbuf_on_full)(const u64 *from, const u64 *end);
// Whether a fault at addr means that the buffer is full. Then it is emptied, and *r11 is set to the
// beginning of the fragment's record. sp: the client's stack pointer. @signal-safe
bool recordbuf_full(struct thread *t, u64 addr, u64 *r11, u64 sp);

#endif
