// SPDX-License-Identifier: MIT
//
// State of `quern diff`, shared by diff.c (totals), diff_options.c, diff_limit.c (--fail-if),
// diff_where.c (what exceeded a limit), diff_cause.c (the cause of its cycles), diff_sentence.c
// (the words for all that), diff_table.c (functions, edges), diff_lines.c (source lines), and the
// writers of documents: diff_markdown.c, diff_json.c, diff_junit.c, diff_sarif.c.
#ifndef QUERN_CLI_DIFF_H
#define QUERN_CLI_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "cli/profiles/event.h"
#include "cli/profiles/table.h"
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

// ORDER diff_to: the words of --to
enum diff_to { DIFF_TEXT = 1, DIFF_MARKDOWN, DIFF_JSON, DIFF_JUNIT, DIFF_SARIF };

// ORDER diff_missing: the words of --missing
enum diff_missing { DIFF_MISSING_ERROR = 1, DIFF_MISSING_OK };

// What is shown of a limit that was exceeded: so many functions, and so many lines of each.
enum { DIFF_PLACES = 3, DIFF_LINES = 3 };
enum { DIFF_CAUSE_TEXT = 128 };

// Of cycles: the cause that changed most in the direction of the limit.
struct diff_cause {
    int cause; // the i-th (known_meaning), or -1: none
    size_t event;
    quern_count old, now;
};

struct diff_line {
    uint32_t file; // of the common names
    uint64_t line; // of the new profile
    quern_count old, now;
    struct diff_cause cause;
};

struct diff_place {
    uint32_t func; // of the common names
    quern_count old, now;
    struct diff_cause cause;
    struct diff_line line[DIFF_LINES]; // the largest change first
    size_t lines;
};

// One --fail-if, measured.
struct diff_limit {
    const char *text; // as it was given
    char *func;       // NULL: of the whole program
    const char *event;
    size_t event_number;
    int64_t scale;           // of the counts below
    quern_count old, now;    // of all functions that it names
    struct diff_cause cause; // if exceeded
    bool each;               // func is a pattern: a limit on each function that matches
    bool falls;              // exceeded by a small count
    bool exceeded;
    bool missing;        // NEW lacks the function, and that is an error
    uint32_t gone;       // if missing: the function of OLD, or QUERN_NONE
    const char *nearest; // if missing: a name that may be meant, or NULL
    // If exceeded: the functions that exceed it (each), or those that changed most; the largest
    // change first. `shown` of them have lines.
    struct diff_place *place;
    size_t places, shown;
};

struct diff {
    // Options
    const char *command; // the name that the user called it by
    bool traditional;    // cg_diff
    const char *out, *show, *sort, *mod_file, *mod_func;
    struct option_list fail_if;
    uint32_t by, to, missing;
    double threshold; // percent of the old total
    bool percs, inclusive;

    struct diff_side old, new_;
    struct quern_profile *names; // common functions and file names, after --mod-*
    size_t events, funcs;
    quern_count *old_costs, *new_costs; // by common function, `events` each
    uint8_t *in;                        // by common function: 1 in old, 2 in new
    const quern_count *old_totals, *new_totals;
    struct known_cycles cycles;
    bool timed; // they have those
    bool data;  // both are of the data: their functions are objects
    size_t *shown, shown_count, *sorted, sorted_count;
    struct table table;
    struct diff_limit *limit; // one for each of fail_if
};

// diff_options.c: the defaults, the options of argv, and the paths of the two profiles.
void diff_options_read(struct diff *d, int argc, char **argv, bool traditional);

// diff_limit.c: reads and measures all limits, and says which are exceeded. The exit status.
int diff_limits(struct diff *d);

// diff_sentence.c
// "Ir was 150 and is 160 (+6.67%); most in f +10 at src/a.c:2 +10", of cycles with their causes; to
// be freed.
char *diff_sentence(const struct diff *d, const struct diff_limit *l);
// "-8.33%"; "" where the old count is 0. buf has 64 bytes.
void diff_percent(char *buf, quern_count old, quern_count now);

// diff_cause.c: of two rows of counts, which may be NULL: zeros. None where the limit is on another
// event than the cycles, or no cause changed in its direction.
struct diff_cause diff_cause_of(const struct diff *d, const struct diff_limit *l,
                                const quern_count *old, const quern_count *now);
// " (CyMem +90)", or "" without a cause; buf has DIFF_CAUSE_TEXT bytes.
void diff_cause_text(char *buf, const struct diff *d, const struct diff_cause *c);

// diff_where.c: notes a function that exceeds a limit, or has a part in it; then, of all limits,
// sorts these functions and finds their lines.
void diff_where_add(struct diff_limit *l, uint32_t func, quern_count old, quern_count now);
void diff_where(struct diff *d);

// diff_table.c
void diff_join(struct diff *d, const struct quern_rewrite *file, const struct quern_rewrite *func);
void diff_functions(struct diff *d);
void diff_edges(struct diff *d);
void diff_put_func(const struct diff *d, uint32_t func);
// "function", or "object".
const char *diff_noun(const struct diff *d);
// Is the difference shown: does any shown count differ, and the first sort event by the threshold?
int diff_matters(const struct diff *d, const quern_count *delta);
int diff_compare(const struct diff *d, const quern_count *x, const quern_count *y);

// The functions that differ, the largest change first, and their differences: `events` counts for
// each function of d->names. Returns how many; both to be freed.
size_t diff_changed(const struct diff *d, uint32_t **func, quern_count **delta);

// The documents, for file_write(); ctx is the struct diff.
void diff_markdown(FILE *f, const void *ctx);
void diff_json(FILE *f, const void *ctx);
void diff_junit(FILE *f, const void *ctx);
void diff_sarif(FILE *f, const void *ctx);

// diff_lines.c
void diff_lines(struct diff *d);

#endif
