// SPDX-License-Identifier: MIT
//
// Faults and signals without a libc: reads of unmapped memory in the middle of a block, divisions
// by zero, undefined instructions, and a signal to itself. The handlers count and set rip after the
// faulting instruction; the loop continues.
#include <stdint.h>

int run(void);

enum { SYS_SIGACTION = 13, SYS_GETPID = 39, SYS_KILL = 62 };
enum { ILL = 4, FPE = 8, USR1 = 10, SEGV = 11 };
#define SA_SIGINFO  4
#define SA_RESTORER 0x04000000

struct action {
    void (*handler)(int, void *, uint64_t *);
    uint64_t flags;
    void (*restorer)(void);
    uint64_t mask;
};

static volatile int seen[32];

static long call(long n, long a, long b, long c, long d)
{
    register long r10 __asm__("r10") = d;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return r;
}

__asm__(".type restore, @function\n"
        "restore: mov $15, %eax\n" // rt_sigreturn
        "syscall\n"
        ".size restore, . - restore\n");
extern void restore(void);

// rip is word 16 of the general registers, which begin 40 bytes into the context.
static void handler(int sig, void *info, uint64_t *context)
{
    (void)info;
    seen[sig]++;
    if (sig != USR1)
        context[5 + 16] += 2; // each of the instructions below is two bytes long
}

__attribute__((noinline)) static long provoke(long i, const uint32_t *nothing)
{
    long sum = i;

    sum += seen[SEGV];
    __asm__ volatile("add $3, %0\n\tmov (%1), %%eax\n\tadd $4, %0"
                     : "+r"(sum)
                     : "c"(nothing)
                     : "eax", "cc");
    if (i % 3 == 0)
        __asm__ volatile(
            "xor %%edx, %%edx\n\tmov $5, %%eax\n\txor %%ecx, %%ecx\n\tdiv %%ecx\n\tinc %0"
            : "+r"(sum)::"eax", "ecx", "edx", "cc");
    if (i % 4 == 0)
        __asm__ volatile("ud2\n\tinc %0" : "+r"(sum)::"cc");
    return sum;
}

int run(void)
{
    static const int caught[] = { ILL, FPE, USR1, SEGV };
    long pid = call(SYS_GETPID, 0, 0, 0, 0), sum = 0;

    for (int i = 0; i < 4; i++) {
        struct action a = { handler, SA_SIGINFO | SA_RESTORER, restore, 0 };

        call(SYS_SIGACTION, caught[i], (long)&a, 0, 8);
    }
    for (long i = 0; i < 60; i++) {
        sum += provoke(i, 0);
        if (i % 10 == 0)
            call(SYS_KILL, pid, USR1, 0, 0);
    }
    return seen[SEGV] != 60 || seen[FPE] != 20 || seen[ILL] != 15 || seen[USR1] != 6 || sum == 0;
}
