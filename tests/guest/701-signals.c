// SPDX-License-Identifier: MIT
//
// Signals in the ways that programs use them: alternate stacks, nesting, one-shot handlers, masks,
// jumps out of handlers, order of queued ones, waiting for them in every way, restart and
// interruption of system calls.
//
// varies: timers, and loops that wait for them

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static volatile int count, depth, deepest;
static uint8_t alternate[65536];

static void set(int sig, void (*f)(int), int flags)
{
    struct sigaction a = { .sa_handler = f, .sa_flags = flags };

    CHECK(sigaction(sig, &a, NULL) == 0);
}

static void add_one(int sig)
{
    (void)sig;
    count++;
}

static void on_alternate(int sig)
{
    uint8_t here;

    (void)sig;
    count += &here >= alternate && &here < alternate + sizeof(alternate);
}

static void nest(int sig)
{
    if (++depth > deepest)
        deepest = depth;
    if (depth < 20)
        raise(sig);
    depth--;
}

static sigjmp_buf out;
static void jump_out(int sig)
{
    siglongjmp(out, sig);
}

static void basics(void)
{
    stack_t s = { .ss_sp = alternate, .ss_size = sizeof(alternate) }, old;
    struct sigaction a;

    CHECK(sigaltstack(&s, NULL) == 0);
    set(SIGUSR1, on_alternate, SA_ONSTACK);
    raise(SIGUSR1);
    CHECK(count == 1);
    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == alternate && old.ss_flags == 0);
    set(SIGUSR1, on_alternate, 0);
    raise(SIGUSR1);
    CHECK(count == 1);

    set(SIGUSR1, nest, SA_NODEFER);
    raise(SIGUSR1);
    CHECK(deepest == 20 && depth == 0);

    count = 0;
    set(SIGUSR1, add_one, SA_RESETHAND);
    raise(SIGUSR1);
    CHECK(count == 1 && sigaction(SIGUSR1, NULL, &a) == 0 && a.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    CHECK(raise(SIGUSR1) == 0);

    set(SIGUSR2, jump_out, 0);
    for (volatile int i = 0; i < 500; i++)
        if (sigsetjmp(out, 1) == 0) {
            raise(SIGUSR2);
            CHECK(!"reached");
        } else
            count++;
    CHECK(count == 501);
    CHECK(sigaction(SIGKILL, &(struct sigaction){ .sa_handler = add_one }, NULL) == -1 &&
          errno == EINVAL);
}

static int order[64], ordered;
static void remember(int sig, siginfo_t *info, void *context)
{
    (void)context;
    order[ordered++ & 63] = sig * 1000 + info->si_value.sival_int;
    CHECK(info->si_code == SI_QUEUE && info->si_pid == getpid());
}

static void queued(void)
{
    struct sigaction a = { .sa_sigaction = remember, .sa_flags = SA_SIGINFO };
    struct timespec none = { 0, 0 };
    struct signalfd_siginfo si;
    siginfo_t info;
    sigset_t set_, pending;
    int fd;

    sigemptyset(&set_);
    for (int s = 0; s < 3; s++) {
        sigaddset(&set_, SIGRTMIN + s);
        sigaction(SIGRTMIN + s, &a, NULL);
    }
    sigfillset(&a.sa_mask);
    for (int s = 0; s < 3; s++)
        sigaction(SIGRTMIN + s, &a, NULL);
    sigprocmask(SIG_BLOCK, &set_, NULL);
    for (int i = 0; i < 12; i++)
        for (int s = 2; s >= 0; s--)
            CHECK(sigqueue(getpid(), SIGRTMIN + s, (union sigval){ .sival_int = i }) == 0);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGRTMIN + 1));
    sigprocmask(SIG_UNBLOCK, &set_, NULL);
    CHECK(ordered == 36);
    // Lowest number first, each in the order of sending.
    for (int i = 0; i < 36; i++)
        CHECK(order[i] == (SIGRTMIN + i / 12) * 1000 + i % 12);

    sigprocmask(SIG_BLOCK, &set_, NULL);
    CHECK(sigtimedwait(&set_, &info, &none) == -1 && errno == EAGAIN);
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 5 });
    CHECK(sigtimedwait(&set_, &info, &none) == SIGRTMIN + 1 && info.si_value.sival_int == 5);
    fd = signalfd(-1, &set_, SFD_NONBLOCK);
    CHECK(fd >= 0 && read(fd, &si, sizeof(si)) == -1 && errno == EAGAIN);
    sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 6 });
    CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
    CHECK((int)si.ssi_signo == SIGRTMIN && si.ssi_int == 6);
    close(fd);
    sigprocmask(SIG_UNBLOCK, &set_, NULL);
    CHECK(ordered == 36);
}

