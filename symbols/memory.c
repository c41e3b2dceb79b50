// SPDX-License-Identifier: MIT
//
// See memory.h. For the whole process: after one failure, no later answer is certain.
#include "symbols/memory.h"

#include <stddef.h>

static bool lacks;

void *memory_got(void *p)
{
    if (!p)
        memory_lacks();
    return p;
}

void memory_lacks(void)
{
    __atomic_store_n(&lacks, true, __ATOMIC_RELAXED);
}

bool memory_is_short(void)
{
    return __atomic_load_n(&lacks, __ATOMIC_RELAXED);
}
