// SPDX-License-Identifier: MIT
// Threads without shared data, for `make bench`: each writes at random into 256 KiB of its own,
// more than a D1 and less than an LL: nearly every reference misses the one and hits the other.
// Each does the same work whatever their number: the additional cost of a second one is the
// tool's. Prints a checksum. Must not depend on anything but its argument, the number of threads.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX    64
#define WORDS  (256 * 1024 / 8)
#define WRITES 100000000

static struct {
    _Alignas(64) uint64_t word[WORDS];
    pthread_t thread;
} own[MAX];

static void *work(void *arg)
{
    uint64_t *word = arg, x = 88172645463325252u;

    for (int i = 0; i < WRITES; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        word[x % WORDS] += x;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t sum = 0;

    if (n < 1 || n > MAX) {
        fprintf(stderr, "threads: there are 1 to %d, not %s\n", MAX, argv[1]);
        return 2;
    }
    for (int i = 0; i < n; i++)
        if (pthread_create(&own[i].thread, NULL, work, own[i].word)) {
            fprintf(stderr, "threads: cannot create number %d\n", i + 1);
            return 1;
        }
    for (int i = 0; i < n; i++)
        pthread_join(own[i].thread, NULL);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < WORDS; k++)
            sum = sum * 31 + own[i].word[k];
    printf("%016lx\n", (unsigned long)sum);
    return 0;
}
