// SPDX-License-Identifier: MIT
//
// Three threads execute code whose constants another thread rewrites, four values in turn, while a
// timer's signals interrupt: each call returns one of these; after the last rewrite, the
// last one.
//
// varies: how often the threads call
// about: tiny-cache flush replay-flush
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "check.h"

typedef int (*function)(int);

static uint8_t *code;
static atomic_bool stop;
static atomic_int strange;

// mov $constant, %eax; test %edi, %edi; jz 1f; nop; 1: ret: the constant is aligned.
static const uint8_t plain[] = { 0xb8, 0, 0, 0, 0, 0x85, 0xff, 0x74, 0x01, 0x90, 0xc3 };
// xor %eax, %eax; nop; 1: or $constant, %eax; dec %edi; jnz 1b; ret: a block that loops to itself.
static const uint8_t loop[] = { 0x31, 0xc0, 0x90, 0x0d, 0, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3 };

#define PLAIN 3 // offsets: the constant is at the next multiple of 4
#define LOOP  256

static int call(int at, int arg)
{
    return ((function)(uintptr_t)(code + at))(arg);
}

static void *execute(void *arg)
{
    while (!stop) {
        if ((unsigned)call(PLAIN, 1) > 3 || (unsigned)call(LOOP, 5) > 3)
            strange = 1;
    }
    return arg;
}

static void ignore(int sig)
{
    (void)sig;
}

static void put(int at, int32_t value)
{
    __atomic_store_n((int32_t *)(void *)(code + at), value, __ATOMIC_RELEASE);
}

int main(void)
{
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
    struct sigaction sa = { .sa_handler = ignore, .sa_flags = SA_RESTART };
    pthread_t thread[3];

    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    memcpy(code + PLAIN, plain, sizeof(plain));
    memcpy(code + LOOP, loop, sizeof(loop));
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, execute, NULL) == 0);
    for (int i = 0; i < 50000; i++) {
        put(PLAIN + 1, i & 3);
        put(LOOP + 4, i & 3);
    }
    CHECK(call(PLAIN, 0) == 3 && call(LOOP, 1) == 3);
    stop = true;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(!strange);
    return check_failed;
}
