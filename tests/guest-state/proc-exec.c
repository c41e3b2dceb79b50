// SPDX-License-Identifier: MIT
// What survives an exec, and a program that is killed while it starts: mask, pending and ignored signals are the caller's; a signal
// that comes at any moment of the exec ends the process as it should (the runner looks for spools left behind).
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t handled;

static void handler(int sig)
{
    handled = sig;
}

static char name[] = "proc-exec", mask[] = "mask", fatal[] = "fatal", waits[] = "wait";

static int run_child(void (*prepare)(void), char *how)
{
    char *argv[] = { name, how, NULL };
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        if (prepare)
            prepare();
        execv("/proc/self/exe", argv);
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void prepare_mask(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGRTMAX);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR2, handler); // becomes default
    raise(SIGUSR1);
}

static int check_mask(void)
{
    struct sigaction sa;
    sigset_t set, pending;

    CHECK(sigprocmask(SIG_SETMASK, NULL, &set) == 0 && sigpending(&pending) == 0);
    for (int sig = 1; sig <= 64; sig++) {
        CHECK(sigismember(&set, sig) == (sig == SIGUSR1 || sig == SIGSEGV || sig == SIGRTMAX));
        CHECK(sigismember(&pending, sig) == (sig == SIGUSR1));
    }
    CHECK(sigaction(SIGHUP, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
    CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
    signal(SIGUSR1, handler);
    CHECK(!handled);
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    CHECK(handled == SIGUSR1);
    return check_failed;
}

static void prepare_fatal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_SETMASK, &set, NULL);
    raise(SIGTERM);
}

static int check_fatal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    return 98;
}

// Kills a child so many microseconds after its birth.
static void kill_after(long us)
{
    char *argv[] = { name, waits, NULL };
    struct timespec ts = { 0, us * 1000 };
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(99);
    }
    nanosleep(&ts, NULL);
    CHECK(kill(pid, SIGTERM) == 0);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(int argc, char **argv)
{
    int status;

    if (argc == 2 && strcmp(argv[1], "mask") == 0)
        return check_mask();
    if (argc == 2 && strcmp(argv[1], "fatal") == 0)
        return check_fatal();
    if (argc == 2) {
        sigset_t none;

        sigemptyset(&none);
        for (;;)
            sigsuspend(&none);
    }
    status = run_child(prepare_mask, mask);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SAY("mask, pending and ignored signals survive");
    status = run_child(prepare_fatal, fatal);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    SAY("a pending signal ends the new program when it opens its mask");
    for (int i = 0; i < 40; i++)
        kill_after(i * 400);
    SAY("killed at any moment");
    return check_failed;
}
