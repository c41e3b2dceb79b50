// SPDX-License-Identifier: MIT
// --replay=process and split: full buffers are replayed beside the client, by a process that
// shares its memory and nothing else: no descriptor, no signal, no place in its process group, and
// no thread of it. A thread has TA_LOGS buffers by turns: while some wait, it fills the next, and
// comes to wait only when all are full; it sleeps then until one at most is left, for a sleep costs
// as much as half a buffer. If nobody is at one of them, its thread takes the oldest back: with no
// idle processor it is as with --replay=inline. With that the process is there as well: when
// SIGKILL ends the client, it replays what is left.
//
// The order in which the references of one thread are simulated is that of one thread alone, and so
// are the counts. @threads: the functions are called by the thread that t is, or with t quiet.
#ifndef QUERN_ENGINE_REPLAYER_H
#define QUERN_ENGINE_REPLAYER_H

#include "engine/base/sys.h"
#include "engine/thread/thread.h"

// With the spool mapped, before the first thread.
void replayer_init(void);

// As clone(), on a stack of its own: the new process calls run, which does not return. Its number
// is left in *tid by the flags for that. Returns it or -errno.
long replayer_clone(u64 flags, u64 stack, u32 *tid, void (*run)(void));

// Starts the process where it is to be and is not: a child of fork begins without, and the client
// may wait or fail to exec. @signal-safe
void replayer_start(void);

// Whether t may hand over a buffer: there is a replayer.
bool replayer_is_there(void);

// Whether t is to do so with the buffer that is full now: always, or with --replay=auto when there
// is a processor for it, too, as far as the client's threads go, and it is faster (pace.h). Asked
// once for each buffer. @signal-safe
bool replayer_pays(struct thread *t);

// A thread begins in an area that is new, or another thread's before.
void replayer_thread_init(struct thread *t);

// Waits until one buffer more may be handed over, and the one behind it in turn be filled.
// @signal-safe
void replayer_make_room(struct thread *t);

// The complete records in [from, end) shall be replayed, behind those handed over before.
// @signal-safe
void replayer_hand_over(struct thread *t, const u64 *from, const u64 *end);

// All that t has handed over has been replayed when this returns. @signal-safe
void replayer_settle(struct thread *t);

// What the timer of replayer_bound() says.
#define REPLAYER_END_MAGIC 0x51756e74686556aeul

// The process ends, and t replays what is left: not for ever. (The client has its timers no more.)
// What replayer_bound_over() is told then.
s32 replayer_bound(const struct thread *t);
void replayer_bound_over(s32 timer);

// Whether a signal that t got was for what it replays. Does not come back where that does not end:
// the thread gives up, with a sentence. @signal-safe
bool replayer_takes_signal(const struct thread *t, int sig, const struct k_siginfo *info);

// The process is to end, and has when this returns; what waits is left to the threads. Before the
// memory is left by an exec or an end, and before the client waits for children of all kinds. No
// thread starts it again before replayer_allow().
void replayer_stop(void);
void replayer_allow(void);

// The child of a fork has none.
void replayer_fork_child(void);

#endif
