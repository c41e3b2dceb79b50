// SPDX-License-Identifier: MIT
//
// A program that brings its own allocator: blocks by the calls that made them, memory that is used
// again by another call, blocks that move, blocks within a line.
//
// D1 has 64 lines, LL 4096. All blocks come from `pool`, whose memory is found in LL after its
// first use.
//
// keep(): 128 lines, written once and read once: the second half of the block is in D1 after the
// writes, but reading begins with the first half and evicts it: 128 reads miss, too.
//= 128 128 0 128 heap: keep (heap.c:45)
// The 32 lines of one() are written, and again by two() at the same address after free(): these hit.
// 64 lines of clear() are then written and evict D1; two() misses with its reads.
//= 0 32 0 32 heap: one (heap.c:50)
//= 32 0 0 0 heap: two (heap.c:55)
//= 0 64 0 64 static: clear
// The block of grow() has 16 lines, written; realloc() copies it to another place, line by line:
// it reads 16 lines, which hit, and writes 16 others while both are known as they were before: the
// new place is a part of `pool` until realloc() returns. Then 16 of its 32 lines are new.
//= 0 16 0 16 heap: grow (heap.c:60)
//= 0 16 0 16 heap: grow (heap.c:63)
// What the allocator touches itself: its counter, and the 16 lines above.
//= 0 16 0 16 static: pool
//! --data-callers=1 --data-alloc=malloc_lines:1
#include "tests/data/bare.h"

typedef unsigned long size_t;

static char pool[4096 * LINE] __attribute__((aligned(LINE)));
static char clear[64 * LINE] __attribute__((aligned(LINE)));

// The last block that is freed is the next one that is given.
NOINLINE static void *take(size_t bytes)
{
    static size_t used;
    void *p = pool + used;

    used += (bytes + LINE - 1) & -(size_t)LINE;
    return p;
}

