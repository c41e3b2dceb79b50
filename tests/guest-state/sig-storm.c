// SPDX-License-Identifier: MIT
// Signals at a high rate: a timer into computation, system calls, faults and handlers that
// nest and jump; every queued signal arrives exactly once; two threads and the process send to each
// other.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile int ticks, faults, jumps, depth, queued;
static volatile int in_section;
static sigjmp_buf env;

static void on_tick(int sig)
{
    (void)sig;
    ticks++;
    depth++;
    if (in_section && ticks % 7 == 0) {
        in_section = 0;
        depth--;
        siglongjmp(env, 1);
    }
    depth--;
}

static void on_segv(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    (void)si;
    faults++;
    uc->uc_mcontext.gregs[REG_RIP] += 2; // mov %al, (%rbx)
}

static void on_queue(int sig, siginfo_t *si, void *p)
{
    (void)sig;
    (void)p;
    __atomic_fetch_add(&queued, si->si_value.sival_int, __ATOMIC_SEQ_CST);
}

static unsigned long work(unsigned long n)
{
    unsigned long x = 88172645463325252ul;

    while (n--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static void *sender(void *arg)
{
    pid_t pid = getpid();
    union sigval v = { .sival_int = 1 };

    for (int i = 0; i < 2000; i++)
        while (sigqueue(pid, SIGRTMIN + 2, v) == -1)
            usleep(100);
    return arg;
}

// With one thread at a time each is two slices of a spinning thread.
#define PINGS 125
static volatile int pings;
static pthread_t main_thread, other_thread;

static void on_ping(int sig)
{
    (void)sig;
    if (pthread_equal(pthread_self(), main_thread)) {
        pings++;
        if (pings < PINGS)
            pthread_kill(other_thread, SIGUSR2);
    } else {
        pthread_kill(main_thread, SIGUSR2);
    }
}

// Few blocks in much time: while a buffer is replayed no signal is delivered, and each of the pings
// would wait for the replay of what both threads have recorded until then.
static void pass_time(void)
{
    __asm__ volatile(".rept 50; pause; .endr");
}

static volatile int stop_spinning;
static void *spinner(void *arg)
{
    while (!stop_spinning)
        pass_time();
    return arg;
}

int main(void)
{
    // Each of the ticks into a computation may have to wait for the replay of a buffer.
    int into_computation = getenv("STATE_SOAK") ? 300 : 100;
    struct itimerval fast = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    struct sigaction sa;
    unsigned long expect = work(200000);
    char *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = on_tick;
    sa.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &sa, NULL);
    sa.sa_sigaction = on_segv;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);

    setitimer(ITIMER_REAL, &fast, NULL);
    while (ticks < into_computation)
        CHECK(work(200000) == expect);
    SAY("computation");
    for (int start = ticks; ticks < start + 300;)
        CHECK(syscall(SYS_getppid) == getppid());
    SAY("system calls");
    for (int i = 0; i < 20000; i++)
        __asm__ volatile("movb %%al, (%0)" : : "b"(bad) : "memory");
    CHECK(faults == 20000);
    SAY("faults");
    for (int i = 0; i < 40; i++) {
        if (sigsetjmp(env, 1) == 0) {
            in_section = 1;
            for (;;)
                work(1000);
        }
        jumps++;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    CHECK(jumps == 40 && depth == 0);
    SAY("jumps");

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_queue;
    sa.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGRTMIN + 2, &sa, NULL);
    pthread_t a, b;
    pthread_create(&a, NULL, sender, NULL);
    pthread_create(&b, NULL, sender, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 0; i < 1000 && queued < 4000; i++)
        usleep(1000);
    CHECK(queued == 4000);
    SAY("queue");

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = on_ping;
    sa.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &sa, NULL);
    main_thread = pthread_self();
    pthread_create(&other_thread, NULL, spinner, NULL);
    pthread_kill(other_thread, SIGUSR2);
    while (pings < PINGS)
        pass_time();
    stop_spinning = 1;
    pthread_join(other_thread, NULL);
    SAY("ping-pong");
    return check_failed;
}
