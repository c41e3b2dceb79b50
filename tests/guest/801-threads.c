// SPDX-License-Identifier: MIT
//
// Threads: many at once with locks, conditions, barriers, their own variables, cancellation;
// signals sent to one of them; fork while others run; thousands of short ones; the main one
// ends first.
//
// varies: threads, and loops that wait for them
// about: flush replay-split

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define THREADS 12

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long counter, turn;
static atomic_long atomic_counter;
static _Thread_local long own;
static _Thread_local volatile int signals;
static atomic_int signalled;
static atomic_bool stop;

static void *work(void *arg)
{
    long me = (long)(intptr_t)arg;

    own = me * 1000;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
        atomic_fetch_add(&atomic_counter, me);
        own++;
    }
    for (int round = 0; round < 5; round++) {
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != me)
            pthread_cond_wait(&turn_changed, &mutex);
        turn++;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&mutex);
    }
    return (void *)(intptr_t)own;
}

static void on_signal(int sig)
{
    (void)sig;
    signals++;
    atomic_fetch_add(&signalled, 1);
}

static void *wait_for_signals(void *arg)
{
    sem_post(arg);
    while (signals < 10)
        sched_yield();
    return (void *)(intptr_t)signals;
}

static void *spin(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop))
        atomic_fetch_add(&atomic_counter, 1);
    return NULL;
}

static void *for_ever(void *arg)
{
    sem_post(arg);
    while (!atomic_load(&stop))
        pause();
    return NULL;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *exit_process(void *arg)
{
    pthread_join(*(pthread_t *)arg, NULL); // the main thread
    fflush(stdout);
    exit(check_failed);
}

int main(void)
{
    static pthread_t main_thread;
    pthread_t t[THREADS];
    void *result;
    sem_t ready;

    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&ready, 0, 0);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, work, (void *)i) == 0);
    for (intptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(t[i], &result) == 0);
        CHECK((intptr_t)result == i * 1000 + 2000);
    }
    CHECK(counter == 2000 * THREADS && turn == 5 * THREADS);
    CHECK(atomic_counter == 2000 * THREADS * (THREADS - 1) / 2);

    signal(SIGUSR1, on_signal);
    CHECK(pthread_create(&t[0], NULL, wait_for_signals, &ready) == 0);
    sem_wait(&ready);
    for (int i = 1; i <= 10; i++) {
        pthread_kill(t[0], SIGUSR1);
        while (atomic_load(&signalled) < i)
            sched_yield();
    }
    pthread_join(t[0], &result);
    CHECK((intptr_t)result == 10 && signals == 0);

    CHECK(pthread_create(&t[0], NULL, for_ever, &ready) == 0);
    sem_wait(&ready);
    pthread_cancel(t[0]);
    pthread_join(t[0], &result);
    CHECK(result == PTHREAD_CANCELED);

    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, spin, NULL);
    for (int i = 0; i < 15; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
            _exit(syscall(SYS_gettid) == getpid() ? i : 100);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);

    for (intptr_t i = 0; i < 300; i++) {
        CHECK(pthread_create(&t[0], NULL, nothing, (void *)i) == 0);
        pthread_join(t[0], &result);
        CHECK((intptr_t)result == i);
    }
    main_thread = pthread_self();
    CHECK(pthread_create(&t[0], NULL, exit_process, &main_thread) == 0);
    pthread_exit(NULL);
}
