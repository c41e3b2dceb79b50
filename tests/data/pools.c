// SPDX-License-Identifier: MIT
//
// A pool by client requests: its blocks are of those that ask for them, until the pool is
// destroyed.
//
// D1 has 64 lines, LL 4096. first writes its block of 40 lines, second one of 24: each line misses
// D1 and LL. Then all 64 lines are written again, after `clear` has evicted them from D1.
//= 0 40 0 40 heap: first < run
//= 0 24 0 24 heap: second < run
//= 64 0 64 0 static: clear
//= 0 64 0 0 static: arena
//! --data-callers=2
#include "tests/data/bare.h"

enum { CREATE_MEMPOOL = 0x1303, DESTROY_MEMPOOL = 0x1304, MEMPOOL_ALLOC = 0x1305 };

static char arena[64 * LINE] __attribute__((aligned(LINE)));
static char clear[64 * LINE] __attribute__((aligned(LINE)));

static inline __attribute__((always_inline)) void request(long what, void *pool, void *at,
                                                          long bytes)
{
    long asked[6] = { what, (long)pool, (long)at, bytes };
    long answer = 0;

    __asm__ volatile("rolq $3, %%rdi\n\t"
                     "rolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\t"
                     "rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(asked)
                     : "cc", "memory");
}

NOINLINE static void first(void)
{
    request(MEMPOOL_ALLOC, &arena, arena, 40 * LINE);
    write_lines(arena, 40 * LINE);
}

NOINLINE static void second(void)
{
    request(MEMPOOL_ALLOC, &arena, arena + 40 * LINE, 24 * LINE);
    write_lines(arena + 40 * LINE, 24 * LINE);
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    request(CREATE_MEMPOOL, &arena, 0, 0);
    first();
    second();
    request(DESTROY_MEMPOOL, &arena, 0, 0);
    read_lines(clear, sizeof(clear));
    write_lines(arena, sizeof(arena));
    return 0;
}
