// SPDX-License-Identifier: MIT
//
// A fault's handler sees the program's state: all general registers, the flags (except
// those that the faulting instruction would have overwritten: they are dead to Quern), rip at
// the faulting instruction, the address; with any instructions before the fault in its block. The
// program continues with the context that the handler leaves.
//
// about: flush replay-small replay-blocks
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

static uint8_t *bad; // an inaccessible page, after an accessible one
static volatile int seen;
static gregset_t regs;
static siginfo_t info;
static long long skip_to;

static void note(int sig, siginfo_t *i, void *context)
{
    ucontext_t *u = context;

    (void)sig;
    seen++;
    info = *i;
    memcpy(regs, u->uc_mcontext.gregs, sizeof(regs));
    u->uc_mcontext.gregs[REG_RIP] = skip_to;
}

// Sets every register, does some work that the fault must not undo or repeat, faults at `at`,
// continues at `on`.
#define FAULT(before, instruction)                                                                \
    __asm__ volatile("push %%rbp\n\t"                                                             \
                     "lea 7f(%%rip), %%rax\n\t"                                                   \
                     "mov %%rax, %[skip]\n\t"                                                     \
                     "mov %[bad], %%rbx\n\t"                                                      \
                     "lea -4096(%%rbx), %%rsi\n\t"                                                \
                     "mov $0x1111111111111111, %%rax\n\t"                                         \
                     "mov $2, %%ecx\n\tmov $3, %%edx\n\tmov $7, %%edi\n\tmov $8, %%r8d\n\t"       \
                     "mov $9, %%r9d\n\tmov $10, %%r10d\n\tmov $11, %%r11d\n\tmov $12, %%r12d\n\t" \
                     "mov $13, %%r13d\n\tmov $14, %%r14d\n\tmov $15, %%r15d\n\tmov $6, %%ebp\n\t" \
                     "cmp $3, %%edx\n\t" before "\n"                                              \
                     "6: " instruction "\n\t"                                                     \
                     "ud2\n"                                                                      \
                     "7: lea 6b(%%rip), %%rax\n\t"                                                \
                     "pop %%rbp\n\t"                                                              \
                     "mov %%rax, %[at]"                                                           \
                     : [skip] "=m"(skip_to), [at] "=m"(at)                                        \
                     : [bad] "m"(bad)                                                             \
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", \
                       "r13", "r14", "r15", "xmm0", "cc", "memory")

static void check_usual(long long at, uint8_t *where)
{
    CHECK(regs[REG_RIP] == at);
    CHECK(info.si_addr == where);
    CHECK(regs[REG_RAX] == 0x1111111111111111);
    CHECK(regs[REG_RBX] == (long long)(uintptr_t)bad);
    CHECK(regs[REG_RSI] == (long long)(uintptr_t)bad - 4096);
    CHECK(regs[REG_RDI] == 7 && regs[REG_RBP] == 6 && regs[REG_RDX] == 3 && regs[REG_RCX] == 2);
    CHECK(regs[REG_R8] == 8 && regs[REG_R9] == 9 && regs[REG_R10] == 10 && regs[REG_R11] == 11);
    CHECK(regs[REG_R12] == 12 && regs[REG_R13] == 13 && regs[REG_R14] == 14 && regs[REG_R15] == 15);
}

#define ZF 0x40

static void faults(void)
{
    long long at;
    uint64_t *good = (uint64_t *)(uintptr_t)(bad - 4096);

    for (int round = 0; round < 3; round++) {
        seen = 0;
        FAULT("", "mov (%%rbx), %%eax");
        check_usual(at, bad);
        CHECK(regs[REG_EFL] & ZF);
        FAULT("", "mov %%eax, 16(%%rbx)");
        check_usual(at, bad + 16);
        FAULT("", "add %%rax, 24(%%rbx)");
        check_usual(at, bad + 24);
        FAULT("", "movdqu -8(%%rbx), %%xmm0"); // the second half
        check_usual(at, bad);
        FAULT("", "push (%%rbx)");
        check_usual(at, bad);
        FAULT("", "call *8(%%rbx)");
        check_usual(at, bad + 8);
        FAULT("", "jmp *8(%%rbx)");
        check_usual(at, bad + 8);
        FAULT("", "lock incl 4(%%rbx)");
        check_usual(at, bad + 4);
        FAULT("", "cmovnz (%%rbx), %%eax"); // reads although the condition is false
        check_usual(at, bad);

        // After other references in the same block: they have happened, once.
        good[0] = good[1] = 0;
        FAULT("incq (%%rsi)\n\tmov (%%rsi), %%r15\n\tadd $14, %%r15\n\t"
              "incq 8(%%rsi)\n\tcmp $4, %%edx",
              "mov 32(%%rbx), %%ecx");
        check_usual(at, bad + 32);
        CHECK(good[0] == 1 && good[1] == 1);
        CHECK(!(regs[REG_EFL] & ZF));
        FAULT("push %%rdx\n\tpop %%r14\n\tadd $11, %%r14\n\tcall 5f\n\tjmp 4f\n5: ret\n4: ",
              "mov 40(%%rbx), %%ecx");
        check_usual(at, bad + 40);

        // A repeated string instruction: rsi, rdi and rcx give its progress.
        FAULT("lea -5(%%rbx), %%rdi\n\tmov $9, %%ecx", "rep stosb");
        CHECK(regs[REG_RIP] == at && info.si_addr == bad);
        CHECK(regs[REG_RDI] == (long long)(uintptr_t)bad && regs[REG_RCX] == 4);
        FAULT("lea -16(%%rbx), %%rsi\n\tlea -4096(%%rbx), %%rdi\n\tmov $9, %%ecx", "rep movsq");
        CHECK(regs[REG_RIP] == at && info.si_addr == bad);
        CHECK(regs[REG_RSI] == (long long)(uintptr_t)bad && regs[REG_RCX] == 7);
        CHECK(regs[REG_RDI] == (long long)(uintptr_t)bad - 4096 + 16);
        CHECK(seen == 13);
    }
}

// A jump to an unmapped address faults at the target.
static sigjmp_buf back;
static void leave(int sig, siginfo_t *i, void *context)
{
    info = *i;
    memcpy(regs, ((ucontext_t *)context)->uc_mcontext.gregs, sizeof(regs));
    siglongjmp(back, sig);
}

static void *volatile nowhere;
static void jumps(void)
{
    struct sigaction a = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
    uint8_t *data = bad - 4096;

    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGILL, &a, NULL);
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            ((void (*)(void))nowhere)();
        CHECK(info.si_addr == NULL && regs[REG_RIP] == 0);
        if (sigsetjmp(back, 1) == 0)
            ((void (*)(void))(uintptr_t)data)(); // readable, not executable
        CHECK(info.si_addr == data && regs[REG_RIP] == (long long)(uintptr_t)data);
        CHECK(info.si_code == SEGV_ACCERR);
        if (sigsetjmp(back, 1) == 0)
            __asm__ volatile("ud2");
        CHECK(info.si_signo == SIGILL && info.si_addr == (void *)(uintptr_t)regs[REG_RIP]);
        CHECK(memcmp((void *)(uintptr_t)regs[REG_RIP], "\x0f\x0b", 2) == 0);
    }
}

