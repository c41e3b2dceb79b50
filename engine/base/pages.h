// SPDX-License-Identifier: MIT
// What the kernel is told of memory that will be touched. A page that is touched first is a fault,
// which costs 0.5 us; in some virtual machines 12 us, where one of 2 MiB costs 130, and each of
// several that are asked for at once 7.
#ifndef QUERN_ENGINE_PAGES_H
#define QUERN_ENGINE_PAGES_H

#include "engine/base/types.h"

#define HUGE_PAGE 0x200000ul

// --no-page-hints: from now on nothing is told.
void pages_say_nothing(void);

// Memory that is mapped and not touched yet, and that every process touches all over: large pages,
// where there are such.
void pages_huge(u64 start, u64 bytes);

// Memory that is given out from one end on, and is now at `at`: the pages that come next, up to
// `limit`. *asked is where what was asked for ends; at first 0, and ~0 for what grows down. Threads
// that are at the same memory may ask twice.
#define PAGES_NEAR 0x1000ul
void pages_ask_up(u64 *asked, u64 at, u64 limit);
void pages_ask_down(u64 *asked, u64 at, u64 limit);

static inline void pages_ahead(u64 *asked, u64 at, u64 limit)
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
