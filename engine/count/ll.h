// SPDX-License-Identifier: MIT
// The simulated LL: one for all threads of a process.
//
// LL references are batched in the thread's area. With several threads a batch has some thousand
// references and one lock is taken for all of it; a reference of translated code's helpers is not
// batched and locks only its own sets, so threads meet only where their lines do. With one thread a
// batch has sixteen references, whose sets are prefetched from the host's memory together. A
// replaying process leaves batches ("pieces") of some thousand to the client's thread if that
// thread is idle.
#ifndef QUERN_ENGINE_LL_H
#define QUERN_ENGINE_LL_H

#include "engine/thread/thread.h"

// Reads the geometry and makes an empty LL. Called once, after spooler_map, with --cache-sim=yes.
void ll_init(void);
// Empties LL. The world is stopped.
void ll_clear(void);
// Whether there has been a second thread.
bool ll_is_shared(void);
// Called before the second thread starts, by its creator, which is not in LL.
void ll_share(void);
// Before a fork, when what was recorded has been simulated.
void ll_before_fork(void);
// In the child of a fork, which has one thread.
void ll_fork_child(void);
// Frees locks whose holder is dead.
void ll_forget_locks(void);
// Whether this process is the replayer and the client is dead. NULL in every other process.
extern bool (*ll_is_orphan)(void);

// A thread begins.
void ll_thread_init(struct thread *t);

// A reference to [addr, addr + size), at most a line, that has missed its L1. Counts the L1 miss at
// `counter` and an LL miss at `counter + 1`, or what levels.h says. LL_FETCH in size: it is a
// fetch; only if levels_are_on() or, with the id of its last line, with tb_config.ahead. Simulated
// after all batched references: at once or, in a replay, by the next ll_drain() at the latest.
// Changes vector registers if references are batched. @signal-safe
void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter);

// Before something is counted that a replay finds: what is batched belongs to calls that have noted
// totals, and others note them now (frames_late_fill()). As ll_drain().
void ll_counts(struct thread *t);

// Simulates all batched references, in order. Changes vector registers. @signal-safe
void ll_drain(struct thread *t);
// The same; with --data=yes what has missed may wait for its object (objects/many.h). For calls.
void ll_drain_batch(struct thread *t);
bool ll_has_pending(const struct thread *t);

// A batched reference, in the thread's area. routine.S writes these, too.
struct ll_pending {
    u64 addr;
    u32 counter;
    u32 size; // 0: within a line; LL_FETCH; LL_DONE; with tb_config.ahead as vector.h says
};

// Appends a reference as it is. As ll_ref().
void ll_append(struct thread *t, u64 addr, u32 size, u32 counter);
// Simulates these of t after all that are batched, or adds them to these, and counts them at
// t->misses. As ll_drain().
void ll_simulate(struct thread *t, struct ll_pending *from, struct ll_pending *end);

// For count/ahead.h: whether what t records is batched in pieces now, also while the replayer goes
// on. Then a second state's references may go to `at`; ll_ahead_full() is called when that is at a
// multiple of 64 KiB, ll_ahead_notes() before one of a frame that has not noted the totals.
bool ll_ahead_may(const struct thread *t);
void ll_ahead_begin(struct thread *a, u64 at);
extern void (*ll_ahead_full)(struct thread *a);
extern void (*ll_ahead_notes)(struct thread *a);

// For replays: the batch is full, t->ll is at a multiple of 64 KiB. As ll_drain().
void ll_full(struct thread *t);

// Before a replay of t's records; beside: the replayer does it, not the thread. As ll_drain().
void ll_beside(struct thread *t, bool beside);
// After the replay: drains the batch, or leaves it to whoever is idle. As ll_drain().
void ll_replayed(struct thread *t);

// Called by thread t while it waits for the replayer: simulates one piece, if there is one and
// nobody else is at it. False: there was nothing to do. As ll_drain().
bool ll_help(struct thread *t);
// Called by thread t before it waits so, and after it.
void ll_helps(struct thread *t, bool helps);
// Called by thread t before it sleeps on *word: it asks to be woken once when there is much to do.
// True: there is already.
bool ll_ask(struct thread *t, u32 *word);

// Whether routine.S may append references to the batch: LL's tags have 32 bits, as vector.S
// requires, or levels.c simulates.
bool ll_takes_batches(void);

#endif
