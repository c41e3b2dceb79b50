// SPDX-License-Identifier: MIT
//
// Threads with caches of their own, blocks that another thread made and frees, and a child process.
//
// D1 has 64 lines for each thread. main makes a block of 200 lines for each of 3 threads, which
// reads it 5 times: every read misses, also in the child, which reads the last block 7 times. Each
// thread takes a block of 80 lines from its own pool 100 times and writes it: no line of 80 is left
// in D1 when it is written again.
//~ 3000 0 heap: main
//~ 0 24000 heap: work
// In the child the counts of its parent until the fork come first: main's blocks are read by
// threads that have ended.
//+ 4400 0 heap: main
// Each thread reads its block by lines 5 times: 199 steps to the next line, 4 times back to the
// first one.
//> sequential 2985 2997 work > heap: main
//! --data-callers=1 --data-alloc=take_block:2 --data-free=give_block
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE    64
#define THREADS 3

struct job {
    _Alignas(LINE) char pool[80 * LINE];
    char *block;
};

static struct job job[THREADS];
static volatile char sink;

__attribute__((noinline, noclone)) char *take_block(char *pool, unsigned long bytes);
__attribute__((noinline, noclone)) void give_block(char *block);

char *take_block(char *pool, unsigned long bytes)
{
    __asm__ volatile("" : "+r"(pool) : "r"(bytes));
    return pool;
}

void give_block(char *block)
{
    __asm__ volatile("" : : "r"(block));
}

static void read_lines(const char *p, long lines)
{
    for (long i = 0; i < lines; i++)
        sink = p[i * LINE];
}

__attribute__((noinline)) static void *work(void *arg)
{
    struct job *j = arg;

    for (int i = 0; i < 5; i++)
        read_lines(j->block, 200);
    for (int i = 0; i < 100; i++) {
        char *p = take_block(j->pool, sizeof(j->pool));

        for (long k = 0; k < 80; k++)
            *(volatile char *)(p + k * LINE) = 1;
        give_block(p);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];

    for (int i = 0; i < THREADS; i++)
        job[i].block = aligned_alloc(LINE, 200 * LINE);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, &job[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    if (fork() == 0) {
        for (int i = 0; i < 7; i++)
            read_lines(job[THREADS - 1].block, 200);
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < THREADS; i++)
        free(job[i].block);
    return 0;
}
