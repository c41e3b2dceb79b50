// SPDX-License-Identifier: MIT
// --calls=yes: the frames of calls that a thread has open (struct spool_frame), and what each has
// cost. Who calls whom is decided by calls.c, and on which stack by stacks.c.
#ifndef QUERN_ENGINE_COUNT_FRAMES_H
#define QUERN_ENGINE_COUNT_FRAMES_H

#include "engine/callgraph/contexts.h"
#include "engine/spool/config.h"
#include "engine/spool/slotmem.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// No return address and stack pointer add up to it.
#define FRAMES_KEY_NONE (~SPOOL_FRAME_FLAGS)

extern struct frames {
    u32 top;                // counter: the last frame's address; totals follow
    u32 events, often;      // how many there are; that do not wait for a miss
    u32 late;               // counter: the slot where a replay's totals are, plus one; 0: none
    u32 frame;              // bytes
    u8 place[SPOOL_EVENTS]; // of an event among them
    bool begins, ends;      // rules ask what begins, or ends
} frames;

// With --replay misses are found later, and with them what they add to calls: those keep totals of
// their own, beside the misses, and a part of each frame. In between, what is done to frames goes
// into the record: translated code puts it there, and this hook (replay/recordbuf.c), in its order.
enum frames_late {
    FRAMES_ENTER, // the frame has been made
    FRAMES_LEAVE, // it has ended: counters of its edge grow, from this one on
    FRAMES_BACK,  // it was a signal's: the totals are again what they were
};
extern void (*frames_record)(struct thread *t, enum frames_late what, const struct spool_frame *f,
                             u32 counter);
// And what has been put there is simulated.
extern void (*frames_simulate)(struct thread *t);
// One of them is done. frame: the low half of its address.
void frames_replay(struct thread *t, enum frames_late what, u32 frame, u32 counter);
// What a thread needs for that.
void frames_thread_init(struct thread *t);

static inline struct spool_frame *frames_top(const struct thread *t)
{
    return (struct spool_frame *)t->counters[frames.top];
}

static inline struct thread *frames_thread(u64 *counters)
{
    return (struct thread *)((u64)counters - TA_COUNTERS);
}

static inline u64 *frames_totals(const struct thread *t)
{
    return t->counters + frames.top + 1;
}

static inline u64 *frames_late_totals(const struct thread *t)
{
    return t->misses + frames.top + 1;
}

static inline struct spool_frame *frames_below(const struct spool_frame *f)
{
    return (struct spool_frame *)((u64)f - frames.frame);
}

// Of a slot's first frame.
static inline u64 frames_base(u32 slot)
{
    return slotmem_calls(slot);
}

// Where a replay counts: another slot's area when that is another processor's work.
u32 frames_late_slot(const struct thread *t);

struct spool_edge *frames_edge(const struct spool_frame *f);
// The beginning of the function that holds addr; and of that which f's call is in.
u64 frames_function(u64 addr);
u64 frames_callee(const struct spool_frame *f);

// A call by w; `e`: its edge_of(), which is NULL with contexts: then it depends on them.
struct spool_edge *frames_edge_of(const struct contexts_way *w);
struct spool_frame *frames_enter(struct thread *t, const struct contexts_way *w,
                                 const struct spool_edge *e, u64 key, u64 sp, u32 flags);
struct spool_frame *frames_enter_root(struct thread *t, u64 target, u64 key, u64 sp);

// The last call ends; simulated: all that was recorded, so that what replays keep is as of now;
// elsewhere: it goes on, in another thread.
void frames_end(u64 *counters, bool simulated, bool elsewhere);
void frames_pop(u64 *counters);
// Frames of functions that have been left end: their stack is no more. The edge of the last one,
// which led from the function that is on top now; NULL: there was none.
const struct spool_edge *frames_unwind(struct thread *t, u64 sp);

// The record of what is done to f, if there is one.
void frames_tell(struct thread *t, enum frames_late what, const struct spool_frame *f, u32 counter);

// f notes so many totals; all frames that have not noted those which grow seldom do so; f does,
// which is a stack's first one.
void frames_snapshot(struct spool_frame *f, const u64 *totals, u32 from, u32 to);
void frames_fill(struct thread *t);
void frames_fill_root(struct thread *t, struct spool_frame *f);
// What f has cost since it was made, added to `to`.
void frames_charge(const struct spool_frame *f, u64 *to, const u64 *totals);

// Those from `first` on begin to cost now, with all totals 0.
void frames_zero(u64 first, u64 end);

// There is room for frames up to `end`.
void frames_reach(struct thread *t, u64 end);

#endif
