// SPDX-License-Identifier: MIT
// --calls=yes: the stacks that a program goes to and from by setting the stack pointer, and whose
// calls are open on each. Used by calls.c alone.
#ifndef QUERN_ENGINE_COUNT_STACKS_H
#define QUERN_ENGINE_COUNT_STACKS_H

#include "engine/callgraph/frames.h"

// In the forked child; of a thread that begins, or ends.
void stacks_fork_child(const struct thread *t);
void stacks_thread(struct thread *t);

// What the block does in which the stack pointer was set.
enum stacks_then {
    STACKS_STAYS, // in its function
    STACKS_CALLS,
    STACKS_LEAVES, // by a jump or a return
};

// The stack pointer was set, and was calls_sp: the way out of functions (the edge of the last of
// them is returned, else NULL), or to another stack, or room on the same. Where that is not known
// yet, the next call, jump or return says.
const struct spool_edge *stacks_set(struct thread *t, enum stacks_then then);

// frames_unwind(), on the stack that the thread is on.
const struct spool_edge *stacks_unwind(struct thread *t, u64 sp);

// Whether the function on top has set the stack pointer, perhaps to another stack, and nothing else
// has happened since. calls: and is certain to have.
bool stacks_elsewhere(struct thread *t, u64 sp, bool calls);

// Then control goes on at target without a call behind it, on the stack to which the stack pointer
// was set; it is `behind` there. direct: the jump knows no other target. Whether a function begins
// on it. `*last`: where from, if functions have been left.
bool stacks_switch(struct thread *t, u64 target, u64 behind, bool direct,
                   const struct spool_edge **last);

// What was left has cost nothing.
void stacks_zero(void);

#endif
