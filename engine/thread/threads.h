// SPDX-License-Identifier: MIT
// Threads: their areas and the list of them. Each thread of the address space has an area
// (thread.h) at the address of its slot (spool/slotmem.h). A slot is reused once the kernel says
// that its thread is gone.
//
// A thread may belong to another process that shares the memory (CLONE_VM without CLONE_THREAD): it
// is in the list and stops with the world (stopworld.h), but takes no part in the exit of this
// process. A vfork child has no area: it borrows its parent's.
#ifndef QUERN_ENGINE_THREADS_H
#define QUERN_ENGINE_THREADS_H

#include "engine/base/lock.h"
#include "engine/spool/slotmem.h"
#include "engine/thread/thread.h"

enum thread_stress { STRESS_OFF, STRESS_RUNS, STRESS_PAUSED };

// A system call of the client that was interrupted for a request from outside has to be restarted.
// INTERRUPTED: the kernel returns EINTR whenever a handler has run meanwhile. RESTARTED: as the
// handler's SA_RESTART says. CUT: a signal of the engine came when a part was done (struct
// thread_cut). REST: the call is made for the rest.
enum thread_again { AGAIN_NOT, AGAIN_INTERRUPTED, AGAIN_RESTARTED, AGAIN_CUT, AGAIN_REST };

// A call that is made in parts (syscalls/interrupted.h).
struct thread_cut {
    s64 result;  // of the last part
    bool broken; // the engine's signal interrupted it; else it ended by itself
    bool begun;  // the fields below are of this call
    u32 nr;
    u64 args[6];    // as the call was made
    u64 done, part; // done so far; asked for in the last part
    bool half;      // the last part was within one of several messages
    u64 iov[2];     // passed to the kernel in place of the client's
    u64 message[8]; // struct mmsghdr
};

// An action that is due before the thread continues, because it has entered or left the function at
// `at`, in the map of this number (--dump-before and similar options).
struct thread_due {
    bool is;
    u32 map;
    u64 at;
};

// A function has set the stack pointer to another stack, and may call others (callgraph/stacks.c):
// the old and the new stack pointer, and the last call then. maybe: or it has allocated on its own
// stack, as alloca() does, or has unwound it, as longjmp() does. taken: another thread continues on
// the old stack.
struct thread_bridge {
    u64 from, to, last;
    bool maybe, taken;
};

#define THREAD_BRIDGES 4

// Data of a thread that only C uses, at TA_OWN of the area, until the slot is reused.
struct thread_own {
    s32 tgid;      // process that the thread belongs to
    bool borrowed; // a vfork child runs in this block: tid and tgid are its own, or of both
    u32 loans;     // grows when that is set, and after the parent has all of the block back
    bool has_turn; // --serialize-threads
    bool exiting;
    u32 seccomp_mode; // as PR_GET_SECCOMP says
    struct seccomp_filter *seccomp_filters;
    struct seccomp_filter *seccomp_in_kernel; // the newest that is also in the kernel
    u32 given_up; // calls that gave up rights, including those of its ancestors
    u8 stress;    // enum thread_stress
    s32 stress_timer;
    u32 sample_us; // sampler.c: until the next sample; 0: there is no timer
    s32 sample_timer;
    s32 dying_tid;                // the slot's last thread, until it is gone
    u8 again;                     // enum thread_again
    s64 called[2], called_cpu[2]; // --collect-systime: when its call began, on both clocks
    // --dump-every-bb: the block that it was about to execute last, and its count then
    u32 block_counter; // plus one
    u64 block_count;
    struct thread_due dump_after, dump_before, zero_before;
    u32 bridges;
    struct thread_bridge bridge[THREAD_BRIDGES];
    s64 wait_until[2]; // seconds and ns of CLOCK_MONOTONIC at which its call times out; 0: none
    s64 wait_left[2];  // timeout passed to the call in place of the client's
    u64 wait_arg[3];   // io_uring_enter: the argument that points there
    struct thread_cut cut;
    // Functions that client requests have called: the stack pointer behind each return address.
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

// The thread whose area contains this address (of one of its stacks), or NULL.
// @signal-safe
struct thread *threads_of_address(u64 addr);

// Threads alive in the address space. threads_first() and t->next walk them with the world stopped
// or threads_lock() held.
u32 threads_count(void);
struct thread *threads_first(void);
void threads_lock(void);
void threads_unlock(void);

// A new area for a child of parent (NULL: for the first thread), with its counters, not yet in the
// list; NULL: no slot or no memory left. threads_free releases it, also when it is in the list.
struct thread *threads_new(struct thread *parent);
// Gives t the counters of a second slot, for a replayer on another processor (t->misses). When none
// of the first SPOOL_THREADS_FIXED slots is left, t has one set only.
void threads_more_counters(struct thread *t);
void threads_free(struct thread *t);
// Whether the area is one mapping with the kernel's guard regions: recordbuf.c then splits none
// off. In other areas each stack and each buffer is a mapping of its own.
bool threads_has_guards(const struct thread *t);
void threads_list_add(struct thread *t);

// A thread exits: it leaves the list. Its area stays in use until threads_slot_dying() was called
// and the kernel says that the thread is gone.
void threads_remove(struct thread *t);
void threads_slot_dying(struct thread *t);
// All threads of a process that only shares the memory, when it exits.
void threads_remove_process(s32 tgid);
// The kernel no longer knows it: it was killed together with its process, in shared memory. Never
// true of a thread that is alive, even while a child borrows its block or returns it.
bool threads_is_gone(const struct thread *t);
// @holds(threads_lock)
void threads_remove_gone(struct thread *t);

// Number of threads of one process in the list.
u32 threads_count_of(s32 tgid);

// Walks the live areas without a lock, from *slot = 0; NULL at the end. Areas and what they point
// to are never unmapped, but one may be cleared for its next thread meanwhile: read each field only
// once. @signal-safe
struct thread *threads_next_live(u32 *slot);

// In the forked child: t is the only thread.
void threads_fork_child(struct thread *t);

// End of the address range that areas of the first SPOOL_THREADS_FIXED slots have used so far.
u64 threads_area_end(void);

// Is t's process the one whose spool this is (and not one that only shares the memory)?
bool threads_is_profiled(const struct thread *t);

// threadstart.c sets the process whose spool this is.
void threads_set_profiled(s32 pid);

#endif
