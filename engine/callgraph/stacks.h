// SPDX-License-Identifier: MIT
// --calls=yes: the stacks between which a program switches by setting the stack pointer, and whose
// calls are open on each. Only calls.c uses this file.
#ifndef QUERN_ENGINE_CALLGRAPH_STACKS_H
#define QUERN_ENGINE_CALLGRAPH_STACKS_H

#include "engine/callgraph/frames.h"

// In a forked child; when a thread starts or ends.
void stacks_fork_child(const struct thread *t);
void stacks_thread(struct thread *t);

// What the block that set the stack pointer does then.
enum stacks_then {
    STACKS_STAYS, // in its function
    STACKS_CALLS,
    STACKS_LEAVES, // by a jump or a return
};

// The stack pointer was set, and was calls_sp before: functions were left (returns the edge of the
// last of them, else NULL), or the stack was switched, or space was made on the same stack. If that
// is not known yet, the next call, jump or return tells.
const struct spool_edge *stacks_set(struct thread *t, enum stacks_then then);

// frames_unwind(), on the stack that the thread is on.
const struct spool_edge *stacks_unwind(struct thread *t, u64 sp);

// Whether the top function has set the stack pointer, perhaps to another stack, and nothing else
// has happened since. calls: whether it is certain to have.
bool stacks_elsewhere(struct thread *t, u64 sp, bool calls);

// Then control continues at target without a call, on the stack to which the stack pointer was set,
// where it is `sp_there`. direct: the jump has no other target. Returns whether a function starts
// there. `*last`: the source, if functions have been left.
bool stacks_switch(struct thread *t, u64 target, u64 sp_there, bool direct,
                   const struct spool_edge **last);

// Clears the costs of saved stacks.
void stacks_zero(void);

#endif
