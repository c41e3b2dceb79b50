// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int primes(char *composite, int n)
{
    int count = 0;
    memset(composite, 0, n + 1);
    for (int i = 2; i <= n; i++) {
        if (composite[i])
            continue;
        count++;
        for (long j = (long)i * i; j <= n; j += i)
            composite[j] = 1;
    }
    return count;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    char *composite = malloc(n + 1);
    printf("%d primes, about %.3f\n", primes(composite, n), n / log(n));
    free(composite);
    return argc;
}
