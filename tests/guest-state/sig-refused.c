// SPDX-License-Identifier: MIT
// rt_sigreturn from a frame whose FPU state XRSTOR refuses: one SIGSEGV, whose context is the
// interrupted one with the registers of the frame (restore_sigcontext sets them before it checks
// the state). Expected values by the kernel, natively.
#define _GNU_SOURCE
#include "check.h"

#include <cpuid.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

static int faults, code;
static uint64_t interrupted, rip, rbx;

static void spoil(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;
    uint64_t *header = (uint64_t *)(void *)((char *)uc->uc_mcontext.fpregs + 512);

    (void)sig;
    (void)si;
    uc->uc_mcontext.gregs[REG_RBX] = 0x1234;
    header[2] = 0xfffffff; // reserved bytes of the XSAVE header, which have to be zero
}

static void fault(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;

    (void)sig;
    code = si->si_code;
    rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    rbx = (uint64_t)uc->uc_mcontext.gregs[REG_RBX];
    if (++faults == 3)
        _exit(1);
}

int main(void)
{
    struct sigaction act;
    unsigned a, b, c = 0, d;
    long ret;

    __get_cpuid(1, &a, &b, &c, &d);
    if (!(c & bit_OSXSAVE)) {
        SAY("no XSAVE on this processor");
        return 0;
    }
    memset(&act, 0, sizeof(act));
    act.sa_flags = SA_SIGINFO;
    act.sa_sigaction = spoil;
    sigaction(SIGUSR1, &act, NULL);
    act.sa_sigaction = fault;
    sigaction(SIGSEGV, &act, NULL);
    __asm__ volatile("lea 1f(%%rip), %%r8\n\t"
                     "mov %%r8, %0\n\t"
                     "syscall\n"
                     "1:"
                     : "=m"(interrupted), "=a"(ret)
                     : "1"((long)SYS_kill), "D"((long)getpid()), "S"((long)SIGUSR1)
                     : "rcx", "r11", "r8", "rbx", "memory");
    CHECK(ret == 0);
    CHECK(faults == 1);
    CHECK(code == SI_KERNEL);
    CHECK(rip == interrupted);
    CHECK(rbx == 0x1234);
    SAY("refused state");
    return check_failed;
}
