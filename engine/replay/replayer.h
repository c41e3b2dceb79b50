// SPDX-License-Identifier: MIT
// --replay=process and split: a process beside the client replays full buffers. It shares the
// client's memory and nothing else: no descriptor, no signal, no process group, no thread. A thread
// has TA_RECORD_BUFFERS buffers, used in turn: while some are queued, it fills the next. When all
// are full it sleeps until at most one is left, because a sleep costs as much as half a buffer. If
// nobody replays one of them, the thread takes the oldest back: without an idle processor this
// works like --replay=inline. Where caches or a machine are simulated it does not wait idly: it
// simulates the buffer that is full, before its turn (count/ahead.h). With --replay=inline the
// process exists, too: it replays what is left when SIGKILL ends the client.
//
// The references of one thread are simulated in their order, so counts are the same. @threads: the
// functions are called by thread t, or while t is quiet.
#ifndef QUERN_ENGINE_REPLAYER_H
#define QUERN_ENGINE_REPLAYER_H

#include "engine/base/sys.h"
#include "engine/thread/thread.h"

// After the spool is mapped, before the first thread.
void replayer_init(void);

// As clone(), on a stack of its own: the new process calls run, which does not return. The flags
// make the kernel store its pid in *tid. Returns the pid or -errno.
long replayer_clone(u64 flags, u64 stack, u32 *tid, void (*run)(void));

// Starts the process if it should exist and does not: a child of fork has none, and the client may
// wait or fail to exec. @signal-safe
void replayer_start(void);

// Whether t may hand over a buffer: there is a replayer.
bool replayer_is_there(void);

// Whether t should hand over the buffer that is full now: always, or with --replay=auto if the
// client's threads leave a processor idle and it is faster (autotune.h). Called once for each
// buffer. @signal-safe
bool replayer_pays(struct thread *t);

// A thread begins, in an area that is new or was another thread's.
void replayer_thread_init(struct thread *t);

// Queues the complete records in [from, end) for replay. @signal-safe
void replayer_hand_over(struct thread *t, const u64 *from, const u64 *end);

// A buffer is full. Waits until it can be handed over, and the next one filled; or, where t may,
// simulates it in t, ahead of its turn (count/ahead.h). Whether it did that: t may then fill the
// same buffer again, unless ahead_keeps(): then the next one. For a salvage after SIGKILL,
// replayer_ahead_over() is called when the buffer has been emptied. @signal-safe
bool replayer_ahead(struct thread *t, const u64 *from, const u64 *end);
void replayer_ahead_over(struct thread *t, const u64 *from);

// Waits until everything that t has handed over has been replayed. @signal-safe
void replayer_settle(struct thread *t);

// The value that the timer of replayer_bound() sends.
#define REPLAYER_END_MAGIC 0x51756e74686556aeul

// The process ends, and t replays what is left, for a limited time. (The client's timers are gone.)
// Returns the argument of replayer_bound_over().
s32 replayer_bound(const struct thread *t);
void replayer_bound_over(s32 timer);

// Whether a signal that t got concerns its replay. Does not return if the replay is endless: the
// thread gives up with a message. @signal-safe
bool replayer_takes_signal(const struct thread *t, int sig, const struct k_siginfo *info);

// Ends the process before it returns; threads replay what is queued. Called before an exec or an
// exit leaves the memory, and before the client waits for children of all kinds. No thread starts
// the process again before replayer_allow().
void replayer_stop(void);
void replayer_allow(void);

// The child of a fork has none.
void replayer_fork_child(void);

#endif
