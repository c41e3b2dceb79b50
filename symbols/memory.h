// SPDX-License-Identifier: MIT
//
// Failed allocations, recorded once for all: code that gets no memory can only answer "???", which
// its caller cannot tell from another answer. So each allocation that an answer depends on goes
// through memory_got(), and symbols_is_short() tells. The cache's allocations do not: without the
// cache the module is read.
#ifndef QUERN_SYMBOLS_MEMORY_H
#define QUERN_SYMBOLS_MEMORY_H

#include <stdbool.h>

// Returns p; NULL is recorded.
void *memory_got(void *p);
// Records another failure.
void memory_lacks(void);
bool memory_is_short(void);

#endif
