// SPDX-License-Identifier: MIT
//
// The transpose of a matrix of 1024 rows: row by row, or (AFTER) in blocks of 8 by 8.
#include "../common.h"

#define N     1024
#define BLOCK (AFTER ? 8 : N)

static uint64_t a[N][N], b[N][N];

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = draw(&state);
    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int i = 0; i < N; i += BLOCK)
            for (int j = 0; j < N; j += BLOCK)
                for (int y = i; y < i + BLOCK; y++)
                    for (int x = j; x < j + BLOCK; x++)
                        b[x][y] = a[y][x];
        for (int i = 0; i < N; i++)
            sum = sum * 31 + b[i][n % N];
        a[n % N][n * 7 % N]++;
    }
    return print_sum(sum);
}
