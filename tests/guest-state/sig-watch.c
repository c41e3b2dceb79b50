// SPDX-License-Identifier: MIT
// A hardware watchpoint that raises SIGTRAP: once for each access, and the program continues
// after it. DIFFERS: natively rip is right after the access, under the engine it may be later,
// after the access's block.
#define _GNU_SOURCE
#include "check.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile long word;
static volatile int raised, code;

static void handler(int sig, siginfo_t *si, void *p)
{
    (void)sig;
    (void)p;
    code = si->si_code;
    if (++raised > 50)
        _exit(7);
}

static void __attribute__((noinline)) load(void)
{
    (void)word;
}

static void __attribute__((noinline)) store(long v)
{
    word = v;
}

// Bits of the debug register 7 that make register 0 watch accesses of eight bytes, or writes.
#define ACCESSES 0xb0001ul
#define WRITES   0x90001ul

// A tracer that sets this process's debug registers to the word and detaches.
static int set_registers(unsigned long control)
{
    pid_t me = getpid(), pid;
    int status = -1;

    fflush(stdout);
    prctl(PR_SET_PTRACER, -1L);
    pid = fork();
    if (pid == 0) {
        long at = offsetof(struct user, u_debugreg[0]);
        bool failed = ptrace(PTRACE_ATTACH, me, 0, 0) != 0;

        if (failed)
            _exit(1);
        // A signal of the engine may stop it first: then it would stop again behind this.
        while (waitpid(me, &status, 0) == me && WIFSTOPPED(status) &&
               WSTOPSIG(status) != SIGSTOP)
            ptrace(PTRACE_CONT, me, 0, WSTOPSIG(status));
        // off, before its address is changed
        failed |= ptrace(PTRACE_POKEUSER, me, at + 7 * 8, 0) != 0;
        failed |= ptrace(PTRACE_POKEUSER, me, at, &word) != 0;
        failed |= ptrace(PTRACE_POKEUSER, me, at + 7 * 8, control) != 0;
        ptrace(PTRACE_DETACH, me, 0, 0);
        _exit(failed);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void by_registers(void)
{
    raised = 0;
    if (set_registers(ACCESSES)) {
        SAY("no debug registers here");
        return;
    }
    load();
    if (!raised) {
        SAY("debug registers are not seen here");
        return;
    }
    CHECK(raised == 1);
    CHECK(code == 4); // TRAP_HWBKPT
    store(6);
    CHECK(raised == 2);
    for (int i = 0; i < 10; i++)
        load();
    CHECK(raised == 12);
    CHECK(set_registers(WRITES) == 0);
    raised = 0;
    load();
    CHECK(raised == 0);
    store(7);
    CHECK(raised == 1);
    CHECK(set_registers(0) == 0);
    store(8);
    CHECK(raised == 1);
    SAY("watched by registers");
}

int main(void)
{
    struct perf_event_attr attr;
    struct sigaction act;
    int fd;

    memset(&act, 0, sizeof(act));
    act.sa_flags = SA_SIGINFO;
    act.sa_sigaction = handler;
    sigaction(SIGTRAP, &act, NULL);
    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.bp_type = HW_BREAKPOINT_RW;
    attr.bp_addr = (uint64_t)&word;
    attr.bp_len = 8;
    attr.sample_period = 1;
    attr.sigtrap = 1;
    attr.remove_on_exec = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd < 0) {
        SAY("no watchpoints here");
        return 0;
    }
    load();
    if (!raised) { // under PVM, a hypervisor, natively as well
        SAY("watchpoints are not seen here");
        return 0;
    }
    CHECK(raised == 1);
    CHECK(code == 6); // TRAP_PERF
    store(5);
    CHECK(raised == 2);
    for (int i = 0; i < 10; i++)
        load();
    CHECK(raised == 12);
    close(fd);
    CHECK(word == 5);
    SAY("watched");
    by_registers();
    return check_failed;
}
