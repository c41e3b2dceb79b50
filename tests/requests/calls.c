// SPDX-License-Identifier: MIT
//
// Functions that requests call (VALGRIND_NON_SIMD_CALL): arguments and answers, registers of all
// kinds that keep their values, functions that make requests, or that are left by a longjmp, a
// signal in the middle, and threads. Prints deviations; natively every request
// answers 0.
//
// spin(n) executes 3 + 3 n instructions: xor and mov, for each round add, sub, jne, and ret.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <valgrind/valgrind.h>

static int bad;

static void check(const char *what, long is, long should)
{
    if (is == should)
        return;
    printf("%s: %ld, not %ld\n", what, is, should);
    bad = 1;
}

static long none(long thread)
{
    return thread;
}

static long one(long thread, long a)
{
    return thread * 1000 + a;
}

static long two(long thread, long a, long b)
{
    return thread * 1000 + a * 10 + b;
}

static long three(long thread, long a, long b, long c)
{
    return thread * 1000 + a * 100 + b * 10 + c;
}

__asm__(".text\n"
        ".globl spin\n"
        ".type spin, @function\n"
        "spin:   xor %eax, %eax\n"
        "        mov %rsi, %rcx\n"
        "1:      add $2, %rax\n"
        "        sub $1, %rcx\n"
        "        jne 1b\n"
        "        ret\n"
        ".size spin, . - spin\n");
long spin(long thread, long n);

// Changes every register that a function may change.
static long clobber(long thread)
{
    double x = 0;

    for (int i = 0; i < 100; i++)
        x += 1.0 / (i + 1);
    __asm__ volatile("pxor %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %%xmm7\n\tmovdqa %%xmm0, %%xmm15\n\t"
                     "fldpi\n\tmov $-1, %%rcx\n\tmov %%rcx, %%r8\n\tmov %%rcx, %%r9\n\t"
                     "mov %%rcx, %%r10\n\tmov %%rcx, %%r11\n\tmov %%rcx, %%rdi\n\t"
                     "mov %%rcx, %%rsi\n\tmov %%rcx, %%rdx\n\tstc"
                     :
                     :
                     : "xmm0", "xmm7", "xmm15", "st", "rcx", "r8", "r9", "r10", "r11", "rdi", "rsi",
                       "rdx", "cc");
    return thread + (x > 5 ? 41 : 0);
}

// The request by hand, between code that sets registers and code that reads them.
static void registers(void)
{
    uint64_t asked[6] = { VG_USERREQ__CLIENT_CALL0, (uintptr_t)clobber };
    static const uint64_t set[8] = { 11, 12, 13, 14, 15, 16, 17, 18 };
    uint64_t got[8], vector[3] = { 0 }, answer = 0;

    __asm__ volatile("movq %[v], %%xmm0\n\tmovq %[v], %%xmm7\n\tmovq %[v], %%xmm15\n\t"
                     "mov 0(%[set]), %%rdi\n\tmov 8(%[set]), %%rsi\n\tmov 16(%[set]), %%r8\n\t"
                     "mov 24(%[set]), %%r9\n\tmov 32(%[set]), %%r10\n\tmov 40(%[set]), %%r11\n\t"
                     "mov 48(%[set]), %%rcx\n\tmovq $0x5555, -8(%%rsp)\n\t"
                     "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx\n\t"
                     "mov %%rdi, 0(%[got])\n\tmov %%rsi, 8(%[got])\n\tmov %%r8, 16(%[got])\n\t"
                     "mov %%r9, 24(%[got])\n\tmov %%r10, 32(%[got])\n\tmov %%r11, 40(%[got])\n\t"
                     "mov %%rcx, 48(%[got])\n\tmov -8(%%rsp), %%rcx\n\tmov %%rcx, 56(%[got])\n\t"
                     "movq %%xmm0, 0(%[vector])\n\tmovq %%xmm7, 8(%[vector])\n\t"
                     "movq %%xmm15, 16(%[vector])\n\t"
                     : "+d"(answer)
                     : "a"(asked), [set] "r"(set), [got] "r"(got), [vector] "r"(vector),
                       [v] "r"(UINT64_C(0x1122334455667788))
                     : "rdi", "rsi", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm7", "xmm15", "cc",
                       "memory");
    check("what clobber answers", (long)answer, 42);
    for (int i = 0; i < 7; i++)
        check("a register", (long)got[i], (long)set[i]);
    check("the red zone", (long)got[7], 0x5555);
    for (int i = 0; i < 3; i++)
        check("a vector register", (long)vector[i], 0x1122334455667788);
}

static long again(long thread, long n)
{
    return n ? VALGRIND_NON_SIMD_CALL1(again, n - 1) + thread : 0;
}

static jmp_buf out;

static long leaves(long thread)
{
    longjmp(out, (int)thread + 7);
}

static volatile int seen;

static void handler(int sig)
{
    (void)sig;
    seen += (int)VALGRIND_NON_SIMD_CALL2(two, 2, 3);
}

static long raises(long thread)
{
    raise(SIGUSR1);
    return thread;
}

static void *thread(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        long own = VALGRIND_NON_SIMD_CALL0(none);

        if (own < 2 || (long)VALGRIND_NON_SIMD_CALL3(three, 1, 2, 3) != own * 1000 + 123)
            return arg;
    }
    return NULL;
}

int main(void)
{
    pthread_t other[4];
    volatile int sum = 0;

    check("no argument", VALGRIND_NON_SIMD_CALL0(none), 1);
    check("one", VALGRIND_NON_SIMD_CALL1(one, 5), 1005);
    check("two", VALGRIND_NON_SIMD_CALL2(two, 5, 6), 1056);
    check("three", VALGRIND_NON_SIMD_CALL3(three, 5, 6, 7), 1567);
    check("spin", VALGRIND_NON_SIMD_CALL1(spin, 1000), 2000);
    registers();
    check("one that asks again", again(1, 7), 7);
    for (int i = 0; i < 20; i++) {
        int how = setjmp(out);

        if (!how)
            VALGRIND_NON_SIMD_CALL0(leaves);
        sum += how;
    }
    check("left by a longjmp", sum, 20 * 8);
    check("and then", VALGRIND_NON_SIMD_CALL1(one, 9), 1009);
    signal(SIGUSR1, handler);
    check("a signal in the middle", VALGRIND_NON_SIMD_CALL0(raises), 1);
    check("and its handler", seen, 1023);
    for (int i = 0; i < 4; i++)
        pthread_create(&other[i], NULL, thread, &bad);
    for (int i = 0; i < 4; i++) {
        void *failed;

        pthread_join(other[i], &failed);
        check("a thread", failed != NULL, 0);
    }
    return bad;
}
