// SPDX-License-Identifier: MIT
// needs: avx512f fsgsbase
//
// Instruction forms that compilers do not emit and that the engine once translated wrongly (found
// by fuzz-insn): a prefix bit that the decoder ignores, the client's %gs where no modrm byte names
// the operand, instructions that load %gs, and single-stepping with the nested-task flag set.
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "check.h"

static uint8_t bytes[4096] __attribute__((aligned(64)));
static sigjmp_buf out;
static int code;
static long long flags;

static void note(int sig, siginfo_t *i, void *context)
{
    (void)sig;
    code = i->si_code;
    flags = ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    siglongjmp(out, 1);
}

// F3 41 90: AMD's processors exchange eax and r8d, Intel's pause. The program prints which, and
// natively it must be the same. References before and after it make the engine use registers.
static void pause_with_rex(bool say)
{
    bool exchanged;
    uint64_t a = 0x1111111122222222, b = 0x3333333344444444;

    __asm__("mov %0, %%rax\n\tmov %1, %%r8\n\t"
            "mov bytes(%%rip), %%rcx\n\t"
            ".byte 0xf3, 0x41, 0x90\n\t"
            "mov bytes+64(%%rip), %%rcx\n\t"
            "mov %%rax, %0\n\tmov %%r8, %1"
            : "+r"(a), "+r"(b)
            :
            : "rax", "rcx", "r8");
    exchanged = a == 0x44444444;
    CHECK(a == (exchanged ? 0x44444444 : 0x1111111122222222));
    CHECK(b == (exchanged ? 0x22222222 : 0x3333333344444444));
    if (say)
        printf("f3 41 90 %s\n", exchanged ? "exchanges" : "pauses");
}

static void implicit_gs(void)
{
    uint64_t al = 7, base = 64;

    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(255 - i);
    __asm__ volatile("wrgsbase %2\n\t"
                     ".byte 0x65, 0xd7" // xlatb %gs:(%rbx), of whose operand clang warns
                     : "+a"(al)
                     : "b"(base), "r"((uint64_t)(uintptr_t)bytes));
    CHECK(al == 255 - 71);
    // the sign bits of xmm1 choose the bytes of xmm0 that are stored
    __asm__ volatile("vmovd %k[ones], %%xmm0\n\t"
                     "vmovd %k[mask], %%xmm1\n\t"
                     ".byte 0x65\n\tmaskmovdqu %%xmm1, %%xmm0"
                     :
                     : [ones] "r"(0x04030201), [mask] "r"(0x80008000), "D"(base)
                     : "xmm0", "xmm1", "memory");
    CHECK(bytes[64] == 255 - 64 && bytes[65] == 2 && bytes[66] == 255 - 66 && bytes[67] == 4);
}

static void gather_gs(void)
{
    uint32_t in[16], got[16];

    for (uint32_t i = 0; i < 16; i++) {
        in[i] = 15 - i;
        memcpy(bytes + 64 + 4 * i, &i, 4);
    }
    __asm__ volatile("wrgsbase %[gs]\n\t"
                     "vmovdqu64 %[in], %%zmm2\n\t"
                     "kxnorw %%k1, %%k1, %%k1\n\t"
                     "vpgatherdd %%gs:64(,%%zmm2,4), %%zmm3%{%%k1%}\n\t"
                     "vmovdqu64 %%zmm3, %[got]\n\t"
                     "kxnorw %%k1, %%k1, %%k1\n\t"
                     "mov $128, %%eax\n\t"
                     "vpscatterdd %%zmm3, %%gs:(%%rax,%%zmm2,4)%{%%k1%}"
                     : [got] "=m"(got)
                     : [in] "m"(in), [gs] "r"((uint64_t)(uintptr_t)bytes)
                     : "rax", "xmm2", "xmm3", "memory");
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t v;

        CHECK(got[i] == 15 - i);
        memcpy(&v, bytes + 128 + 4 * i, 4);
        CHECK(v == i); // 15 - i went to element 15 - i
    }
}

// A move between rax and an absolute address ignores REX.R, X and B, and the last segment
// prefix applies.
static void absolute_gs(void)
{
    uint64_t v = 0x1122334455667788, r8 = 1;

    memset(bytes, 0, 64);
    __asm__ volatile("wrgsbase %[gs]\n\t"
                     "mov %[r8], %%r8\n\t"
                     ".byte 0x65, 0x4f, 0xa3\n\t.quad 16\n\t"       // mov %rax, %gs:16
                     ".byte 0x64, 0x65, 0x47, 0xa2\n\t.quad 32\n\t" // mov %al, %gs:32
                     "xor %%eax, %%eax\n\t"
                     ".byte 0x65, 0x47, 0xa1\n\t.quad 16\n\t" // mov %gs:16, %eax
                     "mov %%r8, %[r8]"
                     : "+a"(v), [r8] "+r"(r8)
                     : [gs] "r"((uint64_t)(uintptr_t)bytes)
                     : "r8", "memory");
    CHECK(v == 0x55667788 && r8 == 1);
    CHECK(bytes[16] == 0x88 && bytes[23] == 0x11 && bytes[32] == 0x88 && !bytes[33]);
}

// After the null selector is loaded, rdgsbase gives the base of this processor.
static void loads_of_gs(void)
{
    uint64_t before = 0x123450, after, again, offset;
    static const uint16_t far[3] = { 77, 0, 0 }; // offset and selector

    __asm__ volatile("wrgsbase %2\n\txor %k1, %k1\n\tmov %1, %%gs\n\trdgsbase %0"
                     : "=r"(after), "=&r"(again)
                     : "r"(before));
    // some processors keep the base, others clear it: but consistently
    __asm__ volatile("wrgsbase %1\n\tpushq $0\n\tpop %%gs\n\trdgsbase %0"
                     : "=r"(again)
                     : "r"(before));
    CHECK(after == again);
    __asm__ volatile("wrgsbase %2\n\tlgs %3, %k1\n\trdgsbase %0"
                     : "=&r"(again), "=&r"(offset)
                     : "r"(before), "m"(far));
    CHECK(after == again && offset == 77);
    // an address of the kernel's half, which the system call would refuse
    __asm__ volatile("wrgsbase %1\n\trdgsbase %0" : "=r"(again) : "r"(0xffffffb47524e565ul));
    CHECK(again == 0xffffffb47524e565ul);
    __asm__ volatile("wrgsbase %0" : : "r"(0ul));

    code = 0;
    if (!sigsetjmp(out, 1))
        __asm__ volatile("wrgsbase %0" : : "r"(0x8000000000000000ul)); // not canonical
    CHECK(code == SI_KERNEL);
}

// An illegal instruction after a popf that sets the nested-task flag.
static void nested_task(void)
{
    code = 0;
    if (!sigsetjmp(out, 1))
        __asm__ volatile("pushq $0x4202\n\tpopfq\n\tud2" : : : "cc", "memory");
    CHECK(code == ILL_ILLOPN);
    CHECK(flags & 0x4000);
    __asm__ volatile("pushq $0x202\n\tpopfq" : : : "cc", "memory");
}

int main(void)
{
    struct sigaction sa = { 0 };

    sa.sa_sigaction = note;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    for (int round = 0; round < 3; round++) {
        pause_with_rex(!round);
        implicit_gs();
        gather_gs();
        absolute_gs();
        loads_of_gs();
        nested_task();
    }
    return check_failed;
}
