// SPDX-License-Identifier: MIT
// Sets of LL gathered for a forked child. LL's tags take one page for each page of the client. A
// short-lived child refers to a few sets on each of many pages, and must copy or map these pages:
// two thirds of the time its records take where a page costs 10 us. So before a fork the parent
// copies the sets that earlier children used into one contiguous buffer, and the child works there.
// The child writes the sets back when it has made too many references to be a short one, when it
// forks, or when it starts a thread.
//
// While llfork_is_on(), `vector_sets` has no tags of LL, which sends routines to ll.c.
#ifndef QUERN_ENGINE_LLFORK_H
#define QUERN_ENGINE_LLFORK_H

#include "engine/base/types.h"

// LL has tags of 32 bits in `sets` sets, `stride` words apart.
void llfork_init(u32 *tags, u32 stride, u32 sets);

// In the parent, after its records have been replayed.
void llfork_before_fork(void);
// In the child of a fork, before it simulates anything.
void llfork_fork_child(void);

extern bool llfork_on; // only llfork_is_on() reads it elsewhere
static inline bool llfork_is_on(void)
{
    return UNLIKELY(llfork_on);
}

// The current address of a set's tags, for a caller that changes them. llfork_is_on() holds.
u32 *llfork_set(u32 set);

// Ends the use of the gathered sets; write_back: copies the changed ones to LL.
void llfork_end(bool write_back);

#endif
