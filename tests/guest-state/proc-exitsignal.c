// SPDX-License-Identifier: MIT
// The signal that a parent gets when its child ends is the one that it chose, and waits find the
// child as natively: a child with a signal other than SIGCHLD is found with __WCLONE or __WALL
// only.
#define _GNU_SOURCE
#include "check.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile sig_atomic_t got;

static void handler(int sig)
{
    got = sig;
}

static void end_with(int sig, int via_fork)
{
    struct clone_args args;
    sigset_t set, old;
    int status = -1;
    long pid;

    memset(&args, 0, sizeof(args));
    args.exit_signal = (unsigned)sig;
    got = 0;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, &old);
    fflush(stdout);
    pid = via_fork ? syscall(SYS_clone, sig, 0, 0, 0, 0) : syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        _exit(3);
    CHECK(pid > 0);
    if (sig == SIGUSR2) {
        CHECK(waitpid((pid_t)pid, &status, 0) == -1 && errno == ECHILD);
        CHECK(sigwaitinfo(&set, NULL) == SIGUSR2);
    }
    CHECK(waitpid((pid_t)pid, &status, __WALL) == pid);
    sigprocmask(SIG_SETMASK, &old, NULL);
    SAY("signal %d, status %x", sig, (unsigned)status);
    CHECK(got == (sig == SIGCHLD ? SIGCHLD : 0));
}

int main(void)
{
    signal(SIGUSR2, handler);
    signal(SIGCHLD, handler);
    end_with(SIGUSR2, 0);
    end_with(SIGUSR2, 1);
    end_with(SIGCHLD, 0);
    end_with(SIGCHLD, 1);
    end_with(0, 0);
    end_with(0, 1);
    return check_failed;
}
