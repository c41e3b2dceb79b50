// SPDX-License-Identifier: MIT
// Hints to the kernel about memory that will be touched. The first touch of a page faults, which
// costs 0.5 us. In some virtual machines it costs 12 us, a page of 2 MiB 130 us, and each page of a
// batch that is requested at once 7 us.
#ifndef QUERN_ENGINE_PAGES_H
#define QUERN_ENGINE_PAGES_H

#include "engine/base/types.h"

#define HUGE_PAGE 0x200000ul

// --no-hints: no hints from now on.
void pages_hints_off(void);

// Requests large pages, where there are such: for mapped memory that is not touched yet and that
// every process will touch completely.
void pages_huge(u64 start, u64 bytes);

// For memory that is allocated from one end on, and has reached `at`: populates the next pages, up
// to `limit`. *asked is the end of what was requested before; at first 0, or ~0 for memory that
// grows down. Threads that share the memory may request pages twice.
#define PAGES_NEAR 0x1000ul
void pages_ask_up(u64 *asked, u64 at, u64 limit);
void pages_ask_down(u64 *asked, u64 at, u64 limit);

static inline void pages_populate(u64 *asked, u64 at, u64 limit)
{
    if (at + PAGES_NEAR > *asked)
        pages_ask_up(asked, at, limit);
}

static inline void pages_ahead_down(u64 *asked, u64 at, u64 limit)
{
    if (at - PAGES_NEAR < *asked)
        pages_ask_down(asked, at, limit);
}

#endif
