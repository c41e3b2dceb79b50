// SPDX-License-Identifier: MIT
// --collect-systime: the number of system calls, their time, and their CPU time. A repeated call
// starts again.
#ifndef QUERN_ENGINE_SYSTIME_H
#define QUERN_ENGINE_SYSTIME_H

#include "engine/thread/thread.h"

void systime_begin(struct thread *t);
// t->pc is after the instruction: the call is complete.
void systime_end(struct thread *t);

#endif
