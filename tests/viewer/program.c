/* SPDX-License-Identifier: MIT */
/*
 * What `make check-kcachegrind` profiles: two threads, functions that call themselves and each
 * other, loops (jumps), and code inlined from a function of another name. What it computes means
 * nothing.
 */
#include <pthread.h>
#include <stdio.h>

#define TABLE 512

static unsigned table[TABLE];

static inline __attribute__((always_inline)) unsigned step(unsigned x)
{
    return x * 1664525u + 1013904223u;
}

static unsigned odd(unsigned n);

static __attribute__((noinline)) unsigned even(unsigned n)
{
    return n ? odd(n - 1) + 1 : 0;
}

static __attribute__((noinline)) unsigned odd(unsigned n)
{
    return n ? even(n - 1) + 3 : 0;
}

static __attribute__((noinline)) unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __attribute__((noinline)) unsigned fill(unsigned x, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < TABLE; i++)
            if ((x = step(x)) & 0x10000)
                table[i] += x >> 24;
    return x;
}

static void *work(void *arg)
{
    unsigned *n = arg;
    *n += fill(*n, 20) + fib(12);
    return NULL;
}

int main(void)
{
    unsigned a = 1, b = 2;
    pthread_t t;

    pthread_create(&t, NULL, work, &b);
    pthread_join(t, NULL);
    work(&a);
    a += even(20) + odd(15);
    printf("%u\n", a + b);
    return 0;
}
