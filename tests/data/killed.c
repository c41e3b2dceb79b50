// SPDX-License-Identifier: MIT
//
// Misses in blocks, statics and stacks of several threads until it is killed; says when all run.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE 64

static char table[1000 * LINE];
static pthread_barrier_t ready;

static void touch(volatile char *p, long lines)
{
    for (long i = 0; i < lines; i++)
        p[i * LINE]++;
}

static void *work(void *arg)
{
    char local[80 * LINE];

    (void)arg;
    pthread_barrier_wait(&ready);
    for (;;) {
        char *p = malloc(300 * LINE);

        touch(p, 300);
        touch(table, 1000);
        touch(local, 80);
        free(p);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int others = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;

    pthread_barrier_init(&ready, NULL, (unsigned)others + 1);
    for (int i = 0; i < others; i++)
        pthread_create(&t, NULL, work, NULL);
    if (write(1, "\n", 1) == 1)
        work(NULL);
    return 1;
}
