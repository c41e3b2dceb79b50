// SPDX-License-Identifier: MIT
//
// State of `quern diff`, shared by diff.c (totals, limits), diff_options.c, diff_table.c
// (functions, edges) and diff_lines.c (source lines).
#ifndef QUERN_CLI_DIFF_H
#define QUERN_CLI_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/shared/options.h"
#include "cli/shared/table.h"
#include "quern/profile.h"

struct diff_side {
    const char *path;
    struct quern_profile *p;
    struct quern_costs *costs;
    uint32_t *func; // its functions -> common functions
    uint32_t *file; // its strings, as files -> common strings
    struct option_list include;
};

// ORDER diff_by: the words of --by
enum diff_by { DIFF_FUNCTION = 1, DIFF_EDGE = 2, DIFF_LINE = 4 };

struct diff {
    // Options
    const char *command; // the name it was called by
    bool traditional;    // cg_diff
    const char *out, *show, *sort, *mod_file, *mod_func;
    struct option_list fail_if;
    uint32_t by;
    double threshold; // percent of the old total
    bool percs, inclusive;

    struct diff_side old, new_;
    struct quern_profile *names; // common functions and file names, after --mod-*
    size_t events, funcs;
    quern_count *old_costs, *new_costs; // by common function, `events` each
    uint8_t *in;                        // by common function: 1 in old, 2 in new
    const quern_count *old_totals, *new_totals;
    size_t *shown, shown_count, *sorted, sorted_count;
    struct table table;
};

// diff_options.c: the defaults, what argv says, and the two profiles' names.
void diff_options_read(struct diff *d, int argc, char **argv, bool traditional);

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
