// SPDX-License-Identifier: MIT
//
// A typical small program, built statically and dynamically: start-up code,
// relocations, indirect functions, malloc, qsort, string functions, printf, atexit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "the quern is a hand mill the miller turns the upper stone the flour falls out";

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void goodbye(void)
{
    fflush(stdout);
}

int main(void)
{
    char *copy = strdup(text), *words[32];
    size_t n = 0;

    atexit(goodbye);
    for (char *w = strtok(copy, " "); w && n < 32; w = strtok(NULL, " "))
        words[n++] = w;
    qsort(words, n, sizeof(words[0]), compare);
    for (size_t i = 0; i < n; i++)
        printf("%2zu %-8s %.3f %x\n", i, words[i], (double)strlen(words[i]) / 3,
               (unsigned)(i * 2654435761u));
    free(copy);
    return n != 16;
}
