// SPDX-License-Identifier: MIT
// Threads: their areas and the list of them. One area (thread.h) for each thread of the
// address space, at the place of a slot (spool/slotmem.h); slots are used again once the kernel says
// that their thread has gone.
//
// A thread may belong to another process that shares the memory (CLONE_VM without CLONE_THREAD): it
// is in the list, it is stopped with the world (world.h), but it does not take part in this
// process's end. A vfork child has no area: it borrows its parent's.
#ifndef QUERN_ENGINE_THREADS_H
#define QUERN_ENGINE_THREADS_H

#include "engine/base/lock.h"
#include "engine/spool/slotmem.h"
#include "engine/thread/thread.h"

enum thread_stress { STRESS_OFF, STRESS_RUNS, STRESS_PAUSED };

// A client's call that was broken off for a request from outside is to be made again. Whether the
// kernel says EINTR whenever a handler has run meanwhile, or as that handler's SA_RESTART has it.
// CUT: a signal of the engine's came while it had done a part (struct thread_cut). REST: it is made
// for the rest.
enum thread_again { AGAIN_NOT, AGAIN_INTERRUPTED, AGAIN_RESTARTED, AGAIN_CUT, AGAIN_REST };

// A call that is made in parts (syscalls/interrupted.h).
struct thread_cut {
    s64 result;  // of the last part
    bool broken; // the engine's signal has met that, else it ended of itself
    bool begun;  // what follows is this call's
    u32 nr;
    u64 args[6];    // as the call was made
    u64 done, part; // what it has done by now; what the last part was asked for
    bool half;      // the last part was of one of several messages
    u64 iov[2];     // what the kernel is shown: what the client has is its own
    u64 message[8]; // struct mmsghdr
};

// What is to be done before the thread goes on, for a function that it has entered or left
// (--dump-before and its like): that is at `at`, in the map of this number.
struct thread_due {
    bool is;
    u32 map;
    u64 at;
};

// A function has set the stack pointer to another stack, and may call others (callgraph/stacks.c):
// what it was, what it was set to, and which call was the last then. maybe: or has made room on its
// own, as alloca() does, or gone up on it, as longjmp() does. taken: another thread has gone on
// with what was left.
struct thread_bridge {
    u64 from, to, last;
    bool maybe, taken;
};

#define THREAD_BRIDGES 4

// What only C looks at, at the area's TA_OWN, until the slot is used again.
struct thread_own {
    s32 tgid;      // process that the thread belongs to
    bool borrowed; // a vfork child runs in this block: tid and tgid are its own, or of both
    u32 loans;     // goes up when that is set, and after its parent has all of it back
    bool has_turn; // --serialize-threads
    bool exiting;
    u32 seccomp_mode; // as PR_GET_SECCOMP says
    struct seccomp_filter *seccomp_filters;
    struct seccomp_filter *seccomp_in_kernel; // the newest that the kernel has, too
    u32 given_up; // calls that gave up rights, those of the threads that it comes from included
    u8 stress;    // enum thread_stress
    s32 stress_timer;
    u32 look_us; // looks.c: until the next look; 0: there is no timer
    s32 look_timer;
    s32 dying_tid;                // the slot's last thread, until it has gone
    u8 again;                     // enum thread_again
    s64 called[2], called_cpu[2]; // --collect-systime: when its call began, on both clocks
    // --dump-every-bb: the block that it was about to execute last, and how often it had by then
    u32 block_counter; // plus one
    u64 block_count;
    struct thread_due dump_after, dump_before, zero_before;
    u32 bridges;
    struct thread_bridge bridge[THREAD_BRIDGES];
    s64 wait_until
        [2]; // seconds and ns of CLOCK_MONOTONIC when its call is to come back; 0: any time
    s64 wait_left[2]; // what the call is told instead of the client's time
    u64 wait_arg[3];  // of io_uring_enter, what leads there
    struct thread_cut cut;
    // Functions that requests have called: the stack pointer behind each one's return address.
    u64 asked[8];
    u32 asked_count;
};

static inline struct thread_own *thread_own(const struct thread *t)
{
    return t->own;
}

static inline struct thread *thread_at_slot(u32 slot)
{
    return (struct thread *)slotmem_area(slot);
}

// The thread whose area holds this address (of one of its stacks); NULL when none does.
// @signal-safe
struct thread *thread_of_address(u64 addr);

// Threads alive in the address space. threads_first() and t->next walk them with the world stopped
// or threads_lock() held.
u32 threads_count(void);
struct thread *threads_first(void);
void threads_lock(void);
void threads_unlock(void);

// A new area for a child of parent (NULL: for the first thread), with its counters, not yet in the
// list; NULL: no slot or no memory left. threads_free gives it back, also when it is in the list
// already.
struct thread *threads_new(struct thread *parent);
// A second set of counters for t, another slot's, for what is counted on another processor
// (t->misses). When none of the first SPOOL_THREADS_NEAR slots is left it goes on with one.
void threads_more_counters(struct thread *t);
void threads_free(struct thread *t);
// Whether what must not be touched in its area is the kernel's guard regions, and it is one mapping
// (of whose neighbours log.c makes none). Of the others each stack and each buffer is one.
bool threads_has_guards(const struct thread *t);
void threads_list_add(struct thread *t);

// A thread ends: it is not in the list any more, while its area stays its own until
// threads_slot_dying and the kernel say that it is gone.
void threads_remove(struct thread *t);
void threads_slot_dying(struct thread *t);
// All of a process that only shares the memory, which ends.
void threads_remove_process(s32 tgid);
// The kernel knows it no more: killed together with its process, in shared memory. Never true of a
// thread that goes on, whatever child borrows its block or gives it back meanwhile.
bool threads_is_gone(const struct thread *t);
// @holds(threads_lock)
void threads_remove_gone(struct thread *t);

// Threads of one process in the list.
u32 threads_count_of(s32 tgid);

// Walks the live areas without a lock, from *slot = 0; NULL at the end. Areas and what they point
// to are never unmapped, but one may be emptied for its next thread meanwhile: each field is to be
// read once. @signal-safe
struct thread *threads_next_live(u32 *slot);

// In the forked child: t is the only thread.
void threads_fork_child(struct thread *t);

// End of the part of the address space that areas of near slots have used so far.
u64 threads_area_end(void);

// Is t's process the one whose spool this is (and not one that only shares the memory)?
bool threads_is_profiled(const struct thread *t);

// birth.c names the process whose spool this is.
void threads_set_profiled(s32 pid);

#endif
