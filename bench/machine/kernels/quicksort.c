// SPDX-License-Identifier: MIT
//
// Hoare's quicksort of random numbers: half of the comparisons cannot be predicted.
#include "../common.h"

#define N 300000

static int32_t a[N];

static void quicksort(int32_t *p, long l, long r)
{
    while (l < r) {
        long i = l, j = r;
        int32_t middle = p[(l + r) / 2];

        while (i <= j) {
            while (p[i] < middle)
                i++;
            while (p[j] > middle)
                j--;
            if (i <= j) {
                int32_t t = p[i];

                p[i++] = p[j];
                p[j--] = t;
            }
        }
        if (j - l < r - i) {
            quicksort(p, l, j);
            l = i;
        } else {
            quicksort(p, i, r);
            r = j;
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;

    for (long n = rounds(argc, argv); n > 0; n--) {
        for (int i = 0; i < N; i++)
            a[i] = (int32_t)draw(&state);
        quicksort(a, 0, N - 1);
        for (int i = 0; i < N; i += 97)
            sum = sum * 31 + (uint32_t)a[i];
    }
    return print_sum(sum);
}
