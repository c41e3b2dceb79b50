// SPDX-License-Identifier: MIT
// --calls=yes: the stacks that a program has left, and how they are found: by where the stack
// pointer was, by the call that they wait in, and by what lies around an address. A program may
// have a hundred thousand of them, and those on which nothing will ever be executed again stay, for
// nobody says which these are. Used by stacks.c alone, under its lock.
#ifndef QUERN_ENGINE_COUNT_LEFT_H
#define QUERN_ENGINE_COUNT_LEFT_H

#include <bsd/sys/tree.h>

#include "engine/callgraph/frames.h"
#include "engine/thread/threads.h"

#define SAVED_ABOVE 256 // what a fresh stack's first function finds above its beginning
#define SAVED_ALIKE 3   // so many calls that return to the same places are those of one, moved

// The last calls of a stack: where the last one returns to, and the others below it, from where its
// return address lies.
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
    u32 bridges; // beyond which it has gone on; `last` is relative to the first frame
    struct thread_bridge bridge[THREAD_BRIDGES];
    // left.c's
    u64 highest; // end among those below it in the tree of places
    u64 turn;    // they come back in the other order, where nothing else tells them apart
    u64 top_sp, back;
    struct saved_group *group;
    struct saved *older, *newer; // in the group
    RB_ENTRY(saved) place, call;
};

// From now on it can be found; its frames are in the record.
void saved_add(struct saved *l);
void saved_remove(struct saved *l);

// Where a call returns to; 0: nobody knows.
static inline u64 saved_return(const struct spool_frame *f)
{
    return f->sp == ~0ul ? 0 : (f->key - f->sp) & ~SPOOL_FRAME_FLAGS;
}

// Where that lies, of the last call of a stack.
const struct spool_frame *saved_top(const struct saved *l);

// The stack that was left last of those that are: waiting for their last call to return to target,
// with stack pointer `behind` then; left at sp; left next to sp, no further away than that, and
// above it in any case. NULL: there is none.
struct saved *saved_called(u64 target, u64 behind);
struct saved *saved_at(u64 sp);
struct saved *saved_near(u64 sp, u64 far);

// Of those that have sp between where they were left and their end the one that was left next to
// it, and for which is() is true.
struct saved *saved_around(u64 sp, bool (*is)(const struct saved *l, const void *arg),
                           const void *arg);
// Whether one was left between the two.
bool saved_between(u64 sp, u64 from);

// The last calls of a stack whose first frame is `base` and whose last is f.
struct saved_calls saved_calls_of(const struct spool_frame *base, const struct spool_frame *f);
// Whether control that is to be at target with stack pointer `behind` returns from the last of
// these, whose return address was at top_sp, and the stack has been copied elsewhere in between:
// the calls before it, too, return where they did, and lie as far apart.
bool saved_calls_moved(const struct saved_calls *calls, u64 top_sp, u64 target, u64 behind);
// A stack that was copied so.
struct saved *saved_moved(u64 target, u64 behind);

// All of them, one behind the other; NULL: there is none, or no more.
struct saved *saved_next(struct saved *l);

// How many stacks all searches have looked at: what the test counts.
extern u64 saved_looks;

#endif
