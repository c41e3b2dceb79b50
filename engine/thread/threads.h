// SPDX-License-Identifier: MIT
// Threads: their areas, the list of them, birth and end, and stopping the world. One area (thread.h) for each thread of the
// address space, at a fixed place for each slot; slots are used again once the kernel says that their thread has gone.
//
// A thread may belong to another process that shares the memory (CLONE_VM without CLONE_THREAD): it is in the list, it is stopped
// with the world, but it does not take part in this process's end. A vfork child has no area: it borrows its parent's.
#ifndef QUERN_ENGINE_THREADS_H
#define QUERN_ENGINE_THREADS_H

#include "engine/base/lock.h"
#include "engine/signal/signal.h"
#include "engine/thread/thread.h"

enum thread_stress { STRESS_OFF, STRESS_RUNS, STRESS_PAUSED };

// What only C looks at, one for each slot, kept when the slot is reused.
struct thread_own {
    s32 tgid;      // process that the thread belongs to
    bool borrowed; // a vfork child runs in this block
    bool has_turn; // --serialize-threads
    bool exiting;
    u32 seccomp_mode; // as PR_GET_SECCOMP says
    struct seccomp_filter *seccomp_filters;
    struct seccomp_filter *seccomp_in_kernel; // the newest that the kernel has, too
    u8 stress;                                // enum thread_stress
    s32 stress_timer;
    s32 dying_tid; // the slot's last thread, until it has gone
};

static inline struct thread_own *thread_own(struct thread *t)
{
    return (struct thread_own *)t->extra[0];
}

static inline struct thread *thread_at_slot(u32 slot)
{
    return (struct thread *)(THREAD_AREA_BASE + (u64)slot * THREAD_AREA_STRIDE);
}

// The thread whose area holds this address (of one of its stacks); NULL when none does. @signal-safe
struct thread *thread_of_address(u64 addr);

// The first thread: area, %gs, slot 0, counters, code cache and profiler data. Everything is blocked; regs and pc are zero.
struct thread *threads_init_main(void);

// The calling thread.
static inline struct thread *thread_self(void)
{
    struct thread *t;
    __asm__ volatile("mov %%gs:%c1, %0" : "=r"(t) : "i"(TH_SELF));
    return t;
}

// dispatch_run calls it when t->stop has STOP_PARK or STOP_YIELD; returns when the world goes on. Also called by
// signal_deliver_pending(), so one of the two is enough. The caller holds no lock.
void threads_park(struct thread *t);

// Stops all other threads of the address space: when it returns they are parked, in a system call of the client (then they park
// when it returns), or gone. No lock may be held. When another thread is stopping the world already, the caller is parked first: what it
// knew about shared data before the call may have changed. Does not nest.
void threads_stop_world(struct thread *t);
void threads_resume_world(struct thread *t);

// The same for the end of the process: only threads of t's process, bounded in time, never resumed.
void threads_stop_for_end(struct thread *t);

// Another thread of t's process that blocks none of these signals and does not end: its id, 0 when there is none. @signal-safe
s32 threads_find_open(struct thread *t, u64 signals);

// Has another thread of t's process taken a signal that it has not delivered yet? An exec would lose it.
bool threads_any_noted(struct thread *t);

// Engine C code is about to make a call that may take long: the thread counts as parked meanwhile. No lock may be held.
void threads_blocking_begin(struct thread *t);
void threads_blocking_end(struct thread *t);

// --stress: no preemption while the client's call is made.
void threads_stress_pause(struct thread *t);
void threads_stress_resume(struct thread *t);

// Threads alive in the address space. threads_first() and t->next walk them with the world stopped or threads_lock() held.
u32 threads_count(void);
struct thread *threads_first(void);
void threads_lock(void);
void threads_unlock(void);

// Sets bits in t->stop and makes t look at them soon. t may be any thread in the list.
void threads_poke(struct thread *t, u64 stop_bits);

// A new area for a child of t, not yet in the list; NULL: no slot or no memory left. Once its signal state is made and it is
// in the list, threads_abort_birth takes all of it back.
struct thread *threads_new(struct thread *t);
void threads_list_add(struct thread *t);
void threads_abort_birth(struct thread *t);

// The first thing that a new thread does, with everything blocked: %gs, tid, the kernel's signal stack.
void threads_start(struct thread *t);

// In the forked child: t is the only thread.
void threads_fork_child(struct thread *t);

// exit, exit_group, and an end by signal. threads_exit goes back to the call, at t->pc, when a signal has to be delivered first. threads_end_process ends the process of t, with the profile when it is the profiled one.
_Noreturn void threads_exit(struct thread *t, int code);
_Noreturn void threads_end_process(struct thread *t, u32 kind, int code);

// End of the part of the address space that thread areas have used so far.
u64 threads_area_end(void);

// Is t's process the one whose spool this is (and not one that only shares the memory)?
bool threads_is_profiled(const struct thread *t);

// --serialize-threads: the turn. Taken before client code runs, given up around system calls of the client.
void threads_turn_take(struct thread *t);
void threads_turn_give(struct thread *t);

#endif
