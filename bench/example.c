// SPDX-License-Identifier: MIT
//
// The program that `make run` profiles: small enough to finish at once, with something to see for
// every event. Summing a matrix along its rows touches each cache line once; summing it along its
// columns touches each line eight times, and each time it has left the first-level cache. A sort
// follows, whose branches depend on the data.
#include <stdint.h>
#include <stdio.h>

#define N     512
#define WORDS 20000

static double matrix[N][N];
static uint32_t words[WORDS];

static void fill(void)
{
    uint32_t seed = 12345; // a linear congruential generator: the same words every time

    for (int row = 0; row < N; row++)
        for (int col = 0; col < N; col++)
            matrix[row][col] = row + 2 * col;
    for (int i = 0; i < WORDS; i++) {
        seed = seed * 1664525u + 1013904223u;
        words[i] = seed >> 8;
    }
}

static double sum_by_row(void)
{
    double sum = 0;

    for (int row = 0; row < N; row++)
        for (int col = 0; col < N; col++)
            sum += matrix[row][col];
    return sum;
}

static double sum_by_column(void)
{
    double sum = 0;

    for (int col = 0; col < N; col++)
        for (int row = 0; row < N; row++)
            sum += matrix[row][col];
    return sum;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;

    *a = *b;
    *b = kept;
}

static void sort(uint32_t *first, uint32_t *last)
{
    while (first < last) {
        uint32_t pivot = first[(last - first) / 2];
        uint32_t *low = first, *high = last;

        while (low <= high) {
            while (*low < pivot)
                low++;
            while (*high > pivot)
                high--;
            if (low <= high)
                swap(low++, high--);
        }
        sort(first, high);
        first = low;
    }
}

int main(void)
{
    fill();
    printf("by row    %.0f\n", sum_by_row());
    printf("by column %.0f\n", sum_by_column());
    sort(words, words + WORDS - 1);
    for (int i = 1; i < WORDS; i++) {
        if (words[i - 1] > words[i]) {
            puts("not sorted");
            return 1;
        }
    }
    printf("sorted    %u .. %u\n", (unsigned)words[0], (unsigned)words[WORDS - 1]);
    return 0;
}
