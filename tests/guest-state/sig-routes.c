// SPDX-License-Identifier: MIT
// Which thread a signal goes to and which call it interrupts: the process's signals when the first
// thread blocks them (SIGRTMAX and SIGSETXID, too); signals that the engine cannot block in the
// kernel and the client has blocked, sent while a call waits, with and without a mask that unblocks
// them; siginfo of the sender's choice; calls that continue after SIGSTOP and SIGCONT; handlers
// that nest until their stack is full; setuid in every thread.
#define _GNU_SOURCE
#include "check.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t got, taker, in_mask;

static void handler(int sig)
{
    sigset_t now;

    taker = (sig_atomic_t)syscall(SYS_gettid);
    sigprocmask(SIG_SETMASK, NULL, &now);
    in_mask = sigismember(&now, SIGUSR2);
    got = sig; // last: another thread reads it
}

static void set(int sig, int flags)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = handler;
    sa.sa_flags = flags;
    CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void mask(int how, int sig)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, sig);
    CHECK(pthread_sigmask(how, &s, NULL) == 0);
}

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

// Sends a signal to this process after a while, then reads or writes the pipe.
static pid_t later(int sig, int ms, int fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        usleep((useconds_t)ms * 1000);
        kill(getppid(), sig);
        if (fd >= 0) {
            usleep(30000);
            _exit(write(fd, "x", 1) != 1);
        }
        _exit(0);
    }
    return pid;
}

// ---- The process's signal goes to the thread that does not block it ----

static sem_t ready;
static volatile int stop;
static volatile pid_t opener_tid;

static void *opener(void *arg)
{
    mask(SIG_UNBLOCK, *(int *)arg);
    opener_tid = (pid_t)syscall(SYS_gettid);
    sem_post(&ready);
    while (!stop)
        usleep(1000);
    return NULL;
}

static void *blocker(void *arg)
{
    sem_post(&ready);
    while (!stop)
        __asm__ volatile("");
    return arg;
}

