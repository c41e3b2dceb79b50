// SPDX-License-Identifier: MIT
//
// Instrumentation is switched on and off while other threads compute, call, sleep in system calls
// and end; then a child is forked and a program executed. Ends with 0 when every result is right.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <valgrind/callgrind.h>

#include "tests/requests/cachegrind.h"

#define THREADS 4

static atomic_int done;

__attribute__((noinline)) static long fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *compute(void *arg)
{
    long *wrong = arg;

    while (!done)
        *wrong += fib(12) != 144;
    return NULL;
}

static void *sleeper(void *arg)
{
    struct timespec t = { 0, 1000000 };

    while (!done)
        nanosleep(&t, NULL);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS + 1];
    long wrong[THREADS] = { 0 }, all = 0;
    int status;

    if (argc > 1) { // executed by itself
        fib(10);
        return 0;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, compute, &wrong[i]);
    pthread_create(&thread[THREADS], NULL, sleeper, NULL);
    for (int i = 0; i < 20; i++) {
        CALLGRIND_STOP_INSTRUMENTATION;
        CACHEGRIND_STOP_INSTRUMENTATION;
        all += fib(15) != 610;
        CALLGRIND_START_INSTRUMENTATION;
        CACHEGRIND_START_INSTRUMENTATION;
        all += fib(15) != 610;
        if (i % 5 == 0)
            CALLGRIND_ZERO_STATS;
    }
    CALLGRIND_DUMP_STATS;
    done = 1;
    for (int i = 0; i <= THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        all += wrong[i];
    CALLGRIND_STOP_INSTRUMENTATION;
    CACHEGRIND_STOP_INSTRUMENTATION;
    if (fork() == 0) {
        CALLGRIND_START_INSTRUMENTATION;
        CACHEGRIND_START_INSTRUMENTATION;
        all += fib(10) != 55;
        _exit(all != 0);
    }
    wait(&status);
    all += status != 0;
    if (fork() == 0) {
        execl("/proc/self/exe", argv[0], "executed", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    all += status != 0;
    printf("%ld wrong\n", all);
    return all != 0;
}
