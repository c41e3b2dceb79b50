// SPDX-License-Identifier: MIT
// Code that changes between two threads: the second starts when the first has ended, with the
// state that the first has left, and must execute the current code. Each calls through pointers, so
// a thread's table of targets is used.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>

#define PAGE   4096l
#define ROUNDS 300
#define PLACES 8

typedef int (*fn)(void);
static char *area;

static void put(char *p, int n)
{
    p[0] = (char)0xb8; // mov $n, %eax; ret
    memcpy(p + 1, &n, 4);
    p[5] = (char)0xc3;
}

static void *caller(void *arg)
{
    int n = *(int *)arg;

    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < PLACES; i++)
            CHECK(((fn)(uintptr_t)(area + i * PAGE))() == n + i);
    return NULL;
}

static void run(int n)
{
    pthread_t t;

    CHECK(pthread_create(&t, NULL, caller, &n) == 0 && pthread_join(t, NULL) == 0);
}

// In place, or by mapping anew.
static void change(int n, int anew)
{
    if (anew) {
        CHECK(munmap(area, PLACES * PAGE) == 0);
        CHECK(mmap(area, PLACES * PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area);
    } else {
        CHECK(mprotect(area, PLACES * PAGE, PROT_READ | PROT_WRITE) == 0);
    }
    for (int i = 0; i < PLACES; i++)
        put(area + i * PAGE, n + i);
    CHECK(mprotect(area, PLACES * PAGE, PROT_READ | PROT_EXEC) == 0);
}

int main(void)
{
    area = mmap(NULL, PLACES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int i = 0; i < ROUNDS && !check_failed; i++) {
        change(100 * i, i % 2);
        run(100 * i);
        run(100 * i); // with nothing changed in between
    }
    SAY("changed between threads");
    return check_failed;
}
