// SPDX-License-Identifier: MIT
//
// A program that brings its own allocator: blocks by the calls that made them, memory that another
// call uses again, a block that moves, one that is cleared, one inside of another.
//
// D1 has 64 lines, 4 for each of 16 sets, LL 4096. All blocks are whole lines of `pool`.
//
// keep: 128 lines, written, then read. Each set sees 8 lines in turn: every reference misses D1;
// the reads hit LL.
//= 128 128 0 128 heap: keep < run
// one: 32 lines, written and freed. two: the same lines, after `clear` has evicted D1: 32 reads
// miss D1 and hit LL.
//= 0 32 0 32 heap: one < run
//= 0 64 0 64 static: clear
//= 32 0 0 0 heap: two < run
// grow: 16 lines, written. realloc() copies them to 32 others: it reads 16 lines of the old block,
// which hit, and writes 16 of the new one, which miss; grow writes all 32, of which 16 miss.
//= 0 16 0 16 heap: grow < run
//= 0 32 0 32 heap: again < grow
// zeros: calloc() clears 8 lines.
//= 0 8 0 8 heap: zeros < run
// arena: a block of 24 lines, of which the program's own allocator gives 4 away: these are written
// by inner, the rest by arena.
//= 0 20 0 20 heap: arena < run
//= 0 4 0 4 heap: inner < arena
// Nothing else of pool is touched.
//= 0 0 0 0 static: pool
//! --data-callers=2 --data-alloc=part:2:3
#include "tests/data/bare.h"

typedef unsigned long size_t;

static char pool[4096 * LINE] __attribute__((aligned(LINE)));
static char clear[64 * LINE] __attribute__((aligned(LINE)));
static char *given = pool, *freed;

void *malloc(size_t bytes);
void free(void *p);
void *calloc(size_t n, size_t bytes);
void *realloc(void *old, size_t bytes);

// The last block that was freed is the next one.
NOINLINE void *malloc(size_t bytes)
{
    char *p = freed;

    freed = 0;
    if (!p) {
        p = given;
        given += bytes;
    }
    return p;
}

NOINLINE void free(void *p)
{
    freed = p;
}

NOINLINE void *calloc(size_t n, size_t bytes)
{
    char *p = malloc(n * bytes);

    write_lines(p, (long)(n * bytes));
    return p;
}

NOINLINE void *realloc(void *old, size_t bytes)
{
    char *p = malloc(bytes);

    read_lines(old, 16 * LINE);
    write_lines(p, 16 * LINE);
    free(old);
    return p;
}

NOINLINE static char *part(char *from, size_t n, size_t bytes)
{
    __asm__ volatile("" : : "r"(n), "r"(bytes));
    return from + 8 * LINE;
}

NOINLINE static void keep(void)
{
    char *p = malloc(128 * LINE);

    write_lines(p, 128 * LINE);
    read_lines(p, 128 * LINE);
}

NOINLINE static void one(void)
{
    char *p = malloc(32 * LINE);

    write_lines(p, 32 * LINE);
    free(p);
}

NOINLINE static void two(void)
{
    read_lines(malloc(32 * LINE), 32 * LINE);
}

NOINLINE static char *again(char *p)
{
    p = realloc(p, 32 * LINE);
    __asm__ volatile("" : "+r"(p));
    return p;
}

NOINLINE static void grow(void)
{
    char *p = malloc(16 * LINE);

    write_lines(p, 16 * LINE);
    write_lines(again(p), 32 * LINE);
    freed = 0;
}

NOINLINE static void zeros(void)
{
    __asm__ volatile("" : : "r"(calloc(64, 8)));
}

NOINLINE static void inner(char *p)
{
    p = part(p, 4, LINE);
    write_lines(p, 4 * LINE);
}

NOINLINE static void arena(void)
{
    char *p = malloc(24 * LINE);

    inner(p);
    write_lines(p, 24 * LINE);
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    keep();
    one();
    write_lines(clear, sizeof(clear));
    two();
    grow();
    zeros();
    arena();
    return 0;
}
