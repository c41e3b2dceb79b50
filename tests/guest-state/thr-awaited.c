// SPDX-License-Identifier: MIT
// A signal of the process that only a wait of one thread lets in, while other threads compute: the
// wait ends with it each time, and nothing else ends a wait. The engine cannot block SIGTRAP in
// the kernel, which then wakes a thread for it that another one takes it from.
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#define TIMES 500
#define SPINS 4 // threads that compute: more than most machines can run at once with the tests

static volatile int over;
static int asks[2], ends[2];
static sigset_t set;

static void *compute(void *arg)
{
    while (!over)
        ;
    return arg;
}

static void *waits(void *arg)
{
    struct timespec minute = { 60, 0 };
    struct epoll_event ev = { .events = EPOLLIN };
    int taken = 0, failed = 0, poll = epoll_create1(0);

    for (int i = 0; i < TIMES; i++) {
        CHECK(write(asks[1], "1", 1) == 1);
        if (sigtimedwait(&set, NULL, &minute) == SIGTRAP)
            taken++;
        else
            failed++;
    }
    SAY("taken %d, failed %d", taken, failed);
    // nothing lets it in: it stays pending
    CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &ev) == 0);
    CHECK(write(asks[1], "n", 1) == 1);
    CHECK(epoll_wait(poll, &ev, 1, 60000) == 1);
    CHECK(sigtimedwait(&set, NULL, &minute) == SIGTRAP);
    over = 1;
    return arg;
}

// Sends one signal for "1", and many for "n", the last of which is followed by a byte.
static void send_signals(pid_t to)
{
    struct timespec pause = { 0, 100000 };
    char c;

    while (read(asks[0], &c, 1) == 1)
        for (int i = 0; i < (c == '1' ? 1 : TIMES); i++) {
            kill(to, SIGTRAP);
            if (c != '1')
                nanosleep(&pause, NULL);
            if (i == TIMES - 1)
                CHECK(write(ends[1], "e", 1) == 1);
        }
    _exit(check_failed);
}

int main(void)
{
    pthread_t waiter, spin[SPINS];
    sigset_t all;
    int status;
    pid_t pid;

    CHECK(pipe(asks) == 0 && pipe(ends) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pid = fork();
    if (pid == 0) {
        close(asks[1]);
        send_signals(getppid());
    }
    close(asks[0]);
    CHECK(pthread_create(&waiter, NULL, waits, NULL) == 0);
    for (int i = 0; i < SPINS; i++)
        CHECK(pthread_create(&spin[i], NULL, compute, NULL) == 0);
    compute(NULL);
    pthread_join(waiter, NULL);
    for (int i = 0; i < SPINS; i++)
        pthread_join(spin[i], NULL);
    close(asks[1]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return check_failed;
}
