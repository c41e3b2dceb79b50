// SPDX-License-Identifier: MIT
//
// Nothing but calls, for `make bench`: Fibonacci numbers by the definition. Optimisers would turn
// it into loops; the statement after each call prevents that. Prints the number; must not
// depend on anything but its argument.
#include <stdio.h>
#include <stdlib.h>

static unsigned __attribute__((noinline)) fib(unsigned n)
{
    unsigned a, b;

    if (n < 2)
        return n;
    a = fib(n - 1);
    __asm__ volatile("" : "+r"(a));
    b = fib(n - 2);
    __asm__ volatile("" : "+r"(b));
    return a + b;
}

int main(int argc, char **argv)
{
    printf("%u\n", fib(argc > 1 ? (unsigned)atoi(argv[1]) : 30));
    return 0;
}
