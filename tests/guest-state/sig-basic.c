// SPDX-License-Identifier: MIT
// Handlers: red zone, siginfo, masks while a handler runs, SA_NODEFER, SA_RESETHAND, siglongjmp,
// EINTR and SA_RESTART, what sigaction(2) accepts and returns.
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t got, depth, max_depth;
static sigset_t in_handler;
static siginfo_t info;
static sigjmp_buf env;

static void handler(int sig)
{
    got = sig;
    sigprocmask(SIG_SETMASK, NULL, &in_handler);
}

static int told[2];

static void handler_tells(int sig)
{
    handler(sig);
    CHECK(write(told[1], "x", 1) == 1);
}

static void handler_info(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    got = sig;
    info = *si;
}

static void nested(int sig)
{
    depth++;
    if (depth > max_depth)
        max_depth = depth;
    if (depth < 4)
        raise(sig);
    depth--;
}

static void jumper(int sig)
{
    siglongjmp(env, sig);
}

static void set(int sig, void (*fn)(int), int flags, int extra)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = fn;
    sa.sa_flags = flags;
    if (extra)
        sigaddset(&sa.sa_mask, extra);
    CHECK(sigaction(sig, &sa, NULL) == 0);
}

// A leaf that keeps values below its stack pointer while the signal comes.
static long red_zone(void)
{
    long out;

    __asm__ volatile("movq $0x1122334455667788, %%rax\n"
                     "movq %%rax, -8(%%rsp)\n"
                     "movq %%rax, -64(%%rsp)\n"
                     "movq %%rax, -128(%%rsp)\n"
                     "movl $39, %%eax\n" // getpid
                     "syscall\n"
                     "movl %%eax, %%edi\n"
                     "movl $10, %%esi\n" // SIGUSR1
                     "movl $62, %%eax\n" // kill
                     "syscall\n"
                     "movq -8(%%rsp), %0\n"
                     "xorq -64(%%rsp), %0\n"
                     "xorq -128(%%rsp), %0\n"
                     : "=r"(out)
                     :
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r11", "memory");
    return out;
}

static void restart_tests(void)
{
    struct itimerval tick = { { 0, 0 }, { 0, 20000 } }, off = { { 0, 0 }, { 0, 0 } };
    // repeatedly: the first may come before the call that it should interrupt
    struct itimerval ticks = { { 0, 20000 }, { 0, 20000 } };
    int p[2];
    char c;
    pid_t pid;
    ssize_t n;

    // EINTR without SA_RESTART
    CHECK(pipe(p) == 0);
    set(SIGALRM, handler, 0, 0);
    got = 0;
    setitimer(ITIMER_REAL, &ticks, NULL);
    errno = 0;
    n = read(p[0], &c, 1);
    CHECK(n == -1 && errno == EINTR && got == SIGALRM);
    setitimer(ITIMER_REAL, &off, NULL);

    // with SA_RESTART the read continues until there is data: written after the handler ran
    CHECK(pipe(told) == 0);
    set(SIGALRM, handler_tells, SA_RESTART, 0);
    got = 0;
    pid = fork();
    if (pid == 0)
        _exit(read(told[0], &c, 1) != 1 || write(p[1], "x", 1) != 1);
    setitimer(ITIMER_REAL, &tick, NULL);
    n = read(p[0], &c, 1);
    CHECK(n == 1 && c == 'x' && got == SIGALRM);
    CHECK(waitpid(pid, NULL, 0) == pid);
    set(SIGALRM, handler, SA_RESTART, 0);
    close(told[0]);
    close(told[1]);

    // a sleep is interrupted with either flag, and returns the time left: of five seconds
    // the part that has not passed yet, on a machine of any speed
    struct timespec want = { 5, 0 }, left = { 0, 0 }, begin, end;
    got = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    setitimer(ITIMER_REAL, &ticks, NULL);
    CHECK(nanosleep(&want, &left) == -1 && errno == EINTR && got == SIGALRM);
    setitimer(ITIMER_REAL, &off, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t slept = 5000000000 - (left.tv_sec * 1000000000L + left.tv_nsec);
    int64_t passed = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
    CHECK(slept > 0 && slept <= passed);

    // an ignored signal and SIGCHLD's default interrupt nothing
    struct timespec brief = { 0, 60000000 };
    pid = fork();
    if (pid == 0)
        _exit(0);
    signal(SIGALRM, SIG_IGN);
    setitimer(ITIMER_REAL, &tick, NULL);
    CHECK(nanosleep(&brief, &left) == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    close(p[0]);
    close(p[1]);
}

static void action_tests(void)
{
    struct {
        unsigned long handler, flags, restorer, mask;
    } a, b;
    struct sigaction sa, old;

    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4) == -1 && errno == EINVAL);
    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = handler;
    CHECK(sigaction(SIGKILL, &sa, NULL) == -1 && errno == EINVAL);
    CHECK(sigaction(SIGSTOP, &sa, NULL) == -1 && errno == EINVAL);
    CHECK(sigaction(SIGKILL, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(syscall(SYS_rt_sigaction, 65, NULL, NULL, 8) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, 8, NULL, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, 8, 8) == -1 && errno == EFAULT);

    // the flags come back without the unknown ones, the mask without the unblockable
    set(SIGUSR2, handler, SA_RESTART | SA_NODEFER, SIGINT);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &a, 8) == 0);
    CHECK(a.handler == (unsigned long)handler);
    CHECK((a.flags & ~0x04000000ul) == (SA_RESTART | SA_NODEFER));
    CHECK(a.mask == 1ul << (SIGINT - 1));
    a.flags |= 0x400 | 0x200; // SA_UNSUPPORTED, and a bit without a name
    a.mask = ~0ul;
    CHECK(syscall(SYS_rt_sigaction, SIGUSR2, &a, NULL, 8) == 0);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR2, NULL, &b, 8) == 0);
    CHECK(!(b.flags & 0x600));
    CHECK(b.mask == ~(1ul << (SIGKILL - 1) | 1ul << (SIGSTOP - 1)));
    // old and new may be the same memory
    b.handler = (unsigned long)SIG_IGN;
    CHECK(syscall(SYS_rt_sigaction, SIGUSR2, &b, &b, 8) == 0 &&
          b.handler == (unsigned long)handler);
    CHECK(syscall(SYS_rt_sigprocmask, 99, &b.mask, NULL, 8) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigprocmask, 99, NULL, &b.mask, 8) == 0 && b.mask == 0);
}

