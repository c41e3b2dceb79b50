// SPDX-License-Identifier: MIT
// --calls=yes: who called whom, how often, and what it cost. Each thread has a stack of the calls
// that it has open, in the spool (struct spool_frame); a call's cost is what the thread's running
// totals have grown by. Translated code (translate/calls.c) makes and ends the usual calls itself,
// and comes here for what is not as usual. docs/design/040-call-graph.md says what is a call.
#ifndef QUERN_ENGINE_COUNT_CALLS_H
#define QUERN_ENGINE_COUNT_CALLS_H

#include "engine/callgraph/frames.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// With the spool mapped and the options read. Does nothing without --calls=yes, like all else here.
void calls_init(void);
// Of each counter the place of its event among a frame's totals, the first of which is counter
// *totals. After calls_init().
const u8 *calls_owner(u64 *totals);

// A thread begins at t->pc. It ends: what it has open ends, too.
void calls_thread_start(struct thread *t);
void calls_thread_end(struct thread *t);
// In the forked child: calls that other threads had open end here.
void calls_fork_child(struct thread *t);
// A vfork child has run on t's stack, and its parent goes on.
struct calls_save {
    u64 top, key, sp;
    u32 counter, plt;
    struct spool_frame_context context;
};
void calls_borrow_begin(struct thread *t, struct calls_save *save);
void calls_borrow_end(struct thread *t, const struct calls_save *save);

// What the counters of a block's instruction count, for calls_count(). @holds(translation lock)
void calls_own(const struct spool_counters *c, u32 first);

// A string instruction or gather has been recorded: its elements count now.
void calls_elements(struct thread *t, enum spool_event e, u64 n);

void calls_counted(struct thread *t, u32 counter, u64 n);
// A counter of a reference or a branch.
static inline void calls_count(struct thread *t, u32 counter, u64 n)
{
    t->misses[counter] += n;
    if (tb_config.calls)
        calls_counted(t, counter, n);
}

// What a block's executions have been put right by: its first insns instructions were executed `by`
// (1 or -1) times more. @signal-safe
void calls_corrected(struct thread *t, u32 block, u32 insns, s64 by);

// --collect-systime: the system call at `site` is done.
void calls_syscall(struct thread *t, u64 site, u64 time, u64 cpu);

// A handler is about to begin; and its return.
void calls_signal(struct thread *t);
void calls_signal_return(struct thread *t);
// The engine has made a call for the instruction at `site`: t is at the target.
void calls_called(struct thread *t, u64 site);
// The engine has executed the return of a call: the client's stack pointer is behind it.
void calls_returned(struct thread *t, u64 target);

// Whether a fault at addr says that there are more calls open than were mapped; then there is room,
// and *frame, the new frame's address, may have changed. @signal-safe
bool calls_full(struct thread *t, u64 addr, u64 *frame);

// All counters of a slot become 0, its totals, too: what it has open begins to cost now. keep()
// before, then zero(). The same of stacks that were left. With the world stopped, and what was
// recorded simulated.
struct calls_kept {
    u64 top, late;
};
struct calls_kept calls_keep(const u64 *counters);
void calls_zero(u64 *counters, u32 slot, struct calls_kept kept);
void calls_zero_left(void);
// Callgrind's request to collect, or no more. False: the run was not made for that.
bool calls_toggle(struct thread *t);

// Edges of calls through register or memory, where translated code looks for them: their addresses
// less that of calls_unknown, whose target is none.
#define CALLS_KNOWN 0x10000
extern u64 calls_known[CALLS_KNOWN];
extern const struct spool_edge calls_unknown;

// Before a block is emitted: edges of modules that are no more are forgotten. @holds(translation
// lock)
void calls_look(void);

// What a site adds to the target's address for that.
static inline u32 calls_place_of(u64 site)
{
    return (u32)(site * 0x9e3779b97f4a7c15ul >> 40);
}

static inline u32 calls_place(u64 site, u64 target)
{
    return (u16)((u32)target + calls_place_of(site));
}

// -- the helpers of translated code; what they are told is in desc.h, and t->client_sp --

// target in ibl_target.
void calls_call(struct thread *t, const u8 *ret);
void calls_return(struct thread *t, const u8 *ret);
void calls_jump(struct thread *t, const u8 *ret);
void calls_table(struct thread *t, const u8 *ret);
void calls_leave_plt(struct thread *t, const u8 *ret);
// The stack pointer has been set; calls_sp: what it was.
void calls_stack(struct thread *t, const u8 *ret);
// A branch was mispredicted.
void calls_miss(struct thread *t, const u8 *ret);

#endif
