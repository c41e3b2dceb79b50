// SPDX-License-Identifier: MIT
// Inlined into inline.c, so that its lines have a file of their own inside of main.
static inline __attribute__((always_inline)) int square(int x)
{
    int r = x * x;

    if (r > 1000)
        r -= 3;
    return r;
}
