// SPDX-License-Identifier: MIT
// Threads: many at once and many in turn, thread-local storage, mutexes and conditions,
// cancellation, signals to one thread and to any that does not block them, robust mutexes, a
// thread's own mask and alternate stack, raw clone.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static __thread long tls = 5;
static long sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int flag;

static void *adder(void *arg)
{
    tls = (long)arg;
    for (int i = 0; i < 20000; i++) {
        __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
        if (tls != (long)arg)
            abort();
    }
    return (void *)(tls * 2);
}

static void *nothing(void *arg)
{
    return arg;
}

static void *waiter(void *arg)
{
    pthread_mutex_lock(&mutex);
    while (!flag)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static int cleaned;
static int to_clean; // threads that have registered a cleanup
static void cleanup(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST); // by two threads at once
}

static void *sleeper(void *arg)
{
    pthread_cleanup_push(cleanup, NULL);
    __atomic_add_fetch(&to_clean, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return arg;
}

static void *spinner(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(cleanup, NULL);
    __atomic_add_fetch(&to_clean, 1, __ATOMIC_SEQ_CST);
    for (;;)
        __asm__ volatile("");
    pthread_cleanup_pop(0);
    return arg;
}

static pthread_mutex_t robust;
static void *dies_with_lock(void *arg)
{
    pthread_mutex_lock(&robust);
    return arg;
}

static volatile pid_t taker;
static void taken(int sig)
{
    (void)sig;
    taker = (pid_t)syscall(SYS_gettid);
}

static volatile pid_t opener_tid;
static sem_t ready;
static void *opener(void *arg)
{
    sigset_t s;

    opener_tid = (pid_t)syscall(SYS_gettid);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &s, NULL);
    sem_post(&ready);
    while (!flag)
        usleep(1000);
    return arg;
}

static void *own_altstack(void *arg)
{
    stack_t ss, old;

    if (sigaltstack(NULL, &old) || old.ss_flags != SS_DISABLE)
        return (void *)1;
    ss.ss_sp = malloc(65536);
    ss.ss_size = 65536;
    ss.ss_flags = 0;
    if (sigaltstack(&ss, NULL) || sigaltstack(NULL, &old) || old.ss_sp != ss.ss_sp)
        return (void *)2;
    (void)arg;
    return NULL;
}

static int raw_value;
static int raw_thread(void *arg)
{
    *(int *)arg = 7;
    syscall(SYS_exit, 0);
    return 0;
}

int main(void)
{
    pthread_t t[16];
    void *ret;

    for (long i = 0; i < 16; i++)
        CHECK(pthread_create(&t[i], NULL, adder, (void *)i) == 0);
    for (long i = 0; i < 16; i++) {
        pthread_join(t[i], &ret);
        CHECK(ret == (void *)(i * 2));
    }
    CHECK(sum == 16 * 20000 && tls == 5);
    SAY("sixteen threads");

    for (long i = 0; i < 500; i++) {
        CHECK(pthread_create(&t[0], NULL, nothing, (void *)i) == 0);
        pthread_join(t[0], &ret);
        CHECK(ret == (void *)i);
    }
    pthread_attr_t at;
    pthread_attr_init(&at);
    pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < 500; i++)
        CHECK(pthread_create(&t[0], &at, nothing, NULL) == 0);
    SAY("a thousand in turn");

    for (int i = 0; i < 16; i++)
        pthread_create(&t[i], NULL, waiter, NULL);
    usleep(10000);
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 16; i++)
        pthread_join(t[i], NULL);
    SAY("condition");

    pthread_create(&t[0], NULL, sleeper, NULL);
    pthread_create(&t[1], NULL, spinner, NULL);
    while (__atomic_load_n(&to_clean, __ATOMIC_SEQ_CST) < 2)
        usleep(1000);
    usleep(20000);
    pthread_cancel(t[0]);
    pthread_cancel(t[1]);
    pthread_join(t[0], &ret);
    CHECK(ret == PTHREAD_CANCELED);
    pthread_join(t[1], &ret);
    CHECK(ret == PTHREAD_CANCELED && __atomic_load_n(&cleaned, __ATOMIC_SEQ_CST) == 2);
    SAY("cancellation");

    pthread_mutexattr_t ma;
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &ma);
    pthread_create(&t[0], NULL, dies_with_lock, NULL);
    pthread_join(t[0], NULL);
    CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    SAY("robust mutex");

    // blocked here, unblocked there: the process's signal goes there
    struct sigaction sa;
    sigset_t s;
    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = taken;
    sigaction(SIGUSR1, &sa, NULL);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    sem_init(&ready, 0, 0);
    flag = 0;
    pthread_create(&t[0], NULL, opener, NULL);
    sem_wait(&ready);
    kill(getpid(), SIGUSR1);
    for (int i = 0; i < 2000 && !taker; i++)
        usleep(1000);
    CHECK(taker == opener_tid && taker != getpid());
    taker = 0;
    pthread_kill(t[0], SIGUSR1);
    for (int i = 0; i < 2000 && !taker; i++)
        usleep(1000);
    CHECK(taker == opener_tid);
    flag = 1;
    pthread_join(t[0], NULL);
    pthread_sigmask(SIG_UNBLOCK, &s, NULL);
    SAY("signals to threads");

    pthread_create(&t[0], NULL, own_altstack, NULL);
    pthread_join(t[0], &ret);
    CHECK(ret == NULL);
    SAY("alternate stacks");

    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int tid_word = 1;
    int tid = clone(raw_thread, stack + 65536,
                    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                        CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
                    &raw_value, NULL, NULL, (void *)&tid_word);
    CHECK(tid > 0);
    for (int i = 0; i < 2000 && tid_word; i++)
        usleep(1000);
    CHECK(raw_value == 7 && tid_word == 0);
    SAY("raw clone");
    return check_failed;
}