int main(void)
{
    struct sigaction sa;
    sigset_t set1, old;

    set(SIGUSR1, handler, 0, SIGUSR2);
    CHECK(red_zone() == 0x1122334455667788);
    CHECK(got == SIGUSR1);
    CHECK(sigismember(&in_handler, SIGUSR1) && sigismember(&in_handler, SIGUSR2) &&
          !sigismember(&in_handler, SIGINT));
    sigprocmask(SIG_SETMASK, NULL, &old);
    CHECK(!sigismember(&old, SIGUSR1) && !sigismember(&old, SIGUSR2));
    SAY("red zone and masks");

    set(SIGUSR1, handler, SA_NODEFER, 0);
    raise(SIGUSR1);
    CHECK(!sigismember(&in_handler, SIGUSR1));
    set(SIGUSR1, nested, SA_NODEFER, 0);
    raise(SIGUSR1);
    CHECK(max_depth == 4 && depth == 0);
    set(SIGUSR1, nested, 0, 0);
    max_depth = 0;
    depth = 3; // raises nothing itself
    raise(SIGUSR1);
    CHECK(depth == 3 && max_depth == 4);
    SAY("nesting");

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = handler_info;
    sa.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGUSR2, &sa, NULL);
    union sigval v = { .sival_int = 4711 };
    sigqueue(getpid(), SIGUSR2, v);
    CHECK(got == SIGUSR2 && info.si_code == SI_QUEUE && info.si_value.sival_int == 4711 &&
          info.si_pid == getpid());
    sigaction(SIGUSR2, NULL, &sa);
    CHECK(sa.sa_handler == SIG_DFL);
    SAY("siginfo and SA_RESETHAND");

    set(SIGUSR1, jumper, 0, 0);
    for (volatile int i = 0; i < 50; i++) {
        int s = sigsetjmp(env, 1);

        if (s == 0)
            raise(SIGUSR1);
        else
            CHECK(s == SIGUSR1);
    }
    sigprocmask(SIG_SETMASK, NULL, &set1);
    CHECK(!sigismember(&set1, SIGUSR1));
    SAY("siglongjmp");

    // blocked, pending, unblocked
    set(SIGUSR1, handler, 0, 0);
    got = 0;
    sigemptyset(&set1);
    sigaddset(&set1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set1, NULL);
    raise(SIGUSR1);
    CHECK(got == 0);
    sigpending(&old);
    CHECK(sigismember(&old, SIGUSR1) && !sigismember(&old, SIGUSR2));
    sigprocmask(SIG_UNBLOCK, &set1, NULL);
    CHECK(got == SIGUSR1);
    SAY("blocked and pending");

    restart_tests();
    SAY("EINTR and SA_RESTART");
    action_tests();
    SAY("sigaction and sigprocmask");
    return check_failed;
}
