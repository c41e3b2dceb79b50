// SPDX-License-Identifier: MIT
//
// Copies of 8 MiB by the C library, as fast as memory or the last level gives and takes lines.
#include <string.h>

#include "../common.h"

#define SIZE (8 << 20)

int main(int argc, char **argv)
{
    unsigned char *a = area(SIZE), *b = area(SIZE);
    uint64_t sum = 0;

    memset(a, 1, SIZE);
    for (int i = 0; i < SIZE; i++)
        b[i] = i * 7;
    for (long n = rounds(argc, argv); n > 0; n--) {
        memcpy(a, b, SIZE);
        __asm__ volatile("" ::"r"(a) : "memory");
        sum = sum * 31 + a[n * 4099 % SIZE];
        b[n * 8191 % SIZE]++;
    }
    return print_sum(sum);
}
