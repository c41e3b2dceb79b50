// SPDX-License-Identifier: MIT
//
// The writers of `quern convert`, one function each. They write to an open file; the caller checks
// ferror().
#ifndef QUERN_CLI_CONVERT_H
#define QUERN_CLI_CONVERT_H

#include <stdbool.h>
#include <stdio.h>

#include "quern/profile.h"

// ORDER convert_to: the words of --to
enum convert_to {
    CONVERT_CALLGRIND = 1,
    CONVERT_CACHEGRIND,
    CONVERT_JSON,
    CONVERT_CSV,
    CONVERT_FOLDED,
    CONVERT_DOT,
    CONVERT_PPROF,
    CONVERT_SPEEDSCOPE,
    CONVERT_LCOV,
    CONVERT_GITHUB_BENCHMARK,
    CONVERT_BENCHER,
};

// ORDER convert_by: the words of --by
enum convert_by { CONVERT_LINE = 1, CONVERT_FUNCTION, CONVERT_EDGE };

struct convert {
    // Options
    enum convert_to to;
    const char *out, *event_name, *name;
    const char *const *paths; // NULL-terminated
    enum convert_by by;       // csv: what a row is
    bool lines;               // json: with source lines
    double threshold;         // dot: leave out nodes below this percentage
    // callgrind: as in struct quern_write_opts
    bool no_compress_strings, no_compress_pos, no_lines, no_instr;
    bool combine_parts, keep_order, portable;

    struct quern_profile *p;
    struct quern_costs *costs;
    size_t events; // recorded ones
    size_t event;  // the one of folded, dot, the stacks and lcov
};

// convert_options.c: the defaults, and the options of argv.
void convert_options_read(struct convert *c, int argc, char **argv);

// convert_json.c
void convert_json(FILE *f, const struct convert *c);
// convert_text.c
void convert_csv(FILE *f, const struct convert *c);
void convert_dot(FILE *f, const struct convert *c);
// convert_stacks.c: call stacks estimated from the call graph
void convert_folded(FILE *f, const struct convert *c);
void convert_speedscope(FILE *f, const struct convert *c);
void convert_pprof(FILE *f, const struct convert *c);
// convert_lcov.c
void convert_lcov(FILE *f, const struct convert *c);
// convert_bench.c: totals as the result of a benchmark
void convert_github_benchmark(FILE *f, const struct convert *c);
void convert_bencher(FILE *f, const struct convert *c);

#endif
