// SPDX-License-Identifier: MIT
// How the kernel treats masks while a call waits: sigsuspend, ppoll, pselect, epoll_pwait,
// sigwaitinfo, signalfd; the queue of real-time signals; SIGCHLD; synchronous signals that were
// sent and are blocked; SIGRTMAX.
#define _GNU_SOURCE
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t got1, got2, order[64], norder;
static sigset_t during;

static void on1(int sig)
{
    got1++;
    order[norder++ & 63] = sig;
    sigprocmask(SIG_SETMASK, NULL, &during);
}

static void on2(int sig)
{
    got2++;
    order[norder++ & 63] = sig;
}

static void on_rt(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    (void)sig;
    order[norder++ & 63] = si->si_value.sival_int;
}

static void set(int sig, void (*fn)(int))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = fn;
    CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void block(int how, int sig)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, sig);
    CHECK(sigprocmask(how, &s, NULL) == 0);
}

// A child sends us a signal after a while.
static pid_t later(int sig, int ms)
{
    pid_t pid = fork();

    if (pid == 0) {
        usleep((useconds_t)ms * 1000);
        kill(getppid(), sig);
        _exit(0);
    }
    return pid;
}

static void waits(void)
{
    sigset_t open1, now;
    struct timespec long_time = { 10, 0 };
    struct epoll_event ev;
    int ep = epoll_create1(0);
    pid_t pid;

    // USR1 is blocked, and unblocked only while the call waits; its handler runs with the call's
    // mask
    block(SIG_BLOCK, SIGUSR1);
    sigfillset(&open1);
    sigdelset(&open1, SIGUSR1);
    for (int i = 0; i < 4; i++) {
        int n = 0;

        got1 = 0;
        errno = 0;
        if (i & 1) // pending already
            kill(getpid(), SIGUSR1);
        pid = i & 1 ? 0 : later(SIGUSR1, 30);
        switch (i / 2 * 2 + (i & 1)) {
        case 0:
        case 1: n = sigsuspend(&open1); break;
        default: n = ppoll(NULL, 0, &long_time, &open1); break;
        }
        CHECK(n == -1 && errno == EINTR && got1 == 1);
        CHECK(sigismember(&during, SIGUSR2) && sigismember(&during, SIGINT)); // of the call's mask
        sigprocmask(SIG_SETMASK, NULL, &now);
        CHECK(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
        if (pid)
            waitpid(pid, NULL, 0);
    }
    got1 = 0;
    pid = later(SIGUSR1, 30);
    CHECK(pselect(0, NULL, NULL, NULL, &long_time, &open1) == -1 && errno == EINTR && got1 == 1);
    CHECK(sigismember(&during, SIGUSR2));
    waitpid(pid, NULL, 0);
    got1 = 0;
    pid = later(SIGUSR1, 30);
    CHECK(epoll_pwait(ep, &ev, 1, 10000, &open1) == -1 && errno == EINTR && got1 == 1);
    CHECK(sigismember(&during, SIGUSR2));
    waitpid(pid, NULL, 0);
    close(ep);

    // a blocked signal does not end a plain poll
    kill(getpid(), SIGUSR1);
    got1 = 0;
    CHECK(poll(NULL, 0, 20) == 0 && got1 == 0);
    block(SIG_UNBLOCK, SIGUSR1);
    CHECK(got1 == 1);
}

static void takes(void)
{
    struct signalfd_siginfo fi;
    sigset_t s;
    siginfo_t si;
    struct timespec brief = { 0, 20000000 };
    union sigval v;
    int fd;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigaddset(&s, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &s, NULL);
    CHECK(sigtimedwait(&s, &si, &brief) == -1 && errno == EAGAIN);
    v.sival_int = 11;
    sigqueue(getpid(), SIGRTMIN + 1, v);
    v.sival_int = 12;
    sigqueue(getpid(), SIGRTMIN + 1, v);
    CHECK(sigwaitinfo(&s, &si) == SIGRTMIN + 1 && si.si_value.sival_int == 11);
    CHECK(sigwaitinfo(&s, &si) == SIGRTMIN + 1 && si.si_value.sival_int == 12);
    // sent, not caused; the lowest number first
    sigaddset(&s, SIGSEGV);
    sigaddset(&s, SIGRTMAX);
    sigprocmask(SIG_BLOCK, &s, NULL);
    v.sival_int = 13;
    sigqueue(getpid(), SIGRTMAX, v);
    v.sival_int = 14;
    sigqueue(getpid(), SIGRTMAX, v);
    kill(getpid(), SIGSEGV);
    CHECK(sigwaitinfo(&s, &si) == SIGSEGV);
    CHECK(sigwaitinfo(&s, &si) == SIGRTMAX && si.si_value.sival_int == 13);
    CHECK(sigwaitinfo(&s, &si) == SIGRTMAX && si.si_value.sival_int == 14);
    sigdelset(&s, SIGSEGV);
    sigdelset(&s, SIGRTMAX);
    sigprocmask(SIG_SETMASK, &s, NULL);
    fd = signalfd(-1, &s, 0);
    CHECK(fd >= 0);
    kill(getpid(), SIGUSR2);
    CHECK(read(fd, &fi, sizeof(fi)) == sizeof(fi) && fi.ssi_signo == SIGUSR2 &&
          fi.ssi_pid == (uint32_t)getpid());
    close(fd);
    CHECK(got2 == 0);
    sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void queue(void)
{
    struct sigaction sa;
    union sigval v;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_rt;
    sa.sa_flags = SA_SIGINFO;
    sigfillset(&sa.sa_mask);
    sigaction(SIGRTMIN + 3, &sa, NULL);
    block(SIG_BLOCK, SIGRTMIN + 3);
    norder = 0;
    for (int i = 0; i < 40; i++) {
        v.sival_int = i;
        CHECK(sigqueue(getpid(), SIGRTMIN + 3, v) == 0);
    }
    CHECK(norder == 0);
    block(SIG_UNBLOCK, SIGRTMIN + 3);
    CHECK(norder == 40);
    for (int i = 0; i < 40; i++)
        CHECK(order[i] == i);
}

static void sync_sent(void)
{
    sigset_t pend;

    // a SIGSEGV that was sent, not caused, is blocked and pending like any other
    set(SIGSEGV, on2);
    got2 = 0;
    block(SIG_BLOCK, SIGSEGV);
    kill(getpid(), SIGSEGV);
    CHECK(got2 == 0);
    sigpending(&pend);
    CHECK(sigismember(&pend, SIGSEGV));
    block(SIG_UNBLOCK, SIGSEGV);
    CHECK(got2 == 1);
    raise(SIGSEGV);
    CHECK(got2 == 2);
    signal(SIGSEGV, SIG_DFL);

    set(SIGRTMAX, on2);
    got2 = 0;
    raise(SIGRTMAX);
    CHECK(got2 == 1);
    block(SIG_BLOCK, SIGRTMAX);
    raise(SIGRTMAX);
    raise(SIGRTMAX);
    CHECK(got2 == 1);
    sigpending(&pend);
    CHECK(sigismember(&pend, SIGRTMAX));
    block(SIG_UNBLOCK, SIGRTMAX);
    CHECK(got2 == 3); // real-time signals queue
    block(SIG_BLOCK, SIGRTMAX);
    raise(SIGRTMAX);
    sigset_t s;
    siginfo_t si;
    sigemptyset(&s);
    sigaddset(&s, SIGRTMAX);
    CHECK(sigwaitinfo(&s, &si) == SIGRTMAX);
    signal(SIGRTMAX, SIG_DFL);
}

static void children(void)
{
    int status;
    pid_t pid;

    set(SIGCHLD, on1);
    got1 = 0;
    for (int i = 0; i < 5; i++) {
        pid = fork();
        if (pid == 0)
            _exit(i);
        while (waitpid(pid, &status, 0) == -1)
            CHECK(errno == EINTR);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i);
    }
    CHECK(got1 == 5);
    signal(SIGCHLD, SIG_IGN);
    pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
    signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
    set(SIGUSR1, on1);
    set(SIGUSR2, on2);
    waits();
    SAY("calls with a mask");
    takes();
    SAY("sigwaitinfo and signalfd");
    queue();
    SAY("queue");
    sync_sent();
    SAY("synchronous signals that were sent");
    children();
    SAY("SIGCHLD");
    return check_failed;
}
