// SPDX-License-Identifier: MIT
//
// Recursion: deep (Ackermann, a list walked by calls), wide (Fibonacci, queens), mutual. The stack
// passes through every cache.
#include <stdint.h>

int run(void);

#define NOINLINE __attribute__((noinline))

static int is_odd(unsigned n);

NOINLINE static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

NOINLINE static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

NOINLINE static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

NOINLINE static int queens(int n, unsigned columns, unsigned left, unsigned right)
{
    int found = 0;

    if (columns == (1u << n) - 1)
        return 1;
    for (int i = 0; i < n; i++) {
        unsigned bit = 1u << i;

        if (!((columns | left | right) & bit))
            found += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

static struct node {
    struct node *next;
    uint64_t value;
} nodes[3000];

NOINLINE static uint64_t sum_from_the_end(const struct node *n)
{
    volatile uint64_t frame[4]; // some space in each frame

    if (!n)
        return 0;
    frame[0] = n->value;
    return sum_from_the_end(n->next) + frame[0];
}

int run(void)
{
    if (ackermann(2, 40) != 83)
        return 1;
    if (fibonacci(17) != 1597)
        return 2;
    if (!is_even(2000) || is_odd(1000))
        return 3;
    if (queens(6, 0, 0, 0) != 4)
        return 4;
    for (int i = 0; i < 3000; i++) {
        nodes[i].value = (uint64_t)i;
        nodes[i].next = i + 1 < 3000 ? &nodes[i + 1] : 0;
    }
    return sum_from_the_end(nodes) != 3000ull * 2999 / 2;
}
