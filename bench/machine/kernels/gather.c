// SPDX-License-Identifier: MIT
//
// A sparse matrix by a vector: loads by index that do not wait for each other, from a vector of
// 512 KiB, then from one of 8 MiB.
#include "../common.h"

#define ROWS 16384
#define EACH 16

static uint32_t column[ROWS][EACH];
static double value[ROWS][EACH], vector[1 << 20];

static double product(void)
{
    double sum = 0;

    for (int i = 0; i < ROWS; i++) {
        double s = 0;

        for (int k = 0; k < EACH; k++)
            s += value[i][k] * vector[column[i][k]];
        sum += s * (i % 7);
    }
    return sum;
}

int main(int argc, char **argv)
{
    long n = rounds(argc, argv);
    uint64_t state = SEED, sum = 0;

    for (int i = 0; i < 1 << 20; i++)
        vector[i] = i % 1000;
    for (int bits = 16; bits <= 20; bits += 4) {
        for (int i = 0; i < ROWS * EACH; i++) {
            column[i / EACH][i % EACH] = draw(&state) >> (64 - bits);
            value[i / EACH][i % EACH] = i % 13;
        }
        for (long k = 0; k < n; k++) {
            sum = sum * 31 + (uint64_t)product();
            vector[k] += 1;
        }
    }
    return print_sum(sum);
}
