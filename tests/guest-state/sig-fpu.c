// SPDX-License-Identifier: MIT
// Floating point and vector state across handlers: registers keep their values,
// whatever the handler does; the handler starts with the initial state; the frame holds the state
// with its magic numbers, and the handler's changes in it take effect.
#define _GNU_SOURCE
#include "check.h"

#include <cpuid.h>
#include <immintrin.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

static int avx, avx512;
static volatile int got;
static unsigned mxcsr_in, fcw_in;
static unsigned long xmm0_in[2];
static int edit;

struct sw {
    uint32_t magic1, extended_size;
    uint64_t features;
    uint32_t size;
};

static void spoil(void)
{
    unsigned mxcsr = 0x7f80;
    unsigned short fcw = 0x7f;

    __asm__ volatile("ldmxcsr %0\n fldcw %1\n fld1\n fldpi\n" : : "m"(mxcsr), "m"(fcw));
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n movdqa %%xmm0, %%xmm7\n movdqa %%xmm0, %%xmm15\n"
                     :
                     :
                     : "xmm0", "xmm7", "xmm15");
    if (avx)
        __asm__ volatile("vpxor %%xmm3, %%xmm3, %%xmm3\n vzeroall\n"
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    if (avx512)
        __asm__ volatile("vpternlogd $0xff, %%zmm20, %%zmm20, %%zmm20\n" : : : "memory");
}

static void handler(int sig, siginfo_t *si, void *p)
{
    ucontext_t *uc = p;
    unsigned short fcw;
    unsigned mxcsr;
    struct sw sw;
    uint32_t magic2;
    char *fp = (char *)uc->uc_mcontext.fpregs;

    __asm__ volatile("movdqu %%xmm0, %0\n" : "=m"(xmm0_in));
    __asm__ volatile("stmxcsr %0\n fnstcw %1\n" : "=m"(mxcsr), "=m"(fcw));
    mxcsr_in = mxcsr;
    fcw_in = fcw;
    (void)sig;
    (void)si;
    got++;
    memcpy(&sw, fp + 464, sizeof(sw));
    CHECK(((uintptr_t)fp & 63) == 0 || !avx);
    if (avx) {
        CHECK(sw.magic1 == 0x46505853 && sw.extended_size == sw.size + 4);
        memcpy(&magic2, fp + sw.size, 4);
        CHECK(magic2 == 0x46505845);
        CHECK(uc->uc_flags & 1);
    }
    if (edit)
        memset(fp + 160 + 5 * 16, 0x5a, 16); // xmm5
    spoil();
}

// clang-format off
#define L(op, reg, n) op " " #n "*64(%%rbx), %%" reg #n "\n"
#define S(op, reg, n) op " %%" reg #n ", " #n "*64(%%rdx)\n"
#define ALL16(M, op, reg) \
    M(op, reg, 0) M(op, reg, 1) M(op, reg, 2) M(op, reg, 3) \
    M(op, reg, 4) M(op, reg, 5) M(op, reg, 6) M(op, reg, 7) \
    M(op, reg, 8) M(op, reg, 9) M(op, reg, 10) M(op, reg, 11) \
    M(op, reg, 12) M(op, reg, 13) M(op, reg, 14) M(op, reg, 15)
#define ALL32(M, op, reg) \
    ALL16(M, op, reg) \
    M(op, reg, 16) M(op, reg, 17) M(op, reg, 18) M(op, reg, 19) \
    M(op, reg, 20) M(op, reg, 21) M(op, reg, 22) M(op, reg, 23) \
    M(op, reg, 24) M(op, reg, 25) M(op, reg, 26) M(op, reg, 27) \
    M(op, reg, 28) M(op, reg, 29) M(op, reg, 30) M(op, reg, 31)
// clang-format on

