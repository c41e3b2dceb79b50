// SPDX-License-Identifier: MIT
//
// Transactions (RTM). Each one here aborts, on any processor: under Quern at once,
// natively at its xabort, or at once where microcode forbids them; a processor without
// xbegin raises SIGILL. After an abort everything except eax is as before xbegin. The output
// must be the same natively and under Quern: signals show what cpuid does not.
// (xbegin was once copied into the code cache, where its abort went astray.)
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

#define ALL_FLAGS 0xad7 // 0x202 and the arithmetic flags

static sigjmp_buf out;
static int signo, code;
static uint64_t rip;
static bool known = true; // xbegin
static uint64_t cells[64] __attribute__((aligned(64)));
extern const char transaction_begin[], transaction_end[];

static void note(int sig, siginfo_t *i, void *context)
{
    signo = sig;
    code = i->si_code;
    rip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    siglongjmp(out, 1);
}

// Loads and stores on both sides of xbegin, so that the engine uses many registers there; a branch
// and a loop inside.
static void aborted(void)
{
    uint64_t a = ~0ull, b = 0x1111, c = 5, flags;
    uint64_t *p = cells;

    memset(cells, 0, sizeof(cells));
    __asm__ volatile("push %[all]\n\tpopfq\n\t"
                     "mov 8(%[p]), %%r8\n\t"
                     "mov %[b], 16(%[p])\n\t"
                     "transaction_begin: xbegin 2f\n\t"
                     "movq $7, 24(%[p])\n\t"
                     "xor %[b], %[b]\n\t"
                     "1: incq 32(%[p])\n\t"
                     "loop 1b\n\t"
                     "xabort $0x5a\n\t"
                     "ud2\n"
                     "2: mov 16(%[p]), %%r8\n\t"
                     "mov %%r8, 40(%[p])\n\t"
                     "pushfq\n\tpop %[flags]"
                     : [a] "+a"(a), [b] "+r"(b), [c] "+c"(c), [flags] "=&r"(flags)
                     : [p] "r"(p), [all] "i"(ALL_FLAGS)
                     : "r8", "cc", "memory");
    // 0, or the xabort's 0x5a with bit 0; bits 1 to 5 say more about aborts of other causes. The
    // upper half is dropped.
    CHECK(a >> 32 == 0);
    CHECK((a & 0xffffffc0) == ((a & 1) ? 0x5a000000 : 0));
    CHECK(b == 0x1111 && c == 5 && flags == ALL_FLAGS);
    CHECK(cells[2] == 0x1111 && cells[3] == 0 && cells[4] == 0 && cells[5] == 0x1111);
}

// The same with a displacement of 16 bits, backwards.
static void aborted_back(void)
{
    uint64_t a = 1, b = 0;

    __asm__ volatile("jmp 2f\n"
                     "1: mov $3, %[b]\n\tjmp 3f\n"
                     "2: .byte 0x66, 0xc7, 0xf8\n\t.word 1b - 4f\n"
                     "4: mov $4, %[b]\n\txabort $1\n"
                     "3:"
                     : "+a"(a), [b] "+r"(b)
                     :
                     : "cc", "memory");
    CHECK(b == 3 && a >> 32 == 0);
}

int main(void)
{
    struct sigaction sa = { 0 };
    uint64_t flags = 0;

    sa.sa_sigaction = note;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);

    if (!sigsetjmp(out, 1)) {
        aborted();
    } else {
        known = false;
        CHECK(signo == SIGILL && code == ILL_ILLOPN &&
              rip == (uint64_t)(uintptr_t)transaction_begin);
    }
    printf("xbegin: %s\n", known ? "aborts" : "illegal");
    for (int i = 0; known && i < 200; i++) {
        aborted();
        aborted_back();
    }

    if (!sigsetjmp(out, 1)) {
        __asm__ volatile("push %[all]\n\tpopfq\n\txtest\n\tpushfq\n\tpop %0"
                         : "=&r"(flags)
                         : [all] "i"(ALL_FLAGS)
                         : "cc", "memory");
        CHECK(flags == 0x242); // not in a transaction: ZF, and the others clear
        printf("xtest: no\n");
    } else {
        CHECK(signo == SIGILL);
        printf("xtest: illegal\n");
    }

    if (!sigsetjmp(out, 1)) {
        __asm__ volatile("xabort $3" : : : "rax");
        printf("xabort: nothing\n");
    } else {
        CHECK(signo == SIGILL);
        printf("xabort: illegal\n");
    }

    if (!sigsetjmp(out, 1)) {
        __asm__ volatile("transaction_end: xend" : : : "memory");
        CHECK(!"reached");
    }
    CHECK(signo == (known ? SIGSEGV : SIGILL) && rip == (uint64_t)(uintptr_t)transaction_end);
    printf("xend: signal %d code %d\n", signo, code);
    return check_failed;
}
