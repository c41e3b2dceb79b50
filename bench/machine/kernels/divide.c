// SPDX-License-Identifier: MIT
//
// Divisions: Euclid's algorithm, where each waits for the one before it, and remainders by divisors
// that are not constant and do not depend on each other.
#include "../common.h"

#define N 4096

static uint64_t a[N], b[N];

static uint64_t gcd(uint64_t x, uint64_t y)
{
    while (y != 0) {
        uint64_t r = x % y;

        x = y;
        y = r;
    }
    return x;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++) {
        a[i] = draw(&state) >> (i % 3 * 16);
        b[i] = (draw(&state) >> 40) + 1;
    }
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int i = 0; i < N; i++)
            sum += gcd(a[i], b[i]);
        for (int i = 0; i < N; i++)
            sum += (uint32_t)a[i] / (uint32_t)b[i] + a[i] % b[i];
        a[n % N] += sum & 1;
    }
    return print_sum(sum);
}