// Known values in everything, a signal, and all of it compared.
static void round_trip(int via_fault)
{
    static uint8_t zin[32][64] __attribute__((aligned(64))),
        zout[32][64] __attribute__((aligned(64)));
    unsigned short fcw = 0x27f, fcw2;
    unsigned mxcsr = 0x9f80, mxcsr2;
    double st = 1.25, st2 = 0;

    for (int r = 0; r < 32; r++)
        for (int i = 0; i < 64; i++)
            zin[r][i] = (uint8_t)(r * 7 + i * 3 + 1);
    __asm__ volatile("fldl %0\n fldcw %1\n ldmxcsr %2\n" : : "m"(st), "m"(fcw), "m"(mxcsr));
#define TRIP(load, store)                                                                       \
    __asm__ volatile(load                                                                       \
                     "test %[f], %[f]\n jnz 1f\n mov $39, %%eax\n syscall\n mov %%eax, %%edi\n" \
                     "mov $10, %%esi\n mov $62, %%eax\n syscall\n jmp 2f\n"                     \
                     "1: ud2\n 2:\n" store                                                      \
                     :                                                                          \
                     : [f] "r"(via_fault), "b"(zin), "d"(zout)                                  \
                     : "rax", "rcx", "rsi", "rdi", "r11", "memory")
    memset(zout, 0, sizeof(zout));
    int width, regs;
    if (avx512) {
        TRIP(ALL32(L, "vmovdqu64", "zmm"), ALL32(S, "vmovdqu64", "zmm"));
        width = 64;
        regs = 32;
    } else if (avx) {
        TRIP(ALL16(L, "vmovdqu", "ymm"), ALL16(S, "vmovdqu", "ymm"));
        width = 32;
        regs = 16;
    } else {
        TRIP(ALL16(L, "movdqu", "xmm"), ALL16(S, "movdqu", "xmm"));
        width = 16;
        regs = 16;
    }
    __asm__ volatile("fnstcw %1\n stmxcsr %2\n fstpl %0\n" : "=m"(st2), "=m"(fcw2), "=m"(mxcsr2));
    for (int r = 0; r < regs; r++) {
        if (edit && r == 5)
            for (int i = 0; i < 16; i++)
                CHECK(zout[r][i] == 0x5a);
        else
            CHECK(memcmp(zin[r], zout[r], (size_t)width) == 0);
    }
    CHECK(st2 == st && fcw2 == fcw && mxcsr2 == mxcsr);
    {
        static const unsigned initial = 0x1f80;

        __asm__ volatile("fninit\n ldmxcsr %0\n" : : "m"(initial));
    }
}

static void skip_ud2(int sig, siginfo_t *si, void *p)
{
    handler(sig, si, p);
    ((ucontext_t *)p)->uc_mcontext.gregs[REG_RIP] += 2;
}

int main(void)
{
    struct sigaction sa;

    __builtin_cpu_init();
    avx = __builtin_cpu_supports("avx");
    avx512 = __builtin_cpu_supports("avx512f");
    memset(&sa, 0, sizeof(sa));
    sa.sa_flags = SA_SIGINFO;
    sa.sa_sigaction = handler;
    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGALRM, &sa, NULL);
    sa.sa_sigaction = skip_ud2;
    sigaction(SIGILL, &sa, NULL);

    for (edit = 0; edit < 2; edit++)
        for (int f = 0; f < 2; f++) {
            got = 0;
            round_trip(f);
            CHECK(got == 1);
            CHECK(mxcsr_in == 0x1f80 && fcw_in == 0x37f && xmm0_in[0] == 0 && xmm0_in[1] == 0);
        }
    edit = 0;
    SAY("vector state");

    // the same while a timer interrupts pure computation
    struct itimerval fast = { { 0, 2000 }, { 0, 2000 } }, off = { { 0, 0 }, { 0, 0 } };
    double sum = 0, again = 0;
    for (int i = 1; i < 3000000; i++)
        sum += 1.0 / i * (i & 1 ? 1 : -0.5);
    got = 0;
    setitimer(ITIMER_REAL, &fast, NULL);
    while (got < 40) {
        again = 0;
        for (int i = 1; i < 3000000; i++)
            again += 1.0 / i * (i & 1 ? 1 : -0.5);
        CHECK(sum == again);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    SAY("computation under a timer");
    return check_failed;
}
