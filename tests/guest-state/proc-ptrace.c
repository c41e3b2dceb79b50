// SPDX-License-Identifier: MIT
// A debugger and its child, both under the engine: the debugger sees the child stop, continue and
// end as natively.
#define _GNU_SOURCE
#include "check.h"

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
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

        // Real-time ones (the engine preempts by 33) are passed on silently; a signal that
        // ends the program is reported twice by the engine's debugger.
        if (sig < 32 && sig != last)
            printf(" %d", sig);
        last = sig;
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(sig == SIGSTOP || sig == SIGTRAP ? 0 : sig));
    }
    SAY(" and %d", status);
}

static unsigned long gs;

// The base of %gs, read and written in every way.
static void look_at_gs(pid_t pid)
{
    long at = offsetof(struct user_regs_struct, gs_base);
    struct user_regs_struct regs, now;
    struct iovec v = { &regs, sizeof(regs) };

    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0x5000);
    CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0 && regs.gs_base == 0x5000);
    regs.gs_base = 0x6000;
    CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0);
    CHECK(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &v) == 0 && regs.gs_base == 0x6000);
    CHECK(v.iov_len == sizeof(regs));
    regs.gs_base = 0x7000;
    CHECK(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v) == 0);
    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0x7000);
    // Fewer registers than exist: the others keep their values.
    regs.r15 ^= 1;
    v.iov_len = 8;
    CHECK(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v) == 0);
    CHECK(ptrace(PTRACE_GETREGS, pid, 0, &now) == 0 && memcmp(&now, &regs, sizeof(now)) == 0);
    regs.r15 ^= 1;
    CHECK(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &v) == 0);
    CHECK(ptrace(PTRACE_POKEUSER, pid, at, 0x9000) == 0);
    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0x9000);
}

// The same for its selector, which the child reads; the base keeps its value.
static void look_at_selector(pid_t pid)
{
    long at = offsetof(struct user_regs_struct, gs);
    struct user_regs_struct regs;

    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0x2b);
    CHECK(ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0 && regs.gs == 0x2b);
    regs.gs = 0;
    CHECK(ptrace(PTRACE_SETREGS, pid, 0, &regs) == 0);
    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0);
    CHECK(ptrace(PTRACE_POKEUSER, pid, at, 0x2a) == -1 && errno == EIO);
    CHECK(ptrace(PTRACE_POKEUSER, pid, at, 0x20002b) == 0);
    CHECK(ptrace(PTRACE_PEEKUSER, pid, at, 0) == 0x2b);
}

int main(int argc, char **argv)
{
    int status;
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
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        syscall(SYS_arch_prctl, 0x1001, 0x5000); // ARCH_SET_GS
        raise(SIGSTOP);
        syscall(SYS_arch_prctl, 0x1004, &gs); // ARCH_GET_GS
        _exit(gs == 0x9000 ? 8 : 9);
    }
    // The engine's own signal may come first when it preempts.
    while ((status = next(pid)) > 2000 && status - 2000 >= 32)
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(status - 2000));
    CHECK(status == 2000 + SIGSTOP);
    look_at_gs(pid);
    ptrace(PTRACE_CONT, pid, 0, 0);
    while ((status = next(pid)) > 2000)
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(status - 2000 >= 32 ? status - 2000 : 0));
    SAY("gs %d", status);
    pid = fork();
    if (pid == 0) {
        unsigned selector;

        __asm__ volatile("mov %0, %%gs" : : "r"(0x2b));
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        __asm__ volatile("mov %%gs, %0" : "=r"(selector));
        _exit(selector == 0x2b ? 8 : 9);
    }
    while ((status = next(pid)) > 2000 && status - 2000 >= 32)
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(status - 2000));
    CHECK(status == 2000 + SIGSTOP);
    look_at_selector(pid);
    ptrace(PTRACE_CONT, pid, 0, 0);
    while ((status = next(pid)) > 2000)
        ptrace(PTRACE_CONT, pid, 0, (void *)(long)(status - 2000 >= 32 ? status - 2000 : 0));
    SAY("selector %d", status);
    return check_failed;
}
