// SPDX-License-Identifier: MIT
// --calls=yes: the frames of a thread's open calls (struct spool_frame), and what each has cost.
// calls.c decides who calls whom, stacks.c on which stack.
#ifndef QUERN_ENGINE_CALLGRAPH_FRAMES_H
#define QUERN_ENGINE_CALLGRAPH_FRAMES_H

#include "engine/callgraph/contexts.h"
#include "engine/spool/config.h"
#include "engine/spool/slotmem.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// No return address and stack pointer have this sum.
#define FRAMES_KEY_NONE (~SPOOL_FRAME_FLAGS)

extern struct frames {
    u32 top;                // counter: the last frame's address; totals follow
    u32 events, often;      // number of events; of those that do not need the simulation
    u32 late;               // counter: the slot with a replay's totals, plus one; 0: none
    u32 frame;              // bytes
    u8 place[SPOOL_EVENTS]; // index of an event among them
    bool begins, ends;      // patterns select functions at entry, or at exit
} frames;

// With --replay misses are found later, and with them their part of the costs of calls. For these
// there are separate totals, next to the misses, and a separate part of each frame. Changes of
// frames are put into the record, in order: by translated code, and by this hook
// (replay/recordbuf.c).
enum frames_late {
    FRAMES_ENTER, // the frame has been made
    FRAMES_LEAVE, // it has ended: adds to the counters of its edge, from this one on
    FRAMES_BACK,  // it was a signal's: the totals go back to their old values
};
extern void (*frames_record)(struct thread *t, enum frames_late what, const struct spool_frame *f,
                             u32 counter);
// Replays these entries.
extern void (*frames_simulate)(struct thread *t);
// A replay with tb_config.calls_lazy does not note the totals of misses when a frame is made: it
// has t->late_top, the last frame, and t->late_last, the last that has noted them. Before a total
// grows all frames without them do (frames_late_fill(), routine.c). A call that ends without has
// had no miss. Between replays all frames have noted them.
// Replays one of them. frame: the low half of its address.
void frames_replay(struct thread *t, enum frames_late what, u32 frame, u32 counter);
// What a thread needs for that.
void frames_thread_init(struct thread *t);
// All references that were made before are counted. Frames that have not noted the totals do so.
void frames_late_fill(struct thread *t);
// All records have been replayed, and the frames have been changed otherwise: all have the totals.
void frames_late_settle(struct thread *t, u64 top);

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

// The counters of a replay: another slot's area if another processor replays.
u32 frames_late_slot(const struct thread *t);

struct spool_edge *frames_edge(const struct spool_frame *f);
// The start of the function that contains addr; of the one that made f's call.
u64 frames_function(u64 addr);
u64 frames_callee(const struct spool_frame *f);

// Opens a call by w; `e`: its edge_of(), NULL with contexts, on which it depends then.
struct spool_edge *frames_edge_of(const struct contexts_way *w);
struct spool_frame *frames_enter(struct thread *t, const struct contexts_way *w,
                                 const struct spool_edge *e, u64 key, u64 sp, u32 flags);
struct spool_frame *frames_enter_root(struct thread *t, u64 target, u64 key, u64 sp);

// Closes the last call. simulated: all records have been replayed, so that the replay's totals are
// current; elsewhere: the call goes on, in another thread.
void frames_end(u64 *counters, bool simulated, bool elsewhere);
void frames_pop(u64 *counters);
// Closes frames whose stack is gone. Returns the edge of the last one, which led from the function
// that is on top now; NULL: there was none.
const struct spool_edge *frames_unwind(struct thread *t, u64 sp);

// Records the change of f, if there is recording.
void frames_tell(struct thread *t, enum frames_late what, const struct spool_frame *f, u32 counter);

// f notes the totals from `from` up to `to`; all frames that have not noted the rarely growing
// totals do so; f does, as a stack's first frame.
void frames_snapshot(struct spool_frame *f, const u64 *totals, u32 from, u32 to);
void frames_fill(struct thread *t);
void frames_fill_root(struct thread *t, struct spool_frame *f);
// Adds the cost of f since it was opened to `to`.
void frames_charge(const struct spool_frame *f, u64 *to, const u64 *totals);

// Frames from `first` on start to cost now; all totals are 0.
void frames_zero(u64 first, u64 end);

// Maps space for frames up to `end`.
void frames_reach(struct thread *t, u64 end);

#endif
