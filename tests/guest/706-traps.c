// SPDX-License-Identifier: MIT
//
// Instructions that trap, are illegal or privileged, or branch far, each with the state that a
// handler sees: signal, code, trap number, error code and flags must be as natively. Some are run
// with alignment checks on (AC), which must not reach the engine.
//
// about: flush replay-small
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

static sigjmp_buf out;
static greg_t regs[NGREG];
static siginfo_t info;

static void note(int sig, siginfo_t *i, void *context)
{
    // the handler has the flags of what it interrupts: alignment checks
    __asm__ volatile(
        "sub $128, %%rsp\n\tpushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp"
        :
        :
        : "memory", "cc");
    (void)sig;
    info = *i;
    memcpy(regs, ((ucontext_t *)context)->uc_mcontext.gregs, sizeof(regs));
    siglongjmp(out, 1);
}

// Each ends with a ret; rdi points to 64 bytes in the middle of a page, aligned.
#define CASES                                                                                    \
    X(lretq, "pushq $0x33; lea 1f(%rip), %rax; push %rax; lretq; 1:")                            \
    X(lretq_n, "push $1; pushq $0x33; lea 1f(%rip), %rax; push %rax; lretq $8; 1:")              \
    X(iretq, "mov %rsp, %rcx; mov %ss, %eax; push %rax; push %rcx; pushfq; pushq $0x33;"         \
             "lea 1f(%rip), %rax; push %rax; iretq; 1:")                                         \
    X(bad_cs, "mov %rsp, %rsi; pushq $0x1233; push %rax; lretq")                                 \
    X(null_cs, "mov %rsp, %rsi; pushq $0; push %rax; lretq")                                     \
    X(data_cs, "mov %rsp, %rsi; pushq $0x2b; push %rax; lretq")                                  \
    X(kernel_cs, "mov %rsp, %rsi; pushq $0x10; push %rax; lretq")                                \
    X(rpl_0_cs, "mov %rsp, %rsi; pushq $0x30; push %rax; lretq")                                 \
    X(lretq_far_away, "mov $1, %eax; shl $62, %rax; pushq $0x33; push %rax; lretq")              \
    X(lretq_nowhere, "xor %esp, %esp; lretq")                                                    \
    X(ljmp_nowhere, "xor %eax, %eax; ljmp *(%rax)")                                              \
    X(lcall_nowhere, "movl $0x1000, (%rdi); movl $0x33, 4(%rdi); xor %esp, %esp; lcall *(%rdi)") \
    X(lretq_ac, "mov %rsp, %rcx; sub $7, %rsp; pushq $0x33; lea 1f(%rip), %rax; push %rax;"      \
                "lea -64(%rsp), %rdx; mov %rdx, %rsp; and $-8, %rsp; pushfq;"                    \
                "orl $0x40000, (%rsp); popfq; lea 64(%rdx), %rsp; lretq; 1: ud2")                \
    X(iretq_ss, "mov %rsp, %rcx; push $0x1237; push %rcx; pushfq; pushq $0x33;"                  \
                "lea 1f(%rip), %rax; push %rax; iretq; 1:")                                      \
    X(iretq_ac, "mov %rsp, %rcx; mov %ss, %eax; push %rax; push %rcx; pushfq;"                   \
                "orl $0x40000, (%rsp); pushq $0x33; lea 1f(%rip), %rax; push %rax; iretq;"       \
                "1: mov 1(%rdi), %eax")                                                          \
    X(int3, "int3")                                                                              \
    X(int_3, ".byte 0xcd, 3")                                                                    \
    X(int_4, "int $4")                                                                           \
    X(int_5, "int $5")                                                                           \
    X(int_1, ".byte 0xf1")                                                                       \
    X(int_81, "int $0x81")                                                                       \
    X(into, ".byte 0xce")                                                                        \
    X(hlt, "hlt")                                                                                \
    X(cli, "cli")                                                                                \
    X(in, "in $0x60, %al")                                                                       \
    X(outsb, "outsb")                                                                            \
    X(insb_none, "xor %ecx, %ecx; rep insb")                                                     \
    X(sysret, "sysretq")                                                                         \
    X(ud0, ".byte 0x0f, 0xff, 0xc0")                                                             \
    X(ud1, ".byte 0x0f, 0xb9, 0xc0")                                                             \
    X(ud2, "ud2")                                                                                \
    X(rdmsr, "rdmsr")                                                                            \
    X(cr0, "mov %cr0, %rax")                                                                     \
    X(dr7, "mov %dr7, %rax")                                                                     \
    X(swapgs, "swapgs")                                                                          \
    X(xsetbv, "xor %ecx, %ecx; xsetbv")                                                          \
    X(invlpg, "invlpg (%rsp)")                                                                   \
    X(wbinvd, "wbinvd")                                                                          \
    X(clac, "clac")                                                                              \
    X(str, "str %rax")                                                                           \
    X(mov_ss, "mov %ss, %eax; mov %eax, %ss; nop")                                               \
    X(mov_ss_int3, "mov %ss, %eax; mov %eax, %ss; int3")                                         \
    X(mov_ds, "xor %eax, %eax; mov %eax, %ds; mov %eax, %es; movb (%rsp), %al")                  \
    X(mov_ds_bad, "mov $0x1237, %eax; mov %eax, %ds")                                            \
    X(ac, "pushfq; orl $0x40000, (%rsp); popfq; mov 1(%rdi), %eax")                              \
    X(ac_aligned,                                                                                \
      "pushfq; orl $0x40000, (%rsp); popfq; mov $1000, %ecx; 1: mov (%rdi), %rax;"               \
      "and $1, %eax; add %rax, 8(%rdi); mov 16(%rdi,%rax,8), %rdx; call 2f; dec %ecx; jnz 1b;"   \
      "jmp 3f;"                                                                                  \
      "2: ret; 3: pushfq; andl $~0x40000, (%rsp); popfq")                                        \
    X(div_0, "xor %ecx, %ecx; div %ecx")                                                         \
    X(div_large, "mov $1, %edx; mov $1, %ecx; div %ecx")                                         \
    X(fpe, "movw $0x37b, (%rdi); fldcw (%rdi); fldz; fld1; fdivp; fwait")                        \
    X(simd, "movl $0x1d80, (%rdi); ldmxcsr (%rdi); pxor %xmm0, %xmm0; divss %xmm0, %xmm0")       \
    X(movaps, "movaps 1(%rdi), %xmm0")                                                           \
    X(lock_nop, ".byte 0xf0, 0x90")                                                              \
    X(prefixes_16, ".fill 15, 1, 0x66; nop")                                                     \
    X(prefixes_15, ".fill 14, 1, 0x66; nop")                                                     \
    X(not_canonical, "mov $1, %eax; shl $63, %rax; mov (%rax), %al")                             \
    X(stack_not_canonical, "mov $1, %eax; shl $63, %rax; mov %rax, %rsp; push %rax")             \
    X(rdsspq, ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8")

#define X(name, text)          \
    void name##_case(void *p); \
    __asm__(".text\n" #name "_case: " text "\n\tret\n");
CASES
#undef X

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void *);
    } cases[] = {
#define X(name, text) { #name, name##_case },
        CASES
#undef X
    };
    static uint64_t words[512] __attribute__((aligned(4096)));
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    stack_t alt = { .ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1, 0),
                    .ss_size = 65536 };
    struct sigaction sa = { 0 };

    sigaltstack(&alt, NULL);
    sa.sa_sigaction = note;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &sa, NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
            static const uint32_t mxcsr = 0x1f80;

            info.si_signo = 0;
            if (!sigsetjmp(out, 1))
                cases[i].run(words + 256);
            __asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(mxcsr));
            if (!info.si_signo)
                printf("%s\n", cases[i].name);
            else
                printf("%s: signal %d code %d trap %lld error %#llx flags %#llx, %#llx in it\n",
                       cases[i].name, info.si_signo, info.si_code, (long long)regs[REG_TRAPNO],
                       (unsigned long long)regs[REG_ERR],
                       (unsigned long long)regs[REG_EFL] & ~0x8d5ull,
                       (unsigned long long)regs[REG_RIP] -
                           (unsigned long long)(uintptr_t)cases[i].run);
        }
    }
    return check_failed;
}
