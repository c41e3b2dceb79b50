// SPDX-License-Identifier: MIT
// Entries of the dispatcher (reentry.h).
#include "engine/thread/reentry.h"

void (*reentry_run)(struct thread *t);
void (*reentry_finished)(struct thread *t);
void (*reentry_control)(struct thread *t);
