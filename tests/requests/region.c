// SPDX-License-Identifier: MIT
//
// Counts between requests. `work` is a loop whose instructions are the same under every
// tool. Argument: the number of iterations outside of the counted region.
#include <stdlib.h>

#include <valgrind/callgrind.h>

#include "tests/requests/cachegrind.h"

static volatile int sum;

__attribute__((noinline)) static void work(int n)
{
    for (int i = 0; i < n; i++)
        sum += i;
}

__attribute__((noinline)) static void outer(int n)
{
    work(n);
    CALLGRIND_ZERO_STATS;
    work(1000);
    CALLGRIND_DUMP_STATS_AT("zeroed");
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;

    work(n);
    CALLGRIND_START_INSTRUMENTATION;
    CACHEGRIND_START_INSTRUMENTATION;
    work(1000);
    CALLGRIND_STOP_INSTRUMENTATION;
    CACHEGRIND_STOP_INSTRUMENTATION;
    work(n);
    if (argc > 2) {
        CALLGRIND_START_INSTRUMENTATION;
        outer(n);
        work(2000);
        CALLGRIND_DUMP_STATS;
        work(3000);
        CALLGRIND_STOP_INSTRUMENTATION;
    }
    return 0;
}
