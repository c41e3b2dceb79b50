// SPDX-License-Identifier: MIT
// Every way of dying: each signal with its default action, sent and caused, blocked and ignored
// faults, abort, SIGKILL, _exit codes, SIGSTOP and SIGCONT in between.
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int run(void (*fn)(int), int arg)
{
    pid_t pid;
    int status = -1;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        fn(arg);
        _exit(77);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void send(int sig)
{
    kill(getpid(), sig);
}

static void blocked_fault(int how)
{
    sigset_t s;

    sigfillset(&s);
    if (how == 0)
        sigprocmask(SIG_SETMASK, &s, NULL);
    else
        signal(SIGSEGV, SIG_IGN);
    *(volatile int *)16 = 1;
}

static void divide(int n)
{
    volatile int z = n;

    __asm__ volatile("idivl %0" : : "m"(z), "a"(1), "d"(0));
}

static void do_abort(int n)
{
    (void)n;
    abort();
}

static void do_ud2(int n)
{
    (void)n;
    __asm__ volatile("ud2");
}

static void do_int3(int n)
{
    (void)n;
    __asm__ volatile("int3");
}

static void do_hlt(int n)
{
    (void)n;
    __asm__ volatile("hlt");
}

static void spin(int n)
{
    signal(SIGALRM, SIG_DFL);
    if (n == 0)
        ualarm(20000, 0);
    for (;;)
        __asm__ volatile("");
}

static void handler(int sig)
{
    _exit(sig + 100);
}

static void exit_in_handler(int n)
{
    (void)n;
    signal(SIGTERM, handler);
    raise(SIGTERM);
}

int main(void)
{
    struct rlimit no_core = { 0, 0 };

    setrlimit(RLIMIT_CORE, &no_core);
    for (int sig = 1; sig < 65; sig++) {
        int expect = 1000 + sig;

        if (sig == 32 || sig == 33 || sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
            sig == SIGTTOU)
            continue;
        if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH)
            expect = 77;
        CHECK(run(send, sig) == expect);
    }
    SAY("each signal");
    CHECK(run(blocked_fault, 0) == 1000 + SIGSEGV);
    CHECK(run(blocked_fault, 1) == 1000 + SIGSEGV);
    CHECK(run(divide, 0) == 1000 + SIGFPE);
    CHECK(run(do_abort, 0) == 1000 + SIGABRT);
    CHECK(run(do_ud2, 0) == 1000 + SIGILL);
    CHECK(run(do_int3, 0) == 1000 + SIGTRAP);
    CHECK(run(do_hlt, 0) == 1000 + SIGSEGV);
    CHECK(run(spin, 0) == 1000 + SIGALRM);
    CHECK(run(exit_in_handler, 0) == 100 + SIGTERM);
    SAY("faults");
    for (int code = 0; code < 256; code += 51)
        CHECK(run(_exit, code) == code);
    CHECK(run(_exit, 0x1234) == 0x34);
    SAY("exit codes");

    // stopped and continued while it computes, then killed
    pid_t pid = fork();
    int status;
    if (pid == 0)
        spin(1);
    usleep(20000);
    kill(pid, SIGSTOP);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
          WSTOPSIG(status) == SIGSTOP);
    kill(pid, SIGCONT);
    CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
    kill(pid, SIGTSTP);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
          WSTOPSIG(status) == SIGTSTP);
    kill(pid, SIGCONT);
    CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    SAY("stop and continue");
    return check_failed;
}
