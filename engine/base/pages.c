// SPDX-License-Identifier: MIT
// Hints to the kernel about memory (pages.h).
#include "engine/base/pages.h"

#include "engine/base/sys.h"

#define AHEAD 0x10000ul

static bool hints_off;

void pages_hints_off(void)
{
    hints_off = true;
}

void pages_huge(u64 start, u64 bytes)
{
    if (!hints_off)
        sys_madvise(start, bytes, MADV_HUGEPAGE);
}

void pages_ask_up(u64 *asked, u64 at, u64 limit)
{
    u64 from = *asked > at ? *asked : at, to;

    if (from >= limit)
        return;
    to = limit - from < AHEAD ? limit : PAGE_DOWN(from + AHEAD);
    *asked = to;
    if (!hints_off)
        sys_populate(from, to - from);
}

void pages_ask_down(u64 *asked, u64 at, u64 limit)
{
    u64 to = *asked < at ? *asked : at, from;

    if (to <= limit)
        return;
    from = to - limit < AHEAD ? limit : PAGE_UP(to - AHEAD);
    *asked = from;
    if (!hints_off)
        sys_populate(from, to - from);
}
