// SPDX-License-Identifier: MIT
// A signal of the process that reaches a thread just as that blocks it and ends: it goes to
// another thread, as often as needed; none is lost. The main thread blocks it all the time, so
// only short-lived threads take it, each of which unblocks it for a moment.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

// Before signals were kept for the process one of the first thousand was lost in every run.
#define ROUNDS      1000
#define ROUNDS_SOAK 3000

static int rounds;
static atomic_int *taken, *enough; // in memory that parent and child share

static void takes(int sig)
{
    (void)sig;
    atomic_fetch_add(taken, 1);
}

static void *brief(void *arg)
{
    sigset_t open, all;

    sigemptyset(&open);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &open, NULL);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return arg;
}

static void breed(void)
{
    pthread_attr_t at;
    sigset_t all;
    pthread_t t;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_attr_init(&at);
    pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
    while (!atomic_load(enough))
        if (pthread_create(&t, &at, brief, NULL))
            usleep(100);
    _exit(0);
}

// How many of the signals were lost: not taken within a minute.
static int lost(pid_t pid, int sig)
{
    struct timespec moment = { 0, 20000 };

    for (int i = 1; i <= rounds; i++) {
        time_t end = time(NULL) + 60;

        if (kill(pid, sig))
            return -1;
        while (atomic_load(taken) < i)
            if (time(NULL) > end)
                return i;
            else
                nanosleep(&moment, NULL);
    }
    return 0;
}

int main(void)
{
    static const int sigs[] = { SIGUSR1, SIGSEGV };

    rounds = getenv("STATE_SOAK") ? ROUNDS_SOAK : ROUNDS;
    taken =
        mmap(NULL, 2 * sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    enough = taken + 1;
    for (int i = 0; i < 2; i++) {
        struct sigaction sa = { .sa_handler = takes };
        pid_t pid;

        sigaction(sigs[i], &sa, NULL);
        atomic_store(taken, 0);
        atomic_store(enough, 0);
        pid = fork();
        if (pid == 0)
            breed();
        CHECK(lost(pid, sigs[i]) == 0);
        atomic_store(enough, 1);
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    SAY("every signal was taken");
    return check_failed;
}
