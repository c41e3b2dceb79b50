// SPDX-License-Identifier: MIT
//
// Compares names of functions with what a user typed (funcname.h). A profile may have 100,000
// names of several hundred letters: a name that cannot be near is dismissed by its length.
#include "cli/base/funcname.h"

#include <string.h>

enum {
    LETTERS = 255, // of longer names the rest does not count
    WRONG = 3,     // one letter in so many may be wrong
};

size_t funcname_length(const char *name)
{
    const char *end = strrchr(name, ')'), *s;
    size_t depth = 0;

    // Parameters are at the end: "f(int) const", "f() [clone .cold]", not "f(int)::g", "g<f(int)>".
    if (!end || strpbrk(end, ":>}"))
        return strlen(name);
    for (s = end; s > name; s--) {
        depth += *s == ')';
        if (*s == '(' && --depth == 0)
            break;
    }
    if (s == name) // "(below main)"
        return strlen(name);
    if (s + 1 == end && s - name >= 8 && strncmp(s - 8, "operator", 8) == 0)
        return strlen(name);
    return (size_t)(s - name);
}

bool funcname_is(const char *typed, const char *name)
{
    size_t n = funcname_length(name);

    return strcmp(typed, name) == 0 || (strncmp(typed, name, n) == 0 && !typed[n]);
}

bool funcname_is_pattern(const char *typed)
{
    return strpbrk(typed, "*?");
}

// At a mismatch the last * takes one more character.
static bool matches(const char *pattern, const char *name, size_t n)
{
    const char *star = NULL, *from = NULL, *end = name + n;

    while (name < end) {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool funcname_matches_whole(const char *pattern, const char *name)
{
    return matches(pattern, name, strlen(name));
}

bool funcname_matches(const char *pattern, const char *name)
{
    return funcname_matches_whole(pattern, name) || matches(pattern, name, funcname_length(name));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The edit distance: how many letters to insert, delete, change, or exchange with their neighbour.
// More than `most`: any number above it.
static size_t distance(const char *a, size_t n, const char *b, size_t m, size_t most)
{
    size_t row[3][LETTERS + 1], before_best = 0;

    if ((n > m ? n - m : m - n) > most)
        return most + 1;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *up = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        size_t best = now[0] = i;

        for (size_t j = 1; j <= m; j++) {
            now[j] = least(up[j - 1] + (a[i - 1] != b[j - 1]), least(up[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
            best = least(best, now[j]);
        }
        if (best > most && before_best > most) // an exchange goes two rows back
            return most + 1;
        before_best = best;
    }
    return row[n % 3][m];
}

// A name that begins or ends with the text counts as one wrong letter: "cold" was renamed to
// "cold_path", "hash" is "bench_hash".
static bool is_part(const char *a, size_t n, const char *b, size_t m)
{
    return n >= 3 && n <= m && (strncmp(a, b, n) == 0 || strncmp(a, b + m - n, n) == 0);
}

void funcname_try(struct funcname_nearest *n, const char *name)
{
    size_t typed = least(funcname_length(n->typed), LETTERS);
    size_t letters = least(funcname_length(name), LETTERS);
    size_t most = (typed > letters ? typed : letters) / WRONG, d;

    if (n->best && n->distance <= most) {
        if (!n->distance)
            return;
        most = n->distance - 1;
    }
    d = distance(n->typed, typed, name, letters, most);
    if (d > most && most &&
        (is_part(n->typed, typed, name, letters) || is_part(name, letters, n->typed, typed)))
        d = 1;
    if (d <= most) {
        n->best = name;
        n->distance = d;
    }
}