static void routes(int sig)
{
    pthread_t t[3];

    set(sig, SA_RESTART);
    mask(SIG_BLOCK, sig);
    stop = 0;
    pthread_create(&t[0], NULL, blocker, NULL);
    pthread_create(&t[1], NULL, opener, &sig);
    pthread_create(&t[2], NULL, blocker, NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&ready);
    // five times: with one thread at a time, two spinning threads use two slices each
    for (int i = 0; i < 5; i++) {
        got = 0;
        kill(getpid(), sig);
        for (int k = 0; k < 5000 && !got; k++)
            usleep(1000);
        CHECK(got == sig && taker == opener_tid);
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    mask(SIG_UNBLOCK, sig);
    signal(sig, SIG_DFL);
}

static void *setuid_thread(void *arg)
{
    sem_post(&ready);
    while (!stop)
        if (arg)
            usleep(500);
    return NULL;
}

// The C library sends a signal to every thread and waits for all of them.
static void set_ids(void)
{
    pthread_t t[6];

    stop = 0;
    for (long i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, setuid_thread, (void *)(i & 1));
    for (int i = 0; i < 6; i++)
        sem_wait(&ready);
    for (int i = 0; i < 15; i++)
        CHECK(setresuid((uid_t)-1, geteuid(), (uid_t)-1) == 0);
    stop = 1;
    for (int i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
}

// ---- Sent and blocked, while a call waits ----

static void blocked_breaks_nothing(int sig)
{
    int p[2];
    char c;
    pid_t pid;

    CHECK(pipe(p) == 0);
    set(sig, 0);
    mask(SIG_BLOCK, sig);
    for (int i = 0; i < 2; i++) {
        got = 0;
        pid = later(sig, 20, p[1]);
        CHECK(read(p[0], &c, 1) == 1 && c == 'x' && got == 0);
        waitpid(pid, NULL, 0);
        mask(SIG_UNBLOCK, sig);
        CHECK(got == sig);
        mask(SIG_BLOCK, sig);
    }
    mask(SIG_UNBLOCK, sig);
    signal(sig, SIG_DFL);
    close(p[0]);
    close(p[1]);
}

static int ring; // of io_uring; -1 where there is none

static int wait_with(int how, const sigset_t *open1)
{
    struct {
        uint64_t mask;
        uint32_t size, pad;
        uint64_t time;
    } ext = { 0, 0, 0, 0 };
    struct timespec minute = { 60, 0 }; // longer than a stalled machine
    struct epoll_event ev;
    int ep, n;
    struct {
        const sigset_t *s;
        size_t size;
    } pair = { open1, 8 };

    switch (how) {
    case 0: return sigsuspend(open1);
    case 1: return ppoll(NULL, 0, &minute, open1);
    case 2: return (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, &minute, &pair);
    case 3:
    case 4:
        ep = epoll_create1(0);
        n = how == 3 ? epoll_pwait(ep, &ev, 1, 60000, open1)
                     : (int)syscall(441 /* epoll_pwait2 */, ep, &ev, 1, &minute, open1,
                                    (size_t)8);
        close(ep);
        return n;
    case 5:
        return ring < 0 ? sigsuspend(open1)
                        : (int)syscall(SYS_io_uring_enter, ring, 0, 1, 1 /* events */, open1,
                                       (size_t)8);
    default:
        ext.mask = (uintptr_t)open1;
        ext.size = 8;
        return ring < 0 ? sigsuspend(open1)
                        : (int)syscall(SYS_io_uring_enter, ring, 0, 1, 1 | 8 /* extended */, &ext,
                                       sizeof(ext));
    }
}

static void waits_with_mask(int sig)
{
    sigset_t open1, now;

    set(sig, 0);
    mask(SIG_BLOCK, sig);
    sigfillset(&open1);
    sigdelset(&open1, sig);
    for (int how = 0; how < 7; how++)
        for (int i = 0; i < 6; i++) {
            pid_t pid = 0;
            int n;

            got = 0;
            if (i == 5)
                kill(getpid(), sig); // pending already
            else
                pid = later(sig, i, -1);
            errno = 0;
            n = wait_with(how, &open1);
            CHECK(n == -1 && errno == EINTR && got == sig && in_mask);
            if (pid)
                while (waitpid(pid, NULL, 0) < 0)
                    ;
            sigprocmask(SIG_SETMASK, NULL, &now);
            CHECK(sigismember(&now, sig) && !sigismember(&now, SIGUSR2));
        }
    mask(SIG_UNBLOCK, sig);
    signal(sig, SIG_DFL);
}

// A parent that waits for its vfork child takes its signals afterwards; the child takes its own.
static void while_vforked(void)
{
    volatile int child_got = 0;
    pid_t sender, pid;
    int p[2], status;
    char c;

    CHECK(pipe(p) == 0);
    set(SIGUSR1, 0);
    got = 0;
    sender = later(SIGUSR1, 10, p[1]);
    pid = vfork();
    if (pid == 0) {
        if (read(p[0], &c, 1) != 1) // the signal has been sent
            _exit(8);
        child_got = got;
        raise(SIGUSR1);
        child_got += got == SIGUSR1 ? 0 : 100;
        got = 0;
        _exit(9);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
    while (waitpid(sender, NULL, 0) < 0)
        ;
    // unless it came before the vfork: then the child has seen it, too
    CHECK((got == SIGUSR1 && child_got == 0) || child_got == SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    close(p[0]);
    close(p[1]);
}

// ---- The sender's siginfo ----

static siginfo_t said;

static void on_info(int sig, siginfo_t *si, void *uc)
{
    (void)uc;
    got = sig;
    said = *si;
}

static void made_up_info(void)
{
    struct sigaction sa;
    unsigned long raw[4];
    siginfo_t si;

    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_info;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    // the C library reserves this number
    CHECK(syscall(SYS_rt_sigaction, SIGSEGV, NULL, raw, 8) == 0 &&
          syscall(SYS_rt_sigaction, 33, raw, NULL, 8) == 0);
    memset(&si, 0, sizeof(si));
    si.si_code = -60;
    si.si_errno = 17;
    si.si_pid = 1234;
    si.si_uid = 77;
    si.si_value.sival_ptr = (void *)0x1122334455667788;
    CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &si) == 0);
    CHECK(got == SIGUSR1 && said.si_code == -60 && said.si_errno == 17 && said.si_pid == 1234 &&
          said.si_uid == 77 && said.si_value.sival_ptr == (void *)0x1122334455667788);
    got = 0;
    CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &si) == 0);
    CHECK(got == SIGSEGV && said.si_code == -60 && said.si_pid == 1234);
    got = 0;
    si.si_code = SI_QUEUE;
    CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), 33, &si) == 0);
    CHECK(got == 33 && said.si_code == SI_QUEUE &&
          said.si_value.sival_ptr == (void *)0x1122334455667788);
    // a signal may claim to come from the kernel only when sent to oneself
    si.si_code = 5;
    CHECK(syscall(SYS_rt_sigqueueinfo, getppid(), SIGURG, &si) == -1 && errno == EPERM);
    CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), 65, &si) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_tgkill, getpid(), 0, SIGUSR1) == -1 && errno == EINVAL);
    CHECK(kill(getpid(), 0) == 0 && kill(getpid(), 99) == -1 && errno == EINVAL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
}

// ---- SIGSTOP and SIGCONT ----

#define WAIT_MS 1000

