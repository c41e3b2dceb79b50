// SPDX-License-Identifier: MIT
// Switches counting: by client requests, and at the start (--instr-at-start=no). Code that is
// translated while counting is off has no counters and no checks: it costs no more than
// translation. A switch drops all fragments.
#ifndef QUERN_ENGINE_COUNTING_H
#define QUERN_ENGINE_COUNTING_H

#include "engine/thread/thread.h"

// Before the first thread, and before anything is translated.
void counting_init(void);

// These stop the world. No lock may be held.
void counting_switch(struct thread *t, bool on);
// Zeroes all counts.
void counting_zero(struct thread *t);
// Writes the counts as the next part of the profile, then zeroes them. why: for its "desc:
// Trigger:". 0, or -errno after a message.
int counting_dump(struct thread *t, const char *why);

#endif
