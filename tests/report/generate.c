// SPDX-License-Identifier: MIT
//
// Usage: generate big FUNCTIONS [PARTS] | generate grow FILE FUNCTIONS
//
// Callgrind files to measure reports with. "big" makes one of any size, of 9 events: 3 calls and 5
// lines for each function; 1,000,000 functions are about 400 MB; with PARTS all of them are in each
// of so many parts, at other costs. "grow" writes FILE with copies of
// its functions after it, under names of their own, until there are so many: the shape is that
// of FILE. Both write to standard output; the same arguments give the same bytes. Called by make
// check-report-big and make bench-report.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 42;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Most are small, few are large, as in profiles.
static uint64_t skewed(void)
{
    return random64() >> (34 + random64() % 30);
}

static void put_costs(uint64_t line)
{
    uint64_t ir = skewed() + 1;

    printf("%llu %llu %llu %llu", (unsigned long long)line, (unsigned long long)ir,
           (unsigned long long)(ir / 3), (unsigned long long)(ir / 7));
    // Misses are rare.
    for (int i = 0; i < 6; i++)
        printf(" %llu", (unsigned long long)(random64() % 8 == 0 ? ir / (50u << i) : 0));
    putchar('\n');
}

// All names first; ids follow.
static void put_names(uint64_t funcs)
{
    static const char *const part[] = { "vector", "list", "alloc", "parse", "emit",
                                        "visit",  "map",  "node",  "insn",  "block" };

    for (uint64_t f = 0; f < funcs; f += 50)
        printf("fl=(%llu) src/part%llu/file%llu.cc\n", (unsigned long long)(f / 50 + 1),
               (unsigned long long)(f / 5000), (unsigned long long)(f / 50));
    for (uint64_t f = 0; f < funcs; f++)
        printf("fn=(%llu) ns%llu::%s<%s>::%s_%llu(unsigned int)\n", (unsigned long long)(f + 1),
               (unsigned long long)(f % 97), part[f % 10], part[f / 10 % 10], part[f / 100 % 10],
               (unsigned long long)f);
}

static void put_part(uint64_t funcs)
{
    for (uint64_t f = 0; f < funcs; f++) {
        uint64_t line = random64() % 5000 + 1;
        if (f % 50 == 0)
            printf("fl=(%llu)\n", (unsigned long long)(f / 50 + 1));
        printf("fn=(%llu)\n", (unsigned long long)(f + 1));
        for (int i = 0; i < 5; i++)
            put_costs(line += random64() % 4 + 1);
        // Mostly to later functions, so cycles are rare.
        for (int i = 0; i < 3 && f + 1 < funcs; i++) {
            uint64_t to = random64() % 100
                              ? f + 1 + random64() % (funcs - f - 1 < 20000 ? funcs - f - 1 : 20000)
                              : random64() % funcs;
            printf("cfi=(%llu)\ncfn=(%llu)\n", (unsigned long long)(to / 50 + 1),
                   (unsigned long long)(to + 1));
            printf("calls=%llu %llu\n", (unsigned long long)(skewed() % 1000 + 1),
                   (unsigned long long)line);
            put_costs(line);
        }
        putchar('\n');
    }
}

static void big(uint64_t funcs, uint64_t parts)
{
    printf("version: 1\ncreator: generate\ncmd: ./big\n");
    for (uint64_t part = 1; part <= parts; part++) {
        if (parts > 1)
            printf("part: %llu\n", (unsigned long long)part);
        printf("positions: line\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\n"
               "ob=(1) /usr/bin/big\n");
        if (part == 1)
            put_names(funcs);
        put_part(funcs);
    }
}

// A line of costs with each count larger by up to an eighth, so no copy has the same numbers;
// any other line.
static void put_changed(const char *s)
{
    size_t n = strcspn(s, " \n");

    if (!strchr("0123456789+-*", *s)) {
        fputs(s, stdout);
        return;
    }
    printf("%.*s", (int)n, s);
    for (s += n; *s == ' ';) {
        char *end;
        uint64_t v = strtoull(s, &end, 10);
        printf(" %llu", (unsigned long long)(v + random64() % (v / 8 + 1)));
        s = end;
    }
    putchar('\n');
}

// The body of the file again, each function name with a number after it; ids are written in full
// there, so they are rewritten as copies: (12) becomes (12000012) with the copy's number in
// front.
static void put_copy(char **line, size_t lines, size_t first, unsigned copy)
{
    for (size_t i = first; i < lines; i++) {
        const char *s = line[i];
        const char *open = strncmp(s, "fn=(", 4) == 0    ? s + 4
                           : strncmp(s, "cfn=(", 5) == 0 ? s + 5
                                                         : NULL;
        if (!open) {
            put_changed(s);
            continue;
        }
        const char *close = strchr(open, ')');
        printf("%.*s%u%06lu)", (int)(open - s), s, copy, strtoul(open, NULL, 10));
        if (close && close[1] == ' ')
            printf("%.*s~%u", (int)strcspn(close + 1, "\n"), close + 1, copy);
        putchar('\n');
    }
}

static int grow(const char *path, unsigned long wanted)
{
    FILE *f = fopen(path, "r");
    char **line = NULL, *text = NULL;
    size_t lines = 0, cap = 0, first = 0, funcs = 0;

    if (!f) {
        perror(path);
        return 2;
    }
    while (getline(&text, &cap, f) > 0) {
        if ((lines & (lines + 1)) == 0)
            line = realloc(line, (lines + 1) * 2 * sizeof(*line));
        line[lines++] = strdup(text);
        if (!first && (strncmp(text, "fl=", 3) == 0 || strncmp(text, "ob=", 3) == 0))
            first = lines - 1;
        funcs += strncmp(text, "fn=(", 4) == 0 && strchr(text, ' ');
        // A callee may be named before its function.
        funcs += strncmp(text, "cfn=(", 5) == 0 && strchr(text, ' ');
        if (strncmp(text, "totals:", 7) == 0)
            lines--;
    }
    fclose(f);
    for (size_t i = 0; i < lines; i++)
        if (strncmp(line[i], "summary:", 8) != 0)
            fputs(line[i], stdout);
    for (unsigned copy = 1; funcs && copy * funcs < wanted; copy++)
        put_copy(line, lines, first, copy);
    return 0;
}

int main(int argc, char **argv)
{
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "big") == 0)
        big(strtoull(argv[2], NULL, 10), argc == 4 ? strtoull(argv[3], NULL, 10) : 1);
    else if (argc == 4 && strcmp(argv[1], "grow") == 0)
        return grow(argv[2], strtoul(argv[3], NULL, 10));
    else
        return fputs("usage: generate big FUNCTIONS [PARTS] | generate grow FILE FUNCTIONS\n",
                     stderr),
               2;
    return fflush(stdout) != 0;
}
