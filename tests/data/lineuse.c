// SPDX-License-Identifier: MIT
//
// Bytes of fetched lines that are referenced before they are evicted. Each line is followed
// (--data-use=1), so the numbers are known by hand: //# lines fetched, their bytes referenced.
//
// D1 has 64 lines of 64 bytes, 4 for each of 16 sets. `clear` evicts all others. All arrays begin a
// line.
//! --data-use=1 --data-callers=2
// keys: 100 structs of 64 bytes of which 8 are read, twice. More than D1 has, in order: each is
// fetched twice.
//# 200 1600 static: keys
// letters: a byte of each of 300 lines.
//# 300 300 static: letters
// full: 50 lines read by words of 8 bytes.
//# 50 3200 static: full
// united: the first word of 32 lines, then the fourth one, while they are in D1: 16 bytes. After
// `clear`, the first word again: 8 of 32 lines more.
//# 64 768 static: united
// stored: 4 bytes of 40 lines are written.
//# 40 160 static: stored
// across: 20 times 8 bytes, 4 at the end of a line and 4 of the next one: one miss, two lines.
//= 20 0 20 0 static: across
//# 40 160 static: across
// often: one word 1,024 times, so 1,023 of these references were to nothing new; then another one.
// quiet: one word 1,025 times: it is let go. The other word, which comes then, is not counted.
//# 1 16 static: often
//# 1 8 static: quiet
// from, to: `rep movsb` of 128 bytes from the middle of a line: 32, 64 and 32; and into two lines.
// filled: `rep stosq` of 10 lines. back: 100 bytes, from the last one to the first: 64, 36.
//# 3 128 static: from
//# 2 128 static: to
//# 10 640 static: filled
//# 2 100 static: back
// zeros: calloc() writes a byte of 8 lines, its caller another one, while they are in D1.
// large: 100 lines, more than D1 has: all are evicted before the second byte: fetched twice.
//# 8 16 heap: zeros < run
//# 200 200 heap: large < run
// pair: two variables in one line. What is fetched for the first counts what is used of both.
//# 1 12 static: first
//# 0 0 static: second
#include "tests/data/bare.h"

typedef unsigned long size_t;

static char pool[256 * LINE] __attribute__((aligned(LINE)));
static char clear[64 * LINE] __attribute__((aligned(LINE)));
static struct {
    long key, pad[7];
} keys[100] __attribute__((aligned(LINE)));
static char letters[300 * LINE] __attribute__((aligned(LINE)));
static long full[50 * 8] __attribute__((aligned(LINE)));
static long united[32 * 8] __attribute__((aligned(LINE)));
static int stored[40 * 16] __attribute__((aligned(LINE)));
static char across[40 * LINE] __attribute__((aligned(LINE)));
static long often[8] __attribute__((aligned(LINE)));
static long quiet[8] __attribute__((aligned(LINE)));
static char from[3 * LINE] __attribute__((aligned(LINE)));
static char to[2 * LINE] __attribute__((aligned(LINE)));
static char filled[10 * LINE] __attribute__((aligned(LINE)));
static char back[2 * LINE] __attribute__((aligned(LINE)));
// In one line, in this order.
__asm__(".local first, second\n"
        ".pushsection .bss\n"
        ".balign 64\n"
        ".type first, @object\n"
        ".type second, @object\n"
        "first: .zero 8\n"
        ".size first, 8\n"
        "second: .zero 56\n"
        ".size second, 56\n"
        ".popsection\n");
extern volatile long first;
extern volatile int second;

void *calloc(size_t n, size_t bytes);

NOINLINE void *calloc(size_t n, size_t bytes)
{
    static char *given = pool;
    char *p = given;

    given += n * bytes;
    write_lines(p, (long)(n * bytes));
    return p;
}

NOINLINE static void evict(void)
{
    write_lines(clear, sizeof(clear));
}

// Word `word` of each of n lines.
NOINLINE static void read_words(const volatile long *p, long n, long word)
{
    for (long i = 0; i < n; i++)
        (void)p[8 * i + word];
}

NOINLINE static void read_all(const volatile long *p, long n)
{
    for (long i = 0; i < n; i++)
        (void)p[i];
}

NOINLINE static void store_all(volatile int *p, long n)
{
    for (long i = 0; i < n; i++)
        p[16 * i] = 1;
}

NOINLINE static void read_across(void)
{
    for (long i = 0; i < 20; i++)
        (void)*(volatile long *)(across + 2 * LINE * i + LINE - 4);
}

NOINLINE static void repeat(const volatile long *p, long n)
{
    for (long i = 0; i < n; i++)
        (void)p[0];
    (void)p[5];
}

NOINLINE static void strings(void)
{
    void *d = to, *s = from + 32;
    long n = 128;

    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    d = filled;
    n = 80;
    __asm__ volatile("rep stosq" : "+D"(d), "+c"(n) : "a"(0L) : "memory");
    d = back + 99;
    n = 100;
    __asm__ volatile("std; rep stosb; cld" : "+D"(d), "+c"(n) : "a"(0) : "memory");
}

NOINLINE static void write_second(volatile char *p, long lines)
{
    for (long i = 0; i < lines; i++)
        p[LINE * i + 9] = 1;
}

NOINLINE static void zeros(void)
{
    write_second(calloc(8, LINE), 8);
}

NOINLINE static void large(void)
{
    write_second(calloc(100, LINE), 100);
}

int run(long argc, char **argv)
{
    (void)argc, (void)argv;
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < 100; i++)
            (void)*(volatile long *)&keys[i].key;
    read_lines(letters, sizeof(letters));
    read_all(full, 50 * 8);
    evict();
    read_words(united, 32, 0);
    read_words(united, 32, 3);
    evict();
    read_words(united, 32, 0);
    store_all(stored, 40);
    read_across();
    repeat(often, 1024);
    repeat(quiet, 1025);
    strings();
    zeros();
    large();
    (void)first;
    (void)second;
    return 0;
}
