// SPDX-License-Identifier: MIT
//
// The writers of `quern convert`, one function each; all write to an open file and leave errors of
// writing to the caller, who looks at ferror().
#ifndef QUERN_CLI_CONVERT_H
#define QUERN_CLI_CONVERT_H

#include <stdio.h>

#include "quern/profile.h"

struct convert {
    struct quern_profile *p;
    struct quern_costs *costs;
    const char *path;
    size_t events;    // real ones
    size_t event;     // the one that folded, dot and the stacks are about
    int lines;        // json: with source lines
    const char *by;   // csv: line, function or edge
    double threshold; // dot: leave out nodes below so many percent
};

// convert_json.c
void convert_json(FILE *f, const struct convert *c);
// A JSON string; bytes that are not UTF-8 become U+FFFD.
void convert_json_string(FILE *f, const char *s);
// convert_text.c
void convert_csv(FILE *f, const struct convert *c);
void convert_dot(FILE *f, const struct convert *c);
// convert_stacks.c: call stacks estimated from the call graph
void convert_folded(FILE *f, const struct convert *c);
void convert_speedscope(FILE *f, const struct convert *c);
void convert_pprof(FILE *f, const struct convert *c);

#endif
