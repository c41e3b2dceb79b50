// SPDX-License-Identifier: MIT
// --trace-refs=FILE: every reference that is simulated, in its order, as a file
// (share/reftrace.h). With it references are recorded and replayed in C (engine/replay/), each
// thread its own, a buffer at a time: what a thread replays it writes, and nobody else replays
// meanwhile, for LL is everybody's.
//
// A file that cannot be written on ends the trace, with a sentence, and not the run.
#ifndef QUERN_ENGINE_REFTRACE_H
#define QUERN_ENGINE_REFTRACE_H

#include "engine/thread/thread.h"
#include "share/reftrace.h"

extern bool reftrace_on;

// With descriptors and spool there: makes the file. A program that was executed
// (--trace-children=yes) has one of its own when the name has %p, else none.
void reftrace_init(void);
// A thread begins, in empty caches.
void reftrace_thread_init(struct thread *t);

// Around whatever references t makes. May be nested.
void reftrace_begin(struct thread *t);
void reftrace_end(struct thread *t);

// Between them. undone: simulated, but the instruction came to nothing.
void reftrace_fetch(u64 pc, u32 len, bool undone);
// References and repetitions that follow are of the instruction at pc.
void reftrace_at(u64 pc);
void reftrace_ref(enum reftrace_item kind, u64 addr, u32 size, bool undone);
void reftrace_cond(u64 pc, bool taken, bool undone);
void reftrace_indirect(u64 target);
void reftrace_again(void);
// A read that is counted, and no more.
void reftrace_count_read(void);

// The instruction of t at pc has been recorded, or is, and is not done.
void reftrace_take_back(struct thread *t, u64 pc);

// t executes the instruction at pc, of which nothing is simulated.
void reftrace_step(struct thread *t, u64 pc);
// The history of t's conditional branches is this (struct sim_branch).
void reftrace_history(struct thread *t, u64 history);

// With the world stopped: the caches are empty, counts are forgotten.
void reftrace_cleared(void);
void reftrace_zeroed(void);

// What is there goes to the file; at an end (it may turn out that the process goes on) that is
// said.
void reftrace_flush(void);
void reftrace_ends(void);
// A forked child goes on from its parent's file, flushed just before: in one of its own when the
// name has %p, else in none.
void reftrace_fork_child(bool shares_fds);
// Whoever replays from now on has no files.
void reftrace_stop(void);

#endif