static int sleeps(int how)
{
    struct timespec brief = { WAIT_MS / 1000, 0 };
    struct pollfd none = { -1, 0, 0 };
    static int word;
    sigset_t s;
    int ep, n;

    errno = 0;
    switch (how) {
    case 0: return nanosleep(&brief, NULL);
    case 1: return clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL);
    case 2: return poll(&none, 1, WAIT_MS);
    case 3: return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &brief, NULL, 0);
    case 4: return select(0, NULL, NULL, NULL, &(struct timeval){ WAIT_MS / 1000, 0 });
    case 5: return ppoll(NULL, 0, &brief, NULL);
    case 6:
        ep = epoll_create1(0);
        n = epoll_wait(ep, &(struct epoll_event){ 0 }, 1, WAIT_MS);
        close(ep);
        return n;
    default:
        sigemptyset(&s);
        sigaddset(&s, SIGUSR2);
        sigprocmask(SIG_BLOCK, &s, NULL);
        return sigtimedwait(&s, NULL, &brief);
    }
}

// 0: it returned 0 after the whole time; 1: EINTR; 2: another result for a timeout; 3:
// anything else; 4: too early.
static int judge_sleep(int how)
{
    long from = now_ms();
    int n = sleeps(how), e = n < 0 ? errno : 0;

    if (e == EINTR)
        return 1;
    if (now_ms() - from < WAIT_MS - 5)
        return 4;
    return n == 0 ? 0 : e == ETIMEDOUT || e == EAGAIN ? 2 : 3;
}

// An engine that samples does so after 10 and then 15 ms of a thread's own time. A sample that
// coincides with the stop hides it from the calls that it ends (engine/signal/handler.c).
static void spend(long ms)
{
    struct timespec ts;

    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    while (ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < ms);
}

// Eight processes, each waiting for a second, are stopped and continued in the middle: what each
// of the calls then returns.
static void stop_and_go(void)
{
    pid_t pid[8];
    int about[2], status;
    char c;

    CHECK(pipe(about) == 0);
    for (int how = 0; how < 8; how++) {
        pid[how] = fork();
        if (pid[how] == 0) {
            spend(16);
            _exit(write(about[1], "x", 1) == 1 ? judge_sleep(how) : 5);
        }
    }
    for (int how = 0; how < 8; how++)
        CHECK(read(about[0], &c, 1) == 1);
    usleep(200000);
    for (int how = 0; how < 8; how++) {
        kill(pid[how], SIGSTOP);
        CHECK(waitpid(pid[how], &status, WUNTRACED) == pid[how] && WIFSTOPPED(status));
    }
    for (int how = 0; how < 8; how++)
        kill(pid[how], SIGCONT);
    for (int how = 0; how < 8; how++) {
        CHECK(waitpid(pid[how], &status, 0) == pid[how] && WIFEXITED(status));
        SAY("wait %d: %d", how, WEXITSTATUS(status));
    }
    close(about[0]);
    close(about[1]);
}

// ---- Handlers that nest until the stack is full ----

static void nest(int sig)
{
    raise(sig);
}

static void nesting_ends(int with_segv)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct sigaction sa;
        stack_t ss;

        memset(&sa, 0, sizeof(sa));
        memset(&ss, 0, sizeof(ss));
        ss.ss_size = 256 * 1024;
        // the memory below the stack is unmapped
        ss.ss_sp = (char *)mmap(NULL, ss.ss_size + 65536, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
                   65536;
        mprotect((char *)ss.ss_sp - 65536, 65536, PROT_NONE);
        sigaltstack(&ss, NULL);
        sa.sa_handler = nest;
        sa.sa_flags = SA_ONSTACK | SA_NODEFER;
        sigaction(SIGUSR1, &sa, NULL);
        if (with_segv)
            sigaction(SIGSEGV, &sa, NULL);
        raise(SIGUSR1);
        _exit(3);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&ready, 0, 0);
    routes(SIGUSR1);
    routes(SIGRTMAX);
    routes(SIGSEGV);
    routes(SIGTRAP);
    SAY("to the thread that lets it in");
    set_ids();
    SAY("setresuid in every thread");
    blocked_breaks_nothing(SIGUSR1);
    blocked_breaks_nothing(SIGTRAP);
    blocked_breaks_nothing(SIGRTMAX);
    blocked_breaks_nothing(SIGSEGV);
    SAY("blocked while a call waits");
    char params[120];
    memset(params, 0, sizeof(params));
    ring = (int)syscall(SYS_io_uring_setup, 4, params);
    waits_with_mask(SIGUSR1);
    waits_with_mask(SIGSEGV);
    waits_with_mask(SIGTRAP);
    waits_with_mask(SIGRTMAX);
    SAY("let in while a call waits");
    while_vforked();
    SAY("while a vfork child runs");
    made_up_info();
    SAY("made-up siginfo");
    stop_and_go();
    SAY("stopped and continued");
    nesting_ends(0);
    nesting_ends(1);
    SAY("nested to the end of the stack");
    return check_failed;
}
