// SPDX-License-Identifier: MIT
//
// A thread-local variable of 200 lines, which each of 3 threads reads 3 times. D1 has 64 lines: all
// reads miss. The local variable of walk() has 100 lines, written once by each of 3 threads.
//~ 1800 - TLS: big
//~ - 300 stack
#include <pthread.h>
#include <string.h>

#define LINE 64

static _Thread_local char big[200 * LINE] __attribute__((aligned(LINE))) = { 1 };
static volatile char sink;

static void *walk(void *arg)
{
    char local[100 * LINE] __attribute__((aligned(LINE)));

    (void)arg;
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < 200; i++)
            sink = big[i * LINE];
    for (int i = 0; i < 100; i++)
        *(volatile char *)&local[i * LINE] = 1;
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, walk, NULL);
    walk(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
