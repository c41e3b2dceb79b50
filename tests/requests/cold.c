// SPDX-License-Identifier: MIT
//
// A counted region three times, between others that are not counted: the contents of the caches at
// its start show in its misses.
#include <valgrind/callgrind.h>

#include "tests/requests/cachegrind.h"

static volatile char lines[64 * 64];

__attribute__((noinline)) static void walk(void)
{
    for (int i = 0; i < 64; i++)
        lines[i * 64]++;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        CALLGRIND_START_INSTRUMENTATION;
        CACHEGRIND_START_INSTRUMENTATION;
        walk();
        walk();
        CALLGRIND_STOP_INSTRUMENTATION;
        CACHEGRIND_STOP_INSTRUMENTATION;
        walk();
    }
    return 0;
}
