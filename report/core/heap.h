// SPDX-License-Identifier: MIT
//
// The core's memory: malloc() natively (heap_host.c), so that AddressSanitizer sees every block;
// lists of free blocks over the growing memory of wasm32 in the page (heap_wasm.c).
#ifndef QUERN_REPORT_CORE_HEAP_H
#define QUERN_REPORT_CORE_HEAP_H

#include <stddef.h>

// Zeroed; NULL: there is no memory. A size of 0 gives a block, too.
void *heap_get(size_t size);
// count * size, or NULL when that is too much.
void *heap_array(size_t count, size_t size);
// Grows a block to `size` bytes, of which the first `old` are kept and the others zero; on NULL the
// old one stays.
void *heap_more(void *block, size_t old, size_t size);
void heap_put(void *block); // NULL is allowed

// Grows an array by half when it is full: false when there is no memory.
#define heap_room(array, count, cap) \
    heap_room_of((void **)&(array), sizeof(*(array)), (count), &(cap))
int heap_room_of(void **array, size_t size, size_t count, size_t *cap);

#endif
