// SPDX-License-Identifier: MIT
//
// Loads of what was just stored: counters in memory, few enough to meet again soon; bytes that were
// stored as part of a word; and words that were stored as bytes, which no store alone can provide.

#include "../common.h"

#define N 16384

static unsigned char bytes[N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, count[8] = { 0 }, sum = 0;

    for (int i = 0; i < N; i++)
        bytes[i] = draw(&state) % 11;
    for (long n = rounds(argc, argv); n > 0; n--) {
        volatile union {
            uint64_t word;
            unsigned char byte[8];
        } buffer = { 0 };

        for (int i = 0; i < N; i++)
            count[bytes[i] % 8] += i;
        for (int i = 0; i < N; i += 4) {
            buffer.word = sum + i;
            sum += buffer.byte[bytes[i] % 8];
        }
        for (int i = 0; i < N; i += 16) {
            for (int k = 0; k < 8; k++)
                buffer.byte[k] = bytes[i + k];
            sum += buffer.word;
        }
        __asm__ volatile("" ::: "memory");
    }
    for (int i = 0; i < 8; i++)
        sum = sum * 31 + count[i];
    return print_sum(sum);
}
