// SPDX-License-Identifier: MIT
//
// Three arrays of 8 KiB: a[i] = b[i] + 1.5 c[i], as many a cycle as the processor can.
#include "../common.h"

#define N 1024

static double a[N], b[N], c[N];

int main(int argc, char **argv)
{
    double sum = 0;

    for (int i = 0; i < N; i++) {
        b[i] = i;
        c[i] = 2 * i;
    }
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int i = 0; i < N; i++)
            a[i] = b[i] + 1.5 * c[i];
        b[n % N] += 1;
        __asm__ volatile("" ::: "memory");
    }
    for (int i = 0; i < N; i++)
        sum += a[i] * (i + 1);
    return print_sum((uint64_t)sum);
}
