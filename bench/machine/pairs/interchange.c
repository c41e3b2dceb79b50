// SPDX-License-Identifier: MIT
//
// A matrix of 2000 rows summed with weights: down its columns, or (AFTER) along its rows.
#include "../common.h"

#define N 2000

static uint32_t m[N][N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            m[i][j] = draw(&state);
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int a = 0; a < N; a++)
            for (int b = 0; b < N; b++)
                sum += (uint64_t)m[AFTER ? a : b][AFTER ? b : a] * (a + b);
        m[n % N][0]++;
    }
    return print_sum(sum);
}
