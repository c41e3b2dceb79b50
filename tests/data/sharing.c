// SPDX-License-Identifier: MIT
// Two threads take turns: each has ROUNDS, the first one begins. Before, both have read all that
// they use, so each write from then on takes a line from the other thread. The first thread is
// invalidated at the beginning of each of its rounds but the first, ROUNDS - 1 = 99; the second one
// in each of its rounds, 100: 199 of each pair.
//
// The counters are each one reference in a turn (an instruction that reads and writes), so there
// can be no more invalidations than turns. The lock and what it guards are three: 3 * 199 = 597.
// How often a thread looks whether it is its turn depends on when it is woken.
//
// The second thread reads late.other first, which is false sharing, and then what the first has
// written, so it is true: 100. The first thread is not invalidated: the second one only reads.
//
//& false 199 199 static: near > near.first in first > near.second in second
//& true 199 199 static: total > total in first > total in second
//& true 199 597 static: guarded > guarded.lock in first > guarded.lock in second
//& true 199 - static: turn > turn in first > turn in second
//& true 100 - static: late > late.value in first > late.value in second
//& false 199 199 heap: main > long int[0] in first > long int[1] in second
//! --data-callers=1
//&- static: far
//&- static: alone
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 100
#define LINE   _Alignas(64)

static LINE struct {
    long first, second;
} near;
static LINE struct {
    long first;
    LINE long second;
} far;
static LINE struct {
    long first;
} alone;
static LINE volatile long total;
static LINE volatile struct {
    int lock;
    long value;
} guarded;
static LINE volatile struct {
    long value, other;
} late;
static LINE volatile int turn;
static LINE pthread_barrier_t both;
static long *block;
static long volatile *volatile unused;

// clang-format off: on one line, so that it is one place.
#define WAIT(mine)         \
    while (turn != (mine)) \
    syscall(SYS_futex, &turn, FUTEX_WAIT, !(mine), NULL)
#define GIVE(other)                               \
    do {                                          \
        turn = (other);                           \
        syscall(SYS_futex, &turn, FUTEX_WAKE, 1); \
    } while (0)
#define ADD(n) __asm__ volatile("incq %0" : "+m"(n))
// clang-format on

// All lines that are shared.
static void have_all(void)
{
    long sum = near.first + far.first + far.second + total + guarded.lock + late.value + turn;

    unused = (long volatile *)(sum + *(volatile long *)&near.first + *(volatile long *)block);
    pthread_barrier_wait(&both);
}

__attribute__((noinline)) static void first(long *pair)
{
    for (int i = 0; i < ROUNDS; i++) {
        WAIT(0);
        ADD(near.first);
        ADD(far.first);
        ADD(alone.first);
        ADD(total);
        guarded.lock = 1;
        ADD(guarded.value);
        guarded.lock = 0;
        late.value = i;
        ADD(pair[0]);
        GIVE(1);
    }
}

__attribute__((noinline)) static void second(long *pair)
{
    for (int i = 0; i < ROUNDS; i++) {
        WAIT(1);
        ADD(near.second);
        ADD(far.second);
        ADD(total);
        guarded.lock = 1;
        ADD(guarded.value);
        guarded.lock = 0;
        (void)late.other;
        (void)late.value;
        ADD(pair[1]);
        GIVE(0);
    }
}

static void *run_first(void *pair)
{
    have_all();
    first(pair);
    return NULL;
}

static void *run_second(void *pair)
{
    have_all();
    second(pair);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];

    block = aligned_alloc(64, 2 * sizeof(long));
    block[0] = block[1] = 0;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread[0], NULL, run_first, block);
    pthread_create(&thread[1], NULL, run_second, block);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    return total != 2L * ROUNDS;
}
