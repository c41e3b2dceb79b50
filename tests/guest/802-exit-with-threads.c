// SPDX-License-Identifier: MIT
//
// The process ends while other threads compute, wait in the kernel, and hold a lock.
//
// varies: threads that run until the process ends
// about: replay-split

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int running, never;

static void *compute(void *arg)
{
    volatile uint64_t x = 1;

    (void)arg;
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    while (!never)
        x = x * 6364136223846793005u + 1;
    return NULL;
}

static void *wait_in_kernel(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
    while (!never)
        pause();
    return NULL;
}

static void *hold(void *arg)
{
    pthread_mutex_lock(&mutex);
    return wait_in_kernel(arg);
}

int main(void)
{
    void *(*kind[])(void *) = { compute, wait_in_kernel, hold, compute };
    pthread_t t;

    for (int i = 0; i < 4; i++)
        if (pthread_create(&t, NULL, kind[i], NULL))
            return 1;
    while (running < 4)
        usleep(1000);
    exit(0);
}
