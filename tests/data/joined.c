// SPDX-License-Identifier: MIT
//
// Allocators called where superblocks go through: 4000 rounds, and a place has been seen often
// enough after 48. No call of an allocator and no return from one may be missed: how many blocks
// each place has made, how many of these are gone, and how many there were at most at once follow
// from the source.
//
// D1 has 64 lines, LL 4096. Blocks take 256 places in turn, each of two lines: when a place's turn
// comes again, all of its lines are gone from D1. Each block is written once.
//
// plain: a block in each round, written and freed.
//= 0 4000 - - heap: plain < round
//% 4000 256000 4000 256000 1 64 4000 256000 4000 heap: plain < round
// nested: operator new calls malloc.
//= 0 4000 - - heap: nested < round
//% 4000 256000 4000 256000 1 64 4000 256000 4000 heap: nested < round
// through: by a pointer, which in each eighth round is that of a function that makes no block.
//= 0 3500 - - heap: through < round
//% 3500 224000 3500 224000 1 64 3500 224000 3500 heap: through < round
// tail: the call is a jump out of `tail`, so it returns to the caller of that.
//= 0 4000 - - heap: tail < round
//% 4000 256000 4000 256000 1 64 4000 256000 4000 heap: tail < round
// again: realloc makes a block; grown: another realloc puts one of 128 bytes in its place, whose
// second line is written.
//= 0 4000 - - heap: again < round
//% 4000 256000 4000 256000 1 64 4000 256000 4000 heap: again < round
//% 4000 512000 4000 512000 1 128 - - - heap: grown < again
// gone: malloc is left by longjmp in each fifth round: there is no block.
//= 0 3200 - - heap: gone < round
//% 3200 204800 3200 204800 1 64 3200 204800 3200 heap: gone < round
// both: malloc is called, and returns, where a function that makes no block was called in the first
// 2400 rounds.
//= 0 1600 - - heap: both < round
//% 1600 102400 1600 102400 1 64 1600 102400 1600 heap: both < round
// kept: freed by a pointer, where free() was called in the first 2400 rounds with no block.
//= 0 1600 - - heap: kept < round
//% 1600 102400 1600 102400 1 64 1600 102400 1600 heap: kept < round
//! --data-callers=2
#include "tests/data/bare.h"

typedef unsigned long size_t;

#define ROUNDS 4000u

#define PLACES 256u

static char pool[PLACES * 2 * LINE] __attribute__((aligned(LINE)));
static unsigned long given;
static int leave; // malloc does not return
static void *back[5];
static volatile unsigned long sum;

void *malloc(size_t bytes);
void *realloc(void *old, size_t bytes);
void free(void *p);
void *_Znwm(size_t bytes);
void *tail(size_t bytes); // as malloc

NOINLINE static char *take(void)
{
    if (leave)
        __builtin_longjmp(back, 1);
    return pool + given++ % PLACES * 2 * LINE;
}

NOINLINE void *malloc(size_t bytes)
{
    void *p = take();

    sum += bytes;
    return p;
}

NOINLINE void free(void *p)
{
    sum += p != 0;
}

NOINLINE void *realloc(void *old, size_t bytes)
{
    void *p = old ? old : malloc(bytes);

    sum += bytes;
    return p;
}

NOINLINE void *_Znwm(size_t bytes)
{
    void *p = malloc(bytes);

    sum++;
    return p;
}

NOINLINE static void *other(size_t bytes)
{
    sum += bytes;
    return 0;
}

static void use(char *p)
{
    *(volatile char *)p = 1;
    free(p);
}

NOINLINE static void plain(void)
{
    use(malloc(64));
}

NOINLINE static void nested(void)
{
    use(_Znwm(64));
}

NOINLINE static void through(void *(*call)(size_t))
{
    void *p = call(64);

    if (p)
        use(p);
}

__asm__(".globl tail\n"
        ".type tail, @function\n"
        "tail:\n"
        "    jmp malloc\n"
        ".size tail, . - tail\n");

NOINLINE static char *grown(char *p)
{
    p = realloc(p, 128);
    *(volatile char *)(p + LINE) = 1;
    return p;
}

NOINLINE static void again(void)
{
    char *p = realloc(0, 64);

    *(volatile char *)p = 1;
    free(grown(p));
}

NOINLINE static void gone(unsigned long number)
{
    leave = number % 5 == 4;
    if (!__builtin_setjmp(back))
        use(malloc(64));
    leave = 0;
}

NOINLINE static void both(void *(*call)(size_t))
{
    void *p = call(64);

    if (p)
        use(p);
}

NOINLINE static char *kept(void)
{
    char *p = malloc(64);

    *(volatile char *)p = 1;
    return p;
}

NOINLINE static void give(void (*call)(void *), char *p)
{
    call(p);
    sum++;
}

NOINLINE static void round(unsigned long number)
{
    plain();
    nested();
    through(number % 8 == 7 ? other : malloc);
    use(tail(64));
    again();
    gone(number);
    both(number < 2400 ? other : malloc);
    give(free, number < 2400 ? 0 : kept());
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    for (unsigned long i = 0; i < ROUNDS; i++)
        round(i);
    return 0;
}
