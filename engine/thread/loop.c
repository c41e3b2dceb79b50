// SPDX-License-Identifier: MIT
// Where threads go on (loop.h).
#include "engine/thread/loop.h"

void (*loop_run)(struct thread *t);
void (*loop_finished)(struct thread *t);
void (*loop_control)(struct thread *t);
