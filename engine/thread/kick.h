// SPDX-License-Identifier: MIT
// Timers that kick a thread of this process (stop.h).
#ifndef QUERN_ENGINE_KICK_H
#define QUERN_ENGINE_KICK_H

#include "engine/thread/thread.h"

// Makes one that sends t STOP_KICK_SIGNAL with this value. 0, or -errno: the kernel has no more.
long kick_create(const struct thread *t, u64 clock, u64 value, s32 *timer);
// Fires `us` microseconds from now, 0: never. again: and periodically after that.
void kick_arm(s32 timer, u64 us, bool again);

#endif
