// SPDX-License-Identifier: MIT
//
// The source of the first packages for dwp.c: nested functions, with ranges apart.
static inline __attribute__((always_inline)) int twice(int x)
{
    if (__builtin_expect(x == 12345, 0))
        __builtin_trap();
    return x * 2;
}

static inline __attribute__((always_inline)) int four(int x)
{
    return twice(twice(x));
}

int some(int x);
int some(int x)
{
    int sum = 0;

    for (int i = 0; i < x; i++)
        sum += four(i) ^ sum;
    return sum;
}
