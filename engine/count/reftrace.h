// SPDX-License-Identifier: MIT
// --trace-refs=FILE: writes every simulated reference, in order, to a file (share/reftrace.h).
// References are then recorded and replayed in C (engine/replay/). Each thread replays and writes
// its own records, a buffer at a time, and only one at a time, because LL is shared.
//
// A write error ends the trace with a message; the run continues.
#ifndef QUERN_ENGINE_REFTRACE_H
#define QUERN_ENGINE_REFTRACE_H

#include "engine/thread/thread.h"
#include "share/reftrace.h"

extern bool reftrace_on;

// Makes the file; needs descriptors and the spool. A program started by exec (--trace-children=yes)
// has a file of its own if the name has %p, else none.
void reftrace_init(void);
// A new thread, whose caches are empty.
void reftrace_thread_init(struct thread *t);

// Around t's references. May be nested.
void reftrace_begin(struct thread *t);
void reftrace_end(struct thread *t);

// Between begin and end: what follows is of code at pc, in this mapping of the spool.
void reftrace_code(u32 map, u64 pc);
// The same, for single references. undone: simulated, but the instruction did not complete.
void reftrace_fetch(u64 pc, u32 len, bool undone);
// Sets pc, the instruction of the references and repetitions that follow.
void reftrace_at(u64 pc);
void reftrace_ref(enum reftrace_item kind, u64 addr, u32 size, bool undone);
void reftrace_cond(u64 pc, bool taken, bool undone);
void reftrace_indirect(u64 target);
void reftrace_again(void);
// A read that is counted but not simulated.
void reftrace_count_read(void);

// t's instruction at pc, in this mapping of the spool, has been or will be recorded, but does not
// complete.
void reftrace_take_back(struct thread *t, u32 map, u64 pc);

// t executes the instruction at pc, which is not simulated.
void reftrace_step(struct thread *t, u32 map, u64 pc);
// Sets the history of t's conditional branches (struct sim_branch).
void reftrace_history(struct thread *t, u64 history);

// The caches were emptied; the counts were cleared. The world is stopped.
void reftrace_cleared(void);
void reftrace_zeroed(void);

// Writes the current chunk to the file. reftrace_ends() also marks an end; the process may yet go
// on.
void reftrace_flush(void);
void reftrace_ends(void);
// A forked child continues from its parent's file, flushed just before: in a file of its own if the
// name has %p, else in none.
void reftrace_fork_child(bool shares_fds);
// Called by the replayer, which has no files.
void reftrace_stop(void);

#endif
