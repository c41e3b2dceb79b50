/* SPDX-License-Identifier: MIT */
/*
 * Writes a Callgrind profile of at least so many bytes to standard output, and what it adds up to,
 * as "name value" lines, to the file named. Called by tests/big/run. The totals are counted here,
 * with no code of libquern.
 *
 * A million functions in a thousand files, a chain of calls through all of them, in as many passes
 * as the size wants; every name in full each time. The first function's name, the command and one
 * cost line have a million bytes each. Event Big adds up to 2^64 - 1 in two counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 1000000u
#define LONG      1000000u

static unsigned long long bytes;

static void fill(char c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        putchar(c);
    bytes += n;
}

static void name(unsigned i)
{
    if (i == 0)
        fill('n', LONG);
    bytes += (unsigned)printf("function_%06u::with<a_long_name, of_a_class, and_of_its_arguments>"
                              "(unsigned long, char const*)\n",
                              i);
}

int main(int argc, char **argv)
{
    unsigned long long want, ir = 0, dr = 0, lines = 0, passes = 0;
    FILE *sums;

    if (argc != 3 || !(want = strtoull(argv[1], NULL, 10)) || !(sums = fopen(argv[2], "w"))) {
        fprintf(stderr, "usage: generate BYTES SUMS > PROFILE\n");
        return 2;
    }
    bytes += (unsigned)printf("# callgrind format\nversion: 1\ncreator: tests/big\ncmd: ");
    fill('c', LONG);
    bytes += (unsigned)printf("\npositions: instr line\nevent: Sum = Ir + 2 Dr : both\n"
                              "events: Ir Dr Big\n\nob=/usr/bin/big\n");
    do {
        for (unsigned i = 0; i < FUNCTIONS; i++) {
            unsigned long long addr = 0x400000 + 64ull * i, a = 1 + (i * 7 + passes) % 1000003;
            bytes += (unsigned)printf(
                "fl=/usr/src/a/project/with/a/long/path/module_%03u/file.cc\nfn=", i / 1000);
            name(i);
            bytes += (unsigned)printf("0x%llx %u %llu %u", addr, i % 1000 + 1, a, i % 3);
            if (passes == 0 && i == 5)
                bytes += (unsigned)printf(" %" PRIu64, UINT64_MAX - 1);
            if (passes == 0 && i == 6)
                bytes += (unsigned)printf(" 1");
            if (passes == 0 && i == 7)
                fill(' ', LONG);
            bytes += (unsigned)printf("\n+4 +1 2\n");
            ir += a + 2;
            dr += i % 3;
            lines += 2;
            if (i + 1 < FUNCTIONS) {
                bytes += (unsigned)printf(
                    "cfi=/usr/src/a/project/with/a/long/path/module_%03u/file.cc\ncfn=",
                    (i + 1) / 1000);
                name(i + 1);
                bytes += (unsigned)printf("calls=3 0x%llx %u\n+4 +1 11 13\n", addr + 64,
                                          (i + 1) % 1000 + 1);
            }
            putchar('\n');
            bytes++;
        }
        passes++;
    } while (bytes < want);
    bytes += (unsigned)printf("totals: %llu %llu %" PRIu64 "\n", ir, dr, UINT64_MAX);
    fprintf(sums, "bytes %llu\npasses %llu\nlines %llu\nir %llu\ndr %llu\n", bytes, passes, lines,
            ir, dr);
    return fclose(sums) || fflush(stdout) || ferror(stdout);
}
