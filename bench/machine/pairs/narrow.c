// SPDX-License-Identifier: MIT
//
// A permutation of 12,000 places followed from two starts: of 64 bits for each place, or (AFTER) of
// 16, so that a first level of 32 KiB holds it.
#include "../common.h"

#define N      12000
#define STARTS 2

#if AFTER
static uint16_t next[N];
#else
static uint64_t next[N];
#endif
static uint32_t order[N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0, at[STARTS];

    shuffle(order, N, &state);
    for (uint32_t i = 0; i < N; i++)
        next[order[i]] = order[(i + 1) % N];
    for (int k = 0; k < STARTS; k++)
        at[k] = draw(&state) % N;
    for (long n = rounds(argc, argv) * 10000; n > 0; n--)
        for (int k = 0; k < STARTS; k++) {
            at[k] = next[at[k]];
            sum += at[k] ^ k;
        }
    return print_sum(sum);
}
