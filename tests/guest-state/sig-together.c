// SPDX-License-Identifier: MIT
// Signals that are pending together: a process is stopped, sent SIGTRAP, SIGSEGV, SIGFPE and
// SIGALRM, and continued, while it computes, waits with and without a mask of the call's own,
// reads, or blocks them. The kernel then makes a frame for each before anything else runs, the
// first three before the fourth, so the handlers run in the opposite order. The point at which the
// process is stopped does not matter: the results below are the same. And signals
// that only a call of another thread unblocks.
#define _GNU_SOURCE
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define COUNT 4
#define HOWS  6

static const int sent[COUNT] = { SIGALRM, SIGFPE, SIGSEGV, SIGTRAP };
static volatile sig_atomic_t order[16], n;

static void handler(int sig)
{
    order[n & 15] = sig;
    n = n + 1;
}

static void said(const char *what, int result)
{
    SAY("%s: %d, %d signals: %d %d %d %d", what, result, n, order[0], order[1], order[2], order[3]);
}

// What the process does when it is stopped. `minute` is longer than a stalled machine.
static void meanwhile(int how, const sigset_t *all, const sigset_t *none, int fd)
{
    struct timespec minute = { 60, 0 };
    time_t end = time(NULL) + 60;
    char c = 0;
    int r;

    switch (how) {
    case 0:
        while (n < COUNT && time(NULL) < end)
            for (volatile int i = 0; i < 1000; i++)
                ;
        said("computes", 0);
        return;
    case 1:
        r = sigsuspend(none);
        said("sigsuspend", r < 0 ? errno : r);
        return;
    case 2:
        r = ppoll(NULL, 0, &minute, none);
        said("ppoll", r < 0 ? errno : r);
        return;
    case 3:
        r = (int)read(fd, &c, 1); // continues after the handlers
        said("read", r == 1 ? c : r);
        return;
    case 4:
        r = (int)read(fd, &c, 1); // is not interrupted
        said("read, blocked", r == 1 ? c : r);
        sigprocmask(SIG_SETMASK, none, NULL);
        said("then", 0);
        return;
    default:
        for (int i = 0; i < COUNT; i++) {
            do
                r = sigtimedwait(all, NULL, &minute);
            while (r < 0 && errno == EINTR); // the kernel's answer to SIGSTOP
            said("sigtimedwait", r);
        }
        return;
    }
}

static void together(int how)
{
    struct timespec soon = { 0, 20000000 };
    int to[2], from[2], status;
    sigset_t all, none;
    char c;
    pid_t pid;

    CHECK(pipe(to) == 0 && pipe(from) == 0);
    pid = fork();
    if (pid == 0) {
        struct sigaction sa;

        memset(&sa, 0, sizeof(sa));
        sa.sa_handler = handler;
        sa.sa_flags = SA_RESTART;
        sigemptyset(&none);
        sigemptyset(&all);
        for (int i = 0; i < COUNT; i++) {
            sigaddset(&all, sent[i]);
            sigaction(sent[i], &sa, NULL);
        }
        if (how != 0 && how != 3)
            sigprocmask(SIG_BLOCK, &all, NULL);
        CHECK(write(from[1], "r", 1) == 1);
        meanwhile(how, &all, &none, to[0]);
        _exit(check_failed);
    }
    CHECK(read(from[0], &c, 1) == 1);
    nanosleep(&soon, NULL);
    kill(pid, SIGSTOP);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    for (int i = 0; i < COUNT; i++)
        kill(pid, sent[i]);
    kill(pid, SIGCONT);
    nanosleep(&soon, NULL);
    CHECK(write(to[1], "x", 1) == 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
}

// ---- Sent to a process that blocks them except in a call of another thread ----

static volatile int told, code;
static volatile pid_t sender;
static int way, awaited;

static void on_info(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    told = sig;
    code = si->si_code;
    sender = si->si_pid;
}

static void *waiter(void *arg)
{
    struct timespec minute = { 60, 0 };
    sigset_t set;
    siginfo_t si;

    sigfillset(&set);
    sigdelset(&set, awaited);
    switch (way) {
    case 0: CHECK(sigsuspend(&set) == -1 && errno == EINTR); break;
    case 1: CHECK(ppoll(NULL, 0, &minute, &set) == -1 && errno == EINTR); break;
    default:
        sigemptyset(&set);
        sigaddset(&set, awaited);
        CHECK(sigtimedwait(&set, &si, &minute) == awaited);
        on_info(awaited, &si, NULL);
    }
    return arg;
}

static void passed_on(void)
{
    struct timespec soon = { 0, 20000000 };
    struct sigaction sa;
    pthread_t thread;
    sigset_t all, before;
    int status;
    pid_t pid;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_info;
    sa.sa_flags = SA_SIGINFO;
    sigaction(awaited, &sa, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    told = 0;
    CHECK(pthread_create(&thread, NULL, waiter, NULL) == 0);
    nanosleep(&soon, NULL); // earlier it is pending before the call: that must work, too
    pid = fork();
    if (pid == 0) {
        kill(getppid(), awaited);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    pthread_join(thread, NULL);
    CHECK(told == awaited && code == SI_USER && sender == pid);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
    for (way = 0; way < 3; way++)
        for (int i = 0; i < COUNT; i++) {
            awaited = sent[i];
            passed_on();
        }
    for (int how = 0; how < HOWS; how++)
        together(how);
    return check_failed;
}
