// SPDX-License-Identifier: MIT
//
// The FNV-1a hash of 4 KiB, byte by byte: a chain of exclusive or and multiplication.
#include "../common.h"

#define N 4096

static unsigned char bytes[N];

int main(int argc, char **argv)
{
    uint64_t h = 14695981039346656037u; // the offset basis of 64 bits

    for (int i = 0; i < N; i++)
        bytes[i] = i * 7;
    for (long n = rounds(argc, argv); n > 0; n--)
        for (int i = 0; i < N; i++) {
            h ^= bytes[i];
            h *= 1099511628211u; // the prime of 64 bits
        }
    return print_sum(h);
}
