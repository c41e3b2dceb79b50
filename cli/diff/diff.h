// SPDX-License-Identifier: MIT
//
// State of `quern diff`, shared by diff.c (options, totals, limits), diff_table.c (functions,
// edges) and diff_lines.c (source lines).
#ifndef QUERN_CLI_DIFF_H
#define QUERN_CLI_DIFF_H

#include "cli/shared/table.h"
#include "quern/profile.h"

struct diff_side {
    const char *path;
    struct quern_profile *p;
    struct quern_costs *costs;
    uint32_t *func; // its functions -> common functions
    uint32_t *file; // its strings, as files -> common strings
    const char **include;
    size_t include_count;
};

struct diff {
    struct diff_side old, new_;
    struct quern_profile *names; // common functions and file names, after --mod-*
    size_t events, funcs;
    quern_count *old_costs, *new_costs; // by common function, `events` each
    uint8_t *in;                        // by common function: 1 in old, 2 in new
    const quern_count *old_totals, *new_totals;
    size_t *shown, shown_count, *sorted, sorted_count;
    double threshold; // percent of the old total
    int percs, inclusive;
    struct table table;
};

// diff_table.c
void diff_join(struct diff *d, const struct quern_rewrite *file, const struct quern_rewrite *func);
void diff_functions(struct diff *d);
void diff_edges(struct diff *d);
void diff_put_func(const struct diff *d, uint32_t func);
// Is the difference worth a line: any count shown differs, and the first sort event by enough?
int diff_matters(const struct diff *d, const quern_count *delta);
int diff_compare(const struct diff *d, const quern_count *x, const quern_count *y);

// diff_lines.c
void diff_lines(struct diff *d);

#endif
