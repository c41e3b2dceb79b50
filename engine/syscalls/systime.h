// SPDX-License-Identifier: MIT
// --collect-systime: how many system calls there were, how long they took, and how much of that the
// processor worked. A call that is made anew begins then.
#ifndef QUERN_ENGINE_SYSTIME_H
#define QUERN_ENGINE_SYSTIME_H

#include "engine/thread/thread.h"

void systime_begin(struct thread *t);
// t->pc is behind the instruction: the call is done.
void systime_end(struct thread *t);

#endif