static int pipe_[2];
static void writes(int sig)
{
    (void)sig;
    count++;
    CHECK(write(pipe_[1], "x", 1) == 1);
}

static void in_a_while(long us)
{
    struct itimerval t = { { 0, 0 }, { 0, us } };

    setitimer(ITIMER_REAL, &t, NULL);
}

// Repeatedly: on a slow machine the first may come before the call that it should interrupt.
static void every(long us)
{
    struct itimerval t = { { 0, us }, { 0, us } };

    setitimer(ITIMER_REAL, &t, NULL);
}

static void interrupted(void)
{
    struct timespec hour = { 3600, 0 }, left = { 0, 0 };
    sigset_t none, alarm_;
    fd_set fds;
    char c;

    CHECK(pipe(pipe_) == 0);
    count = 0;
    set(SIGALRM, writes, SA_RESTART);
    in_a_while(30000);
    CHECK(read(pipe_[0], &c, 1) == 1 && c == 'x' &&
          count == 1); // restarted, and then there was a byte
    set(SIGALRM, add_one, 0);
    every(30000);
    CHECK(read(pipe_[0], &c, 1) == -1 && errno == EINTR && count >= 2);
    CHECK(nanosleep(&hour, &left) == -1 && errno == EINTR && left.tv_sec < 3600 &&
          left.tv_sec >= 3000);
    set(SIGALRM, add_one, SA_RESTART);
    CHECK(poll(&(struct pollfd){ pipe_[0], POLLIN, 0 }, 1, 600000) == -1 &&
          errno == EINTR); // never restarted
    every(0);

    sigemptyset(&none);
    sigemptyset(&alarm_);
    sigaddset(&alarm_, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm_, NULL);
    count = 0;
    raise(SIGALRM);
    CHECK(count == 0);
    CHECK(ppoll(&(struct pollfd){ pipe_[0], POLLIN, 0 }, 1, &hour, &none) == -1 && errno == EINTR);
    CHECK(count == 1);
    raise(SIGALRM);
    FD_ZERO(&fds);
    FD_SET(pipe_[0], &fds);
    CHECK(pselect(pipe_[0] + 1, &fds, NULL, NULL, &hour, &none) == -1 && errno == EINTR);
    CHECK(count == 2);
    raise(SIGALRM);
    CHECK(sigsuspend(&none) == -1 && errno == EINTR && count == 3);
    raise(SIGALRM);
    CHECK(count == 3);
    sigprocmask(SIG_UNBLOCK, &alarm_, NULL);
    CHECK(count == 4);
    close(pipe_[0]);
    close(pipe_[1]);
}

// A timer that interrupts a computation: two hundred times, without an effect on the
// result.
static void storm(void)
{
    struct itimerval often = { { 0, 300 }, { 0, 300 } }, off = { { 0, 0 }, { 0, 0 } };
    uint64_t h, first = 0;
    int rounds = 0;

    set(SIGALRM, add_one, SA_RESTART);
    count = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    while (count < 200) {
        double d = 1;

        h = 14695981039346656037u;
        for (int i = 0; i < 3000; i++) {
            h = (h ^ (uint64_t)i) * 1099511628211u;
            d = d * 1.0001 + 0.5;
        }
        h ^= (uint64_t)d;
        if (!rounds++)
            first = h;
        CHECK(h == first);
        if (check_failed)
            break;
    }
    setitimer(ITIMER_REAL, &off, NULL);
}

int main(void)
{
    basics();
    queued();
    interrupted();
    storm();
    return check_failed;
}
