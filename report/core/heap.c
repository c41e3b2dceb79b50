// SPDX-License-Identifier: MIT
//
// The part of the heap that both targets share.
#include "report/core/heap.h"

#include "report/core/base.h"

void *heap_array(size_t count, size_t size)
{
    size_t all;

    return __builtin_mul_overflow(count, size, &all) ? NULL : heap_get(all);
}

int heap_room_of(void **array, size_t size, size_t count, size_t *cap)
{
    size_t more = *cap + *cap / 2 + 16;
    size_t bytes;

    if (count < *cap)
        return true;
    if (__builtin_mul_overflow(more, size, &bytes))
        return false;
    void *grown = heap_more(*array, *cap * size, bytes);
    if (!grown)
        return false;
    *array = grown;
    *cap = more;
    return true;
}