// The handler changes everything.
static void edit(int sig, siginfo_t *i, void *context)
{
    ucontext_t *u = context;

    (void)sig;
    (void)i;
    u->uc_mcontext.gregs[REG_RIP] = skip_to;
    u->uc_mcontext.gregs[REG_RAX] = 0x5555;
    u->uc_mcontext.gregs[REG_R12] = 0x6666;
    u->uc_mcontext.gregs[REG_EFL] |= 1; // carry
    u->uc_mcontext.fpregs->_xmm[3].element[0] = 0x7777;
    sigaddset(&u->uc_sigmask, SIGUSR2);
}

static void edits(void)
{
    struct sigaction a = { .sa_sigaction = edit, .sa_flags = SA_SIGINFO };
    sigset_t mask;

    sigaction(SIGSEGV, &a, NULL);
    for (int round = 0; round < 5; round++) {
        long long rax, r12;
        uint32_t xmm, carry;

        __asm__ volatile(
            "lea 1f(%%rip), %%rax\n\tmov %%rax, %[skip]\n\txor %%eax, %%eax\n\t"
            "xor %%r12d, %%r12d\n\t"
            "pxor %%xmm3, %%xmm3\n\tmov %[bad], %%rcx\n\tclc\n\tmov (%%rcx), %%eax\n\tud2\n"
            "1: setc %b[carry]\n\tmov %%r12, %[r12]\n\tmovd %%xmm3, %[xmm]"
            : [skip] "=m"(skip_to),
              "=&a"(rax), [r12] "=&r"(r12), [xmm] "=&r"(xmm), [carry] "=&q"(carry)
            : [bad] "m"(bad)
            : "rcx", "r12", "xmm3", "cc", "memory");
        CHECK(rax == 0x5555 && r12 == 0x6666 && xmm == 0x7777 && (carry & 255) == 1);
        sigprocmask(SIG_BLOCK, NULL, &mask);
        CHECK(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGSEGV));
        sigemptyset(&mask);
        sigprocmask(SIG_SETMASK, &mask, NULL);
    }
}

int main(void)
{
    struct sigaction a = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

    bad = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(bad != MAP_FAILED);
    bad += 4096;
    CHECK(mprotect(bad, 4096, PROT_NONE) == 0);
    sigaction(SIGSEGV, &a, NULL);
    faults();
    jumps();
    edits();
    return check_failed;
}
