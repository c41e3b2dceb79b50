// SPDX-License-Identifier: MIT
//
// 800 functions of half a KiB, called in another random order in each round: the code misses the
// first level, and there are many targets of calls to remember. The body is assembly, because gcc
// takes seconds for as much C.
#include "../common.h"

// clang-format off
#define BODY(n)                                                                                    \
    static uint32_t f##n(uint32_t x, uint32_t y)                                                   \
    {                                                                                              \
        uint32_t a = n, b = 3;                                                                     \
                                                                                                   \
        __asm__(".rept 20\n\tadd %4, %0\n\txor %4, %1\n\tsub %4, %2\n\txor %4, %3\n\t.endr"        \
                : "+r"(x), "+r"(y), "+r"(a), "+r"(b) : "i"(n * 65537) : "cc");                     \
        if (x & 8)                                                                                 \
            y *= a + 2 * b;                                                                        \
        return x + y;                                                                              \
    }
#define NAME(n) f##n,
#define TEN(m, n)                                                                                  \
    m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define HUNDRED(m, n)                                                                              \
    TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4)                               \
    TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8) TEN(m, n##9)
#define ALL(m)                                                                                     \
    HUNDRED(m, 1) HUNDRED(m, 2) HUNDRED(m, 3) HUNDRED(m, 4)                                        \
    HUNDRED(m, 5) HUNDRED(m, 6) HUNDRED(m, 7) HUNDRED(m, 8)
// clang-format on

ALL(BODY)

static uint32_t (*const functions[])(uint32_t, uint32_t) = { ALL(NAME) };

#define COUNT (sizeof(functions) / sizeof(functions[0]))

int main(int argc, char **argv)
{
    uint64_t state = SEED;
    uint32_t order[COUNT], x = 1;

    for (long n = rounds(argc, argv); n > 0; n--) {
        shuffle(order, COUNT, &state);
        for (uint32_t i = 0; i < COUNT; i++)
            x = functions[order[i]](x, i);
    }
    return print_sum(x);
}
