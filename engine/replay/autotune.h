// SPDX-License-Identifier: MIT
// --replay=auto: whether a thread hands its full buffers over to another process or replays them
// itself, whichever takes less time here and now. Handing over does on most machines with an idle
// processor. It does not where data takes long from one processor to the other, or where the other
// processor is busy.
//
// The measure is the time between two full buffers, since a buffer always holds the same amount.
// From time to time the other way is tried for some buffers. Handing over has to be faster by an
// eighth, because it takes 1.5 to 2 times the processor time.
#ifndef QUERN_ENGINE_AUTOTUNE_H
#define QUERN_ENGINE_AUTOTUNE_H

#include "engine/base/types.h"

// Buffers are timed two at a time, since a thread that waits for the other process waits until two
// are empty. The number of timings; the two longest are left out.
#define AUTOTUNE_TIMINGS 5

struct autotune {
    u64 since;   // start of the current timing
    u64 settled; // time of the way used before
    u64 took[AUTOTUNE_TIMINGS];
    u32 state, n; // enum autotune_state in autotune.c; buffers in it
    u32 every;    // buffers until the other way is tried
    bool here;    // replayed by the thread itself
    bool shares;  // the thread also simulates where it hands over
};

// Before a thread's first buffer. shares: where buffers are handed over, the thread simulates those
// for which it would wait (count/ahead.h): that takes no more processor time.
void autotune_init(struct autotune *p, bool shares);

// A buffer is full; now: ns of a monotonic clock. Returns whether the thread replays it itself.
// @signal-safe
bool autotune_is_here(struct autotune *p, u64 now);

#endif
