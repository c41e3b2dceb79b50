// SPDX-License-Identifier: MIT
//
// x87: long doubles in memory (10 bytes in 16), polynomials, sine by the processor, integers to and
// from the stack, the control word, the environment, and a save of the whole state across a line.
// Loops begin at a number that Valgrind cannot know: in blocks with x87 code it drops conditions
// that it can work out.
#include <stdint.h>

int run(void);

#define N 200

static volatile int zero;

static long double table[N];
static double doubles[N];
static float floats[N];
static int16_t shorts[N];
static int64_t longs[N];
static uint8_t state[256] __attribute__((aligned(64)));

__attribute__((noinline)) static long double polynomial(const long double *c, int n, long double x)
{
    long double y = 0;

    for (int i = n - 1; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

__attribute__((noinline)) static long double sine(long double x)
{
    long double y;

    __asm__("fsin" : "=t"(y) : "0"(x));
    return y;
}

// Rounds down in any rounding mode, as old compilers did.
__attribute__((noinline)) static int32_t to_int(long double x)
{
    uint16_t old, down;
    int32_t r;

    __asm__ volatile("fnstcw %0" : "=m"(old));
    down = (uint16_t)(old | 0x0c00);
    __asm__ volatile("fldcw %1\n\tfistpl %0\n\tfldcw %2"
                     : "=m"(r)
                     : "m"(down), "m"(old), "t"(x)
                     : "st");
    return r;
}

__attribute__((noinline)) static void environment(uint8_t *at)
{
    __asm__ volatile(
        "fnstenv (%0)\n\tfldenv (%0)\n\tfnsave 40(%0)\n\tfrstor 40(%0)\n\tfnstsw 200(%0)" ::"r"(at)
        : "memory");
}

int run(void)
{
    long double sum = 0;

    for (int i = zero; i < N; i++) {
        table[i] = (long double)i / 3 - 20;
        doubles[i] = (double)(i * i);
        floats[i] = (float)(i - 50);
        shorts[i] = (int16_t)(i * 91 - 3000);
        longs[i] = (int64_t)i << 40;
    }
    for (int i = zero; i < N; i++)
        table[i] = sine(table[i]) * (long double)doubles[i] + (long double)floats[i];
    for (int i = zero; i < N; i++) {
        long double s, l;

        __asm__("fildl %1" : "=t"(s) : "m"(*(int32_t *)&(int32_t){ shorts[i] }));
        __asm__("fildll %1" : "=t"(l) : "m"(longs[i]));
        sum += s + l;
        __asm__ volatile("fisttpll %0" : "=m"(longs[i]) : "t"(l / 2) : "st");
        __asm__ volatile("fistps %0" : "=m"(shorts[i]) : "t"(s / 4) : "st");
    }
    for (int i = zero; i < 20; i++)
        sum += polynomial(table + i, 12, 0.5L + i / 100.0L);
    for (int i = zero; i < 40; i++)
        environment(state + i);
    if (longs[8] != (int64_t)4 << 40 || to_int(-2.75L) != -2 || to_int(1e6L) != 1000000)
        return 1;
    return sum != sum;
}
