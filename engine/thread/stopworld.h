// SPDX-License-Identifier: MIT
// Stops all threads of the address space; parks a thread when another one does; takes turns. A
// thread is quiet when it is parked, in a system call of the client, or gone.
#ifndef QUERN_ENGINE_STOPWORLD_H
#define QUERN_ENGINE_STOPWORLD_H

#include "engine/thread/threads.h"

// With the spool mapped, before the first thread.
void stopworld_init(void);

// The dispatcher calls it when t->stop has STOP_PARK or STOP_YIELD; returns when the world resumes.
// deliver_pending() calls it, too, so one of the two is enough. The caller holds no lock.
void stopworld_park(struct thread *t);

// Stops all other threads of the address space: when it returns they are parked, in a system call
// of the client (they park when that returns), or gone. The caller holds no lock. When another
// thread is stopping the world already, the caller parks first: shared data may have changed since
// it last read them. Does not nest.
void stopworld_stop(struct thread *t);
void stopworld_resume(struct thread *t);

// The same for the exit of the process: only threads of t's process, with a time limit, never
// resumed. False: the time was over. In a second thread it never returns.
bool stopworld_stop_for_end(struct thread *t);
bool stopworld_is_ending(void);

// A thread has left the list: wakes whoever waits for it.
void stopworld_left(void);

// Engine C code is about to make a call that may take long: the thread counts as parked meanwhile.
// No lock may be held.
void stopworld_blocking_begin(struct thread *t);
void stopworld_blocking_end(struct thread *t);

// Sets bits in t->stop and kicks t if it runs. t may be any thread in the list.
void stopworld_kick(struct thread *t, u64 stop_bits);

// --serialize-threads: the turn. Taken before client code runs, given up around system calls of the
// client.
void stopworld_turn_take(struct thread *t);
void stopworld_turn_give(struct thread *t);

// Called, when set, by a thread that has taken the turn.
extern void (*stopworld_on_turn)(struct thread *t);

// In the forked child, after threads_fork_child().
void stopworld_fork_child(struct thread *t);

#endif
