// SPDX-License-Identifier: MIT
//
// Matrix products: by rows, by columns, in blocks. Strides that fall into one set, data larger than
// the first level.
#include <stdint.h>

int run(void);

#define N 32
static double a[N][N], b[N][N], c[3][N][N];

__attribute__((noinline)) static void plain(double (*to)[N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;

            for (int k = 0; k < N; k++)
                s += a[i][k] * b[k][j];
            to[i][j] = s;
        }
}

__attribute__((noinline)) static void by_columns(double (*to)[N])
{
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                to[i][j] += a[i][k] * b[k][j];
}

__attribute__((noinline)) static void blocked(double (*to)[N])
{
    for (int jj = 0; jj < N; jj += 8)
        for (int kk = 0; kk < N; kk += 8)
            for (int i = 0; i < N; i++)
                for (int k = kk; k < kk + 8; k++)
                    for (int j = jj; j < jj + 8; j++)
                        to[i][j] += a[i][k] * b[k][j];
}

int run(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    plain(c[0]);
    by_columns(c[1]);
    blocked(c[2]);
    // Whole numbers: the order of the sums does not matter.
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (c[0][i][j] != c[1][i][j] || c[0][i][j] != c[2][i][j])
                return 1;
    return 0;
}
