// SPDX-License-Identifier: MIT
//
// Blocks over time: how many, how many at most, which are never missed, which misses are the first
// of a block in a line.
//
// D1 has 64 lines, LL 4096. All blocks begin a line. The lines of //% have: blocks, their bytes,
// those that are gone, their bytes, at most at one time, their bytes, blocks with a miss, their
// bytes, misses that are the first one in a line.
//
// reused: 10 blocks of 32 lines, each written and freed. All have the same memory, which stays in
// D1: only the first one misses.
//= 0 32 0 32 heap: reused < run
//% 10 20480 10 20480 1 2048 1 2048 32 heap: reused < run
// evicted: 3 of these blocks, the same memory; `clear` evicts D1 before each.
//= 0 96 0 0 heap: evicted < run
//% 3 6144 3 6144 1 2048 3 6144 96 heap: evicted < run
// kept: one block of 128 lines, written and then read. Each set of 4 ways gets 8 lines in turn, so
// all references miss.
//= 128 128 0 128 heap: kept < run
//% 1 8192 0 0 1 8192 1 8192 128 heap: kept < run
// half: 20 blocks of 2 lines; every second one is written, then, after `clear`, again.
//= 0 40 0 20 heap: half < run
//% 20 2560 0 0 20 2560 10 1280 20 heap: half < run
// peak: 3 blocks of 64 bytes, of which two are freed, then one more; not referenced.
//= 0 0 0 0 heap: peak < run
//% 4 256 2 128 3 192 0 0 0 heap: peak < run
// arena: a block of 20 lines, written; the program's own allocator gives away 4 of them, which are
// written again as a block of their own, after `clear`. small: the same of 12 lines, of which 4 to
// 11 are written before.
//= 0 20 0 20 heap: arena < run
//% 1 1280 0 256 1 1280 1 1280 20 heap: arena < run
//= 0 4 0 0 heap: inner < arena
//% 1 256 0 0 1 256 1 256 4 heap: inner < arena
//= 0 8 0 8 heap: small < run
//% 1 768 0 256 1 768 1 768 8 heap: small < run
//* 0 1 0 1 heap: small < run > +704
//= 0 4 0 0 heap: inner < small
//% 1 256 0 0 1 256 1 256 4 heap: inner < small
//! --data-callers=2 --data-alloc=part:2
#include "tests/data/bare.h"

typedef unsigned long size_t;

static char pool[2048 * LINE] __attribute__((aligned(LINE)));
static char clear[64 * LINE] __attribute__((aligned(LINE)));
static char *given = pool, *freed;

void *malloc(size_t bytes);
void free(void *p);

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

NOINLINE static char *part(char *from, size_t bytes)
{
    __asm__ volatile("" : : "r"(bytes));
    return from + 8 * LINE;
}

NOINLINE static void reused(void)
{
    for (int i = 0; i < 10; i++) {
        char *p = malloc(32 * LINE);

        write_lines(p, 32 * LINE);
        free(p);
    }
}

NOINLINE static void evicted(void)
{
    for (int i = 0; i < 3; i++) {
        char *p = malloc(32 * LINE);

        write_lines(clear, sizeof(clear));
        write_lines(p, 32 * LINE);
        free(p);
    }
    freed = 0;
}

NOINLINE static void kept(void)
{
    char *p = malloc(128 * LINE);

    write_lines(p, 128 * LINE);
    read_lines(p, 128 * LINE);
}

NOINLINE static void half(void)
{
    char *block[20];

    for (int i = 0; i < 20; i++)
        block[i] = malloc(2 * LINE);
    for (int pass = 0; pass < 2; pass++) {
        write_lines(clear, sizeof(clear));
        for (int i = 0; i < 20; i += 2)
            write_lines(block[i], 2 * LINE);
    }
}

NOINLINE static void peak(void)
{
    char *block[4];
    volatile int n = 4; // else there are four calls

    for (int i = 0; i < n; i++) {
        if (i == 3) {
            free(block[0]);
            free(block[1]);
        }
        block[i] = malloc(64);
    }
    __asm__ volatile("" : : "r"(block[3]));
}

NOINLINE static void inner(char *p)
{
    p = part(p, 4 * LINE);
    write_lines(p, 4 * LINE);
}

NOINLINE static void arena(void)
{
    char *p = malloc(20 * LINE);

    write_lines(p, 20 * LINE);
    write_lines(clear, sizeof(clear));
    inner(p);
}

NOINLINE static void small(void)
{
    char *p = malloc(12 * LINE);

    write_lines(p + 4 * LINE, 8 * LINE);
    write_lines(clear, sizeof(clear));
    inner(p - 4 * LINE);
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    reused();
    evicted();
    kept();
    half();
    peak();
    arena();
    small();
    return 0;
}
