// SPDX-License-Identifier: MIT
//
// iretq of a nested task (NT): the processor refuses it, and a handler sees the flag. An interrupt
// between popfq and iretq may lose the flag, natively too (one run in 4,000 on a virtual machine
// that was seen; iretq then reads the stack and refuses what it finds there): then it is tried
// again.
//
// varies: how often it is tried
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

#define FLAG_NT 0x4000
#define TRIES   50

static sigjmp_buf out;
static greg_t regs[NGREG];
static siginfo_t info;

static void note(int sig, siginfo_t *i, void *context)
{
    // the handler has the flags of what it interrupts
    __asm__ volatile(
        "sub $128, %%rsp\n\tpushfq\n\tandl $~0x4000, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp"
        :
        :
        : "memory", "cc");
    (void)sig;
    info = *i;
    memcpy(regs, ((ucontext_t *)context)->uc_mcontext.gregs, sizeof(regs));
    siglongjmp(out, 1);
}

void nested(void);
__asm__(".text\nnested: pushfq; orl $0x4000, (%rsp); popfq; iretq; ret");

int main(void)
{
    struct sigaction sa = { 0 };
    volatile int tries = 0;

    sa.sa_sigaction = note;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    for (volatile int round = 0; round < 2; round++) {
        do {
            info.si_signo = 0;
            if (!sigsetjmp(out, 1))
                nested();
            CHECK(info.si_signo == SIGSEGV);
            CHECK((uintptr_t)regs[REG_RIP] == (uintptr_t)nested + 9);
        } while (!(regs[REG_EFL] & FLAG_NT) && ++tries < TRIES);
        printf("signal %d code %d trap %lld error %#llx flags %#llx\n", info.si_signo, info.si_code,
               (long long)regs[REG_TRAPNO], (unsigned long long)regs[REG_ERR],
               (unsigned long long)regs[REG_EFL] & ~0x8d5ull);
    }
    CHECK(tries < TRIES);
    return check_failed;
}
