// SPDX-License-Identifier: MIT
//
// The core's memory natively.
#include <stdlib.h>
#include <string.h>

#include "report/core/heap.h"

void *heap_get(size_t size)
{
    return calloc(1, size ? size : 1);
}

void *heap_more(void *block, size_t old, size_t size)
{
    char *p = realloc(block, size ? size : 1);

    if (p && size > old)
        memset(p + old, 0, size - old);
    return p;
}

void heap_put(void *block)
{
    free(block);
}
