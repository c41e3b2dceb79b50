// SPDX-License-Identifier: MIT
// --data=yes: misses that wait for their objects. Where records are replayed by routines, a
// reference that has missed L1, and whose outcome in LL is known, is put into a queue of its
// thread, with its counters incremented. So is each new time of the maps (objtable.h), and each
// change of the blocks (alloc.h): neither a call nor an allocator has to wait until misses are
// counted, and thousands are counted at once.
//
// After SIGKILL a thread has lost one miss at most: the queue is in its area; what is counted one
// by one is marked before; what is counted at once is noted before, and done again. With --no-hints
// there is no queue: objects_missed() counts each at once.
#ifndef QUERN_ENGINE_MANY_H
#define QUERN_ENGINE_MANY_H

#define MANY_MISSED 1          // in `how`: LL has missed, too
#define MANY_TIME   0xffffffff // counter: no miss, `addr` is the time from here on
// counter: a line of addr is followed (lineuse.h), of which `how` bytes have been referenced so far
#define MANY_FETCHED 0xfffffffe
// counter: a change of blocks (alloc.h), whose word is `how`, at the time addr; what is behind it
// with MANY_MORE has the rest of it in addr
#define MANY_EVENT 0xfffffffd
#define MANY_MORE  0xfffffffc
#define MANY_FULL  0x4000 // bytes that are in the queue: it is to be counted,
#define MANY_MOST  0xff00 // at the latest now, even if that means to wait for another thread

#ifndef __ASSEMBLER__

#    include "engine/base/types.h"
#    include "engine/thread/thread.h"

#    define MANY_DONE 0xffffffffu // `how`: it has been counted

struct many_ref {
    u64 addr;
    u32 counter, how;
};

// At TA_MANY_END; the references at TA_MANY.
struct many_queue {
    u64 end;
    u64 done; // those before it have been counted; some behind it are marked
    u64 at;   // time of the maps where it begins
};

_Static_assert(sizeof(struct many_ref) == 16, "asm size");
_Static_assert(offsetof(struct many_queue, end) == 0, "asm offset");

// Whether misses of this run wait: not with more levels than L1 and LL.
extern bool many_wait;
extern u32 many_fetch; // for vector.S: the place of misses of fetches among the totals
void many_init(bool levels);
// After objects_thread_init().
void many_thread_init(struct thread *t);

static inline struct many_queue *many_queue(const struct thread *t)
{
    return (struct many_queue *)((u8 *)t->self + TA_MANY_END);
}

static inline bool many_has(const struct thread *t)
{
    return many_wait && many_queue(t)->end != (u64)t->self + TA_MANY;
}

// There is space for as many as a batch of LL has (count/ll.c), and a few, beside MANY_MOST bytes:
// who appends calls many_full() in time.
static inline void many_append(struct thread *t, u64 addr, u32 counter, u32 how)
{
    struct many_queue *q = many_queue(t);

    *(struct many_ref *)q->end = (struct many_ref){ addr, counter, how };
    __atomic_store_n(&q->end, q->end + sizeof(struct many_ref), __ATOMIC_RELEASE);
}

static inline bool many_is_full(const struct thread *t)
{
    return many_queue(t)->end - ((u64)t->self + TA_MANY) >= MANY_FULL;
}

// As objtable_buffer_replays().
void many_buffer_replays(struct thread *t, u64 at);
// What is simulated from now on was after this change of the maps.
void many_time(struct thread *t, u64 at);
// t's replay has come to a record RECORD_OBJECTS. Returns its number of words.
u32 many_event(struct thread *t, const u64 *record);
// Counts all that wait, in their order. @signal-safe
void many_settle(struct thread *t);
// many_is_full(): the same, unless another thread counts just now and there is space to go on: two
// threads that waited for each other took a fifth of the time for going to sleep.
void many_full(struct thread *t);

#endif
#endif
