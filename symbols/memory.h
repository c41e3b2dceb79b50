// SPDX-License-Identifier: MIT
//
// Memory that was not to be had, said once for all: who asks for some can only answer "???" without
// it, which is an answer like another to whoever writes it down. So each request that an answer
// depends on goes through memory_got(), and symbols_is_short() tells. What the cache asks for does
// not: without it the module is read.
#ifndef QUERN_SYMBOLS_MEMORY_H
#define QUERN_SYMBOLS_MEMORY_H

#include <stdbool.h>

// p, which is NULL where there was none.
void *memory_got(void *p);
// It was said otherwise that there was none.
void memory_lacks(void);
bool memory_is_short(void);

#endif
