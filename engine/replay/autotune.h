// SPDX-License-Identifier: MIT
// Whether a thread's full buffers are handed over to another process or replayed by the thread
// itself, with --replay=auto: what takes less time here and now. Handing over is that on most
// machines with a processor to spare. It is not where what one processor wrote takes long to come
// to the other, or where something else runs there.
//
// The time between two full buffers is what counts, for a buffer always holds as much. Now and then
// the other way is tried for some buffers. Handing over has to be faster by an eighth: it takes 1.5
// to 2 times the processor time.
#ifndef QUERN_ENGINE_AUTOTUNE_H
#define QUERN_ENGINE_AUTOTUNE_H

#include "engine/base/types.h"

// Buffers are timed two at a time, since a thread that waits for the other process waits until two
// are empty. So many times, of which the two that took longest are left out.
#define AUTOTUNE_LOOKS 5

struct autotune {
    u64 since;   // when what is being timed began
    u64 settled; // what the way that was taken before took
    u64 took[AUTOTUNE_LOOKS];
    u32 state, n; // enum autotune_state in pace.c; buffers in it
    u32 every;    // buffers before the other way is tried
    bool here;    // replayed by the thread itself
};

// Before a thread's first buffer.
void autotune_init(struct autotune *p);

// A buffer is full, at a time in ns of a clock that does not go back: whether the thread replays it
// itself. @signal-safe
bool autotune_is_here(struct autotune *p, u64 now);

#endif
