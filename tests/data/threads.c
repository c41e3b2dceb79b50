// SPDX-License-Identifier: MIT
//
// Threads with caches of their own, blocks that another thread made and frees, and a child process.
//
// D1 has 64 lines for each thread. main makes a block of 200 lines for each of 3 threads, which reads
// it 5 times: every read misses, also in the child, which reads the last block 7 times. Each thread
// makes 100 blocks of 96 lines and writes the last 80, which nothing else touches; the memory of one
// is that of the next, and no line of 80 is left in D1 when it is written again.
//~ 3000 0 heap: main
//~ - 24000 heap: work
// In the child the counts of its parent until the fork come first: main's blocks are read by
// threads that have ended.
//+ 4400 0 heap: main
//! --data-callers=1
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE    64
#define THREADS 3

static volatile char sink;

static void read_lines(const char *p, long lines)
{
    for (long i = 0; i < lines; i++)
        sink = p[i * LINE];
}

__attribute__((noinline)) static void *work(void *block)
{
    for (int i = 0; i < 5; i++)
        read_lines(block, 200);
    for (int i = 0; i < 100; i++) {
        char *p = aligned_alloc(LINE, 96 * LINE);

        for (long k = 16; k < 96; k++)
            *(volatile char *)(p + k * LINE) = 1;
        free(p);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    char *block[THREADS];

    for (int i = 0; i < THREADS; i++)
        block[i] = aligned_alloc(LINE, 200 * LINE);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, block[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    if (fork() == 0) {
        for (int i = 0; i < 7; i++)
            read_lines(block[THREADS - 1], 200);
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < THREADS; i++)
        free(block[i]);
    return 0;
}
