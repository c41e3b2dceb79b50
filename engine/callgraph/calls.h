// SPDX-License-Identifier: MIT
// --calls=yes: who called whom, how often, and what it cost. Each thread has a stack of open calls
// in the spool (struct spool_frame). The cost of a call is the growth of the thread's running
// totals. Translated code (translate/calls.c) opens and closes ordinary calls itself, and calls
// this file for all others. docs/design/040-call-graph.md defines what a call is.
#ifndef QUERN_ENGINE_CALLGRAPH_CALLS_H
#define QUERN_ENGINE_CALLGRAPH_CALLS_H

#include "engine/callgraph/frames.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "share/spool.h"

// After the spool is mapped and the options are read. Without --calls=yes it does nothing, like all
// functions here.
void calls_init(void);
// For each counter the index of its event among a frame's totals, of which counter *totals is the
// first. After calls_init().
const u8 *calls_owner(u64 *totals);

// A thread starts at t->pc. A thread ends, and with it its open calls.
void calls_thread_start(struct thread *t);
void calls_thread_end(struct thread *t);
// In a forked child: the open calls of other threads end.
void calls_fork_child(struct thread *t);
// A vfork child has run on t's stack; its parent continues.
struct calls_save {
    u64 top, key, sp;
    u32 counter, plt;
    struct spool_frame_context context;
};
void calls_borrow_begin(struct thread *t, struct calls_save *save);
void calls_borrow_end(struct thread *t, const struct calls_save *save);

// Sets the events of the counters of a block's instruction, for calls_count(). @holds(translation
// lock)
void calls_own(const struct spool_counters *c, u32 first);

// A string instruction or gather has been recorded: counts its elements now.
void calls_elements(struct thread *t, enum spool_event e, u64 n);

void calls_counted(struct thread *t, u32 counter, u64 n);
// Adds to a counter of a reference or a branch.
static inline void calls_count(struct thread *t, u32 counter, u64 n)
{
    t->misses[counter] += n;
    if (tb_config.calls)
        calls_counted(t, counter, n);
}

// A correction of a block's executions: its first insns instructions were executed `by` (1 or -1)
// times more. @signal-safe
void calls_corrected(struct thread *t, u32 block, u32 insns, s64 by);

// --collect-systime: the system call at `site` has returned.
void calls_syscall(struct thread *t, u64 site, u64 time, u64 cpu);

// A handler is about to start; a handler returns.
void calls_signal(struct thread *t);
void calls_signal_return(struct thread *t);
// The engine has executed the call at `site`: t is at the target.
void calls_called(struct thread *t, u64 site);
// The engine has executed a return: the client's stack pointer is above the return address.
void calls_returned(struct thread *t, u64 target);

// Whether a fault at addr means that the mapped frames are used up. Then more are mapped, and
// *frame, the new frame's address, may have changed. @signal-safe
bool calls_full(struct thread *t, u64 addr, u64 *frame);

// Clears all counters of a slot, its totals included: open calls start to cost now. keep() before,
// then zero(); saved stacks, too. The world is stopped, and all records have been replayed.
struct calls_kept {
    u64 top, late;
};
struct calls_kept calls_keep(const u64 *counters);
void calls_zero(u64 *counters, u32 slot, struct calls_kept kept);
void calls_zero_left(void);
// Callgrind's request to start or stop collecting. False: the options do not allow it.
bool calls_toggle(struct thread *t);

// The table in which translated code looks up edges of calls through register or memory: their
// addresses, relative to calls_unknown, which has no target.
#define CALLS_KNOWN 0x10000
extern u64 calls_known[CALLS_KNOWN];
extern const struct spool_edge calls_unknown;

// Before a block is emitted: forgets edges of unmapped modules. @holds(translation lock)
void calls_forget_unmapped(void);

// The number that a site adds to the target's address in that table.
static inline u32 calls_place_of(u64 site)
{
    return (u32)(site * 0x9e3779b97f4a7c15ul >> 40);
}

static inline u32 calls_place(u64 site, u64 target)
{
    return (u16)((u32)target + calls_place_of(site));
}

// -- the helpers of translated code; their arguments are in helperdesc.h, and t->client_sp --

// target in ibl_target.
void calls_call(struct thread *t, const u8 *ret);
void calls_return(struct thread *t, const u8 *ret);
void calls_jump(struct thread *t, const u8 *ret);
void calls_table(struct thread *t, const u8 *ret);
void calls_leave_plt(struct thread *t, const u8 *ret);
// The stack pointer has been set; calls_sp: its old value.
void calls_stack(struct thread *t, const u8 *ret);
// A branch was mispredicted.
void calls_miss(struct thread *t, const u8 *ret);

#endif
