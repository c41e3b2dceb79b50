// SPDX-License-Identifier: MIT
// Large pages (huge.h).
#include "engine/base/huge.h"

#include "engine/base/sys.h"

static bool forbidden;

void huge_forbid(void)
{
    forbidden = true;
}

void huge_prefer(u64 start, u64 bytes)
{
    if (!forbidden)
        sys_madvise(start, bytes, MADV_HUGEPAGE);
}
