// SPDX-License-Identifier: MIT
//
// Collecting goes on and off: in functions of its own, as suites wrap the request, around dumps and
// zero. With --collect-atstart=no, or toggled by `bench`.
#include <valgrind/callgrind.h>

#include "tests/requests/cachegrind.h"

static volatile int sum;

__attribute__((noinline)) static void work(int n)
{
    for (int i = 0; i < n; i++)
        sum += i;
}

__attribute__((noinline)) static void toggle(void)
{
    CALLGRIND_TOGGLE_COLLECT;
}

__attribute__((noinline)) static void bench(void)
{
    work(1000);
}

int main(void)
{
    work(10);
    toggle();
    work(100);
    toggle();
    work(500);
    bench();
    CALLGRIND_DUMP_STATS_AT("first");
    CALLGRIND_TOGGLE_COLLECT;
    work(50);
    CALLGRIND_ZERO_STATS;
    work(60);
    CALLGRIND_TOGGLE_COLLECT;
    work(70);
    return 0;
}
