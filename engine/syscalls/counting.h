// SPDX-License-Identifier: MIT
// Whether the client's instructions are counted: client requests switch that, and a run may begin
// without (--instr-at-start=no). What is translated while it is off has no counters and checks, so
// it costs what translated code costs alone; a switch drops all that was translated before.
#ifndef QUERN_ENGINE_COUNTING_H
#define QUERN_ENGINE_COUNTING_H

#include "engine/thread/thread.h"

// Before the first thread, and before anything is translated.
void counting_init(void);

// These stop the world. No lock may be held.
void counting_switch(struct thread *t, bool on);
// All that was counted so far is forgotten.
void counting_zero(struct thread *t);
// It is written as one more part of the profile, and then forgotten. why: of its "desc: Trigger:".
// 0 or -errno, after a message.
int counting_dump(struct thread *t, const char *why);

#endif
