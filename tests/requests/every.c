// SPDX-License-Identifier: MIT
//
// Makes every request of valgrind.h, callgrind.h and cachegrind.h, and prints the answer: by
// the C library, because the requests themselves print elsewhere. The answers are those of
// Callgrind, except for those listed in docs/limits.md.
#include <stdio.h>
#include <string.h>

#include <valgrind/callgrind.h>
#include <valgrind/valgrind.h>

#include "tests/requests/cachegrind.h"

static long called(long thread)
{
    return thread + 1;
}

static void print(void)
{
    int n;

    n = VALGRIND_PRINTF("%d|%5d|%-5d|%05d|%u\n", -42, 7, 7, 7, 4000000000u);
    printf("printf %d\n", n);
    n = VALGRIND_PRINTF("%x|%X|%#x|%lx|%ld|%llu|%lu|%c|%%\n", 0xbeefu, 0xbeefu, 16u,
                        0xdeadbeefcafeul, -5l, 123456789012ull, 1ul, 'c');
    printf("printf %d\n", n);
    n = VALGRIND_PRINTF("%s|%10s|%-10s|\n", "text", "right", "left");
    printf("printf %d\n", n);
    // more arguments than registers hold, of both kinds
    n = VALGRIND_PRINTF("%d %d %d %d %d %d %d %f %f %f %f %f %f %f %f %f\n", 1, 2, 3, 4, 5, 6, 7,
                        1.0, -2.5, 0.1, 1e6, 123456.789, 0.0000005, 2.0 / 3, 8.0, 9.25);
    printf("printf %d\n", n);
    n = VALGRIND_PRINTF("two\nlines, ");
    printf("printf %d\n", n);
    n = VALGRIND_PRINTF("and their end\n");
    printf("printf %d\n", n);
    n = VALGRIND_PRINTF_BACKTRACE("here\n");
    printf("backtrace %d\n", n);
}

static void ask(void)
{
    char stack[64], place[64] = "nowhere";
    unsigned a, b;

    printf("errors %u\n", (unsigned)VALGRIND_COUNT_ERRORS);
    a = VALGRIND_STACK_REGISTER(stack, stack + sizeof(stack));
    b = VALGRIND_STACK_REGISTER(stack, stack + sizeof(stack));
    printf("stacks %u %u\n", a, b);
    VALGRIND_STACK_CHANGE(a, stack, stack + 32);
    VALGRIND_STACK_DEREGISTER(a);
    printf("command %d\n", (int)VALGRIND_MONITOR_COMMAND("no such command"));
    printf("place %d %s\n", (int)VALGRIND_MAP_IP_TO_SRCLOC(called, place), place);
    printf("call %ld\n", (long)VALGRIND_NON_SIMD_CALL0(called));
    VALGRIND_CLO_CHANGE("--no-such-option=1");
    VALGRIND_DISCARD_TRANSLATIONS(ask, 16);
    VALGRIND_MALLOCLIKE_BLOCK(stack, 16, 0, 0);
    VALGRIND_RESIZEINPLACE_BLOCK(stack, 16, 32, 0);
    VALGRIND_FREELIKE_BLOCK(stack, 0);
    VALGRIND_CREATE_MEMPOOL(stack, 0, 0);
    VALGRIND_DESTROY_MEMPOOL(stack);
    VALGRIND_DISABLE_ERROR_REPORTING;
    VALGRIND_ENABLE_ERROR_REPORTING;
    printf("other tools %u\n", (unsigned)VALGRIND_DO_CLIENT_REQUEST_EXPR(
                                   7, VG_USERREQ_TOOL_BASE('M', 'C'), 1, 2, 3, 4, 5));
    printf("unknown %u\n", (unsigned)VALGRIND_DO_CLIENT_REQUEST_EXPR(8, 0x1fff, 1, 2, 3, 4, 5));
}

int main(void)
{
    printf("running %u\n", (unsigned)RUNNING_ON_VALGRIND);
    print();
    ask();
    CACHEGRIND_STOP_INSTRUMENTATION;
    CACHEGRIND_START_INSTRUMENTATION;
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_ZERO_STATS;
    CALLGRIND_DUMP_STATS;
    CALLGRIND_DUMP_STATS_AT("a text\nof two lines");
    return 0;
}
