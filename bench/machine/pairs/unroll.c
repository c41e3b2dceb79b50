// SPDX-License-Identifier: MIT
//
// A polynomial of numbers, modulo 2^64: one chain of multiplications and additions, or (AFTER) four
// that do not wait for each other. The results are equal.
#include "../common.h"

#define N 4096
#define P 0x9e3779b97f4a7c15u

static uint64_t a[N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++)
        a[i] = draw(&state);
    for (long n = rounds(argc, argv); n > 0; n--) {
        uint64_t h = 0;

#if AFTER
        uint64_t h1 = 0, h2 = 0, h3 = 0, p4 = P * P * P * P;

        for (int i = 0; i < N; i += 4) {
            h = h * p4 + a[i];
            h1 = h1 * p4 + a[i + 1];
            h2 = h2 * p4 + a[i + 2];
            h3 = h3 * p4 + a[i + 3];
        }
        h = ((h * P + h1) * P + h2) * P + h3;
#else
        for (int i = 0; i < N; i++)
            h = h * P + a[i];
#endif
        sum = sum * 31 + h;
        a[n % N]++;
    }
    return print_sum(sum);
}
