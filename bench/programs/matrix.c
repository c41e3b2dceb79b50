// SPDX-License-Identifier: MIT
//
// The matrix product of `make bench`: few blocks, executed very often, three memory
// streams, one of them down columns. Deliberately neither blocked nor transposed. Prints a
// checksum, so that the bench can tell a wrong result; must not depend on anything but its
// argument, the size.
#include <stdio.h>
#include <stdlib.h>

#define MAX 1024

static double a[MAX][MAX], b[MAX][MAX], c[MAX][MAX];

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 400;
    double sum = 0;

    if (n < 1 || n > MAX) {
        fprintf(stderr, "matrix: the size is 1 to %d, not %s\n", MAX, argv[1]);
        return 2;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i][j] = (i * 7 + j * 3) % 101;
            b[i][j] = (i * 5 + j * 11) % 103;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;

            for (int k = 0; k < n; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
    for (int i = 0; i < n; i++)
        sum += c[i][i] + c[i][n - 1 - i];
    printf("%.0f\n", sum);
    return 0;
}
