// SPDX-License-Identifier: MIT
//
// Sixty threads, twenty at a time, in reused slots; every other one ends in the middle
// of its functions.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int work(long n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

static void *thread(void *arg)
{
    long n = (long)arg;

    for (int i = 0; i < 100; i++) {
        work(n + i);
        free(malloc(100));
    }
    if (n & 1)
        pthread_exit(NULL);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    pthread_t t[20];
    int v[500];

    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < 20; i++)
            pthread_create(&t[i], NULL, thread, (void *)i);
        for (int i = 0; i < 20; i++)
            pthread_join(t[i], NULL);
    }
    for (int i = 0; i < 500; i++)
        v[i] = i * 7919 % 500;
    qsort(v, 500, sizeof(*v), compare);
    printf("%d\n", v[3]);
    return 0;
}
