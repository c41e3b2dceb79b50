// SPDX-License-Identifier: MIT
// --calls=yes: the stacks that a program goes to and from by setting the stack pointer, and whose
// calls are open on each. Used by calls.c alone.
#ifndef QUERN_ENGINE_COUNT_STACKS_H
#define QUERN_ENGINE_COUNT_STACKS_H

#include "engine/count/frames.h"

// In the forked child; of a thread that begins, or ends.
void stacks_fork_child(const struct thread *t);
void stacks_thread(struct thread *t);

// The stack pointer was set, and was calls_sp: the way out of functions (the edge of the last of
// them is returned, else NULL), or to another stack, or room on the same.
const struct spool_edge *stacks_set(struct thread *t);

// Whether the function on top has set the stack pointer, to another stack, and nothing else has
// happened since.
bool stacks_elsewhere(struct thread *t, u64 sp);

// Then control goes on at target without a call behind it, on the stack to which the stack pointer
// was set; it is `behind` there. Whether a function begins on it. `*last`: where from, if functions
// have been left.
bool stacks_switch(struct thread *t, u64 target, u64 behind, const struct spool_edge **last);

// What was left has cost nothing.
void stacks_zero(void);

#endif
