// SPDX-License-Identifier: MIT
//
// The edit distance counts letters to insert, to delete, to change, or to exchange with their
// neighbour.
#include "cli/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum {
    LETTERS = 64, // of a longer name the rest is not compared
    SHORTEST = 2, // a name of one letter could mean any other
};

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t row[3][LETTERS];

    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = up[j - 1] + !same(a[i - 1], b[j - 1]);
            now[j] = least(now[j], least(up[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

struct nearest nearest_begin(const char *name, size_t length)
{
    return (struct nearest){ .name = name, .length = length };
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    size_t known = strlen(candidate), common = least(known, n->length);
    size_t compared = least(known, LETTERS - 1), d;

    if (common < SHORTEST)
        return;
    d = strncasecmp(n->name, candidate, common) == 0
            ? known != n->length
            : distance(n->name, least(n->length, LETTERS - 1), candidate, compared);
    if (d * 3 <= compared && (!n->best || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}
