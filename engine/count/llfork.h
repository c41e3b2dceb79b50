// SPDX-License-Identifier: MIT
// Sets of LL that lie together for a forked child. LL's tags are a page for each of the client's; a
// child that lives for a moment refers to a few sets on each of many pages, and has to copy them,
// or to have them mapped: two thirds of what its records take where a page costs 10 us. So its
// parent copies the sets that earlier children have referred to into one piece before the fork, and
// the child finds them there. All of them go back where they belong when the child has made so many
// references that it is no short one, forks, or starts a thread.
//
// While llfork_is_on() `vector_sets` shows no tags of LL, which leads routines to ll.c.
#ifndef QUERN_ENGINE_LLFORK_H
#define QUERN_ENGINE_LLFORK_H

#include "engine/base/types.h"

// LL has tags of 32 bits: so many sets, each `stride` after the one before.
void llfork_init(u32 *tags, u32 stride, u32 sets);

// In the parent, when what it has recorded has been simulated.
void llfork_before_fork(void);
// In the child of a fork, before anything is simulated there.
void llfork_fork_child(void);

extern bool llfork_on; // only llfork_is_on() reads it elsewhere
static inline bool llfork_is_on(void)
{
    return UNLIKELY(llfork_on);
}

// Where the tags of a set are now, which are going to be changed. llfork_is_on().
u32 *llfork_set(u32 set);

// The sets are where they belong from now on; `keep`: with what has become of them.
void llfork_end(bool keep);

#endif
