// SPDX-License-Identifier: MIT
// A debugger and its child, both under the engine: the debugger sees the child stop, go on and end as natively.
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int next(pid_t pid)
{
    int status = -1;

    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSTOPPED(status)    ? 2000 + WSTOPSIG(status)
           : WIFSIGNALED(status) ? 1000 + WTERMSIG(status)
                                 : WEXITSTATUS(status);
}

static void say_all(const char *what, pid_t pid)
{
    int status, last = 0;

    printf("%s:", what);
    while ((status = next(pid)) >= 2000) {
        int sig = status - 2000;

        // Real-time ones (the engine preempts by 33) are passed on in silence; of a signal that ends the program the engine's debugger hears twice.
        if (sig < 32 && sig != last)
            printf(" %d", sig);
        last = sig;
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(sig == SIGSTOP || sig == SIGTRAP ? 0 : sig));
    }
    SAY(" and %d", status);
}

int main(int argc, char **argv)
{
    static char name[] = "proc-ptrace", second[] = "second";
    char *args[] = { name, second, NULL };
    pid_t pid;

    (void)argv;
    if (argc > 1)
        return 3;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(7);
    }
    say_all("stops and exits", pid);
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGUSR1);
        _exit(7);
    }
    say_all("dies", pid);
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv("/proc/self/exe", args);
        _exit(99);
    }
    say_all("execs", pid);
    return check_failed;
}
