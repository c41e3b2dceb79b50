// SPDX-License-Identifier: MIT
// Code inlined from another file, and a callback through the C library.
#include <stdio.h>
#include <stdlib.h>

#include "inline.h"

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int a[300], sum = 0;

    (void)argv;
    for (int i = 0; i < 300; i++)
        a[i] = square(i * 7919 % 1000);
    qsort(a, 300, sizeof(int), compare);
    for (int i = 0; i < 300; i++)
        sum += i * a[i] * argc;
    printf("%d\n", sum);
    return 0;
}
