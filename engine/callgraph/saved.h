// SPDX-License-Identifier: MIT
// --calls=yes: the stacks that a program has left. They are found by the stack pointer at that
// time, by the call that they wait in, and by an address among their frames. A program may have a
// hundred thousand of them, and those on which nothing will ever be executed again stay, because
// nothing tells which these are. Only stacks.c uses this file, under its lock.
#ifndef QUERN_ENGINE_CALLGRAPH_SAVED_H
#define QUERN_ENGINE_CALLGRAPH_SAVED_H

#include <bsd/sys/tree.h>

#include "engine/callgraph/frames.h"
#include "engine/thread/threads.h"

#define SAVED_ABOVE 256 // bytes above the start of a new stack's first function
#define SAVED_ALIKE 3   // this many calls with the same return addresses: one stack, moved

// The last calls of a stack: the return address of the last one, and the others below it, relative
// to where that return address is stored.
struct saved_calls {
    u64 back, n;
    u64 from[SAVED_ALIKE], to[SAVED_ALIKE];
};

// Stacks whose last calls are the same.
struct saved_group;

// A stack.
struct saved {
    struct spool_saved *at; // its frames
    u64 sp, end;
    u32 bridges; // that it has crossed; `last` is relative to the first frame
    struct thread_bridge bridge[THREAD_BRIDGES];
    // saved.c only
    u64 highest; // end in its subtree of the tree of places
    u64 turn;    // last in, first out, where nothing else tells them apart
    u64 top_sp, back;
    struct saved_group *group;
    struct saved *older, *newer; // in the group
    RB_ENTRY(saved) place, call;
};

// Adds a stack to the searches; its frames are in the record.
void saved_add(struct saved *l);
void saved_remove(struct saved *l);

// The return address of a call; 0: unknown.
static inline u64 saved_return(const struct spool_frame *f)
{
    return f->sp == ~0ul ? 0 : (f->key - f->sp) & ~SPOOL_FRAME_FLAGS;
}

// The frame with that address, of the last call of a stack.
const struct spool_frame *saved_top(const struct saved *l);

// The stack that was left last of those that: wait for their last call to return to target, with
// stack pointer `sp_there` then; were left at sp; were left next to sp, at most that far away, and
// above it. NULL: there is none.
struct saved *saved_called(u64 target, u64 sp_there);
struct saved *saved_at(u64 sp);
struct saved *saved_near(u64 sp, u64 far);

// Of the stacks that contain sp, between where they were left and their end, the one left nearest
// to it for which is() is true.
struct saved *saved_around(u64 sp, bool (*is)(const struct saved *l, const void *arg),
                           const void *arg);
// Whether a stack was left between the two.
bool saved_between(u64 sp, u64 from);

// The last calls of a stack whose first frame is `base` and whose last is f.
struct saved_calls saved_calls_of(const struct spool_frame *base, const struct spool_frame *f);
// Whether control that continues at target with stack pointer `sp_there` returns from the last of
// these calls, whose return address was at top_sp, and the stack has been copied elsewhere in
// between: the calls before it have the same return addresses and distances.
bool saved_calls_moved(const struct saved_calls *calls, u64 top_sp, u64 target, u64 sp_there);
// A stack that was copied in this way.
struct saved *saved_moved(u64 target, u64 sp_there);

// Iterates over all stacks; NULL: first; returns NULL at the end.
struct saved *saved_next(struct saved *l);

// How many stacks all searches have visited: for the test.
extern u64 saved_visits;

#endif
