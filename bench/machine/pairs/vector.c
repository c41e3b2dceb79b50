// SPDX-License-Identifier: MIT
//
// Two images blended, byte by byte in the source. Without vectors, or with those of x86-64's base.
#include "../common.h"

#define N 8192

static unsigned char a[N], b[N], out[N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++) {
        a[i] = draw(&state);
        b[i] = draw(&state);
    }
    for (long n = rounds(argc, argv); n > 0; n--) {
        int share = n % 64;

        for (int i = 0; i < N; i++)
            out[i] = (a[i] * share + b[i] * (64 - share)) >> 6;
        sum = sum * 31 + out[n * 131 % N];
        __asm__ volatile("" ::: "memory");
    }
    return print_sum(sum);
}
