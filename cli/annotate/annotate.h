// SPDX-License-Identifier: MIT
//
// State of `quern annotate`, shared by annotate.c (preamble), annotate_options.c, annotate_table.c
// (functions), annotate_parts.c (parts), annotate_source.c (lines), annotate_asm.c (instructions)
// and annotate_advice.c (data that misses).
#ifndef QUERN_CLI_ANNOTATE_H
#define QUERN_CLI_ANNOTATE_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "cli/options/options.h"
#include "cli/profiles/fields.h"
#include "cli/profiles/lifetimes.h"
#include "cli/profiles/lineuse.h"
#include "cli/profiles/sharing.h"
#include "cli/profiles/table.h"
#include "cli/profiles/walks.h"
#include "quern/profile.h"

// ORDER annotate_auto: the words of --auto
enum annotate_auto { AUTO_YES = 1, AUTO_NO, AUTO_TOP };
enum { ANNOTATE_TOP = 5 }; // functions whose source AUTO_TOP shows

// ORDER annotate_tree: the words of --tree
enum annotate_tree { TREE_NONE = 1, TREE_CALLER, TREE_CALLING, TREE_BOTH };

struct annotate_row {
    uint32_t file; // source file (string number)
    uint32_t func;
    bool several; // of Cachegrind's format, whose function has code of several files
    uint64_t present;
    const quern_count *counts;
};

struct annotate_list {
    struct annotate_row *row;
    size_t count;
    size_t *order; // rows that are shown, sorted
    size_t order_count;
};

struct annotate {
    const char *command; // the name that the user called it by
    int callgrind;       // layout of callgrind_annotate
    bool traditional;    // called by the name of another tool

    // Options
    const char *show, *sort, *mod_file, *mod_func;
    const char *data;          // the profile of the data
    struct option_list advice; // on the data; owns its sentences
    double threshold;          // -1: not given
    bool percs, asm_, inclusive, diff, by_part, no_pager;
    uint32_t source;       // enum annotate_auto; 0: not given
    uint32_t file_rows;    // --by-file: 1 yes, 2 no, 0: not given
    uint32_t cycle_choice; // --cycles: 1 yes, 2 no, 0: not given
    bool by_file;          // a row is the code of a function from one file
    enum annotate_tree tree;
    uint64_t context;
    struct option_list include; // each with a final slash
    const char **files;         // profiles
    size_t file_count;
    const char **user; // source files asked for
    size_t user_count;

    struct quern_profile *p;
    struct quern_costs *costs; // inclusive costs and calls; NULL: the profile has no calls
    struct timespec mtime;     // of the oldest data file
    size_t events;             // recorded ones
    size_t *shown, shown_count;
    size_t *sorted, sorted_count;
    double *thresholds; // for each of `sorted`
    const quern_count *totals;
    struct table table;
    bool causes; // of cycles are shown as shares of them
    char *cwd;   // with a final slash; names below it are shown without it
    size_t cwd_len;

    struct annotate_list list;      // the table of functions
    struct annotate_list pieces;    // functions by source file; may be `list` itself
    struct annotate_list file_list; // empty where no function has code of several files
    struct quern_rows *rows;        // owns the counts of pieces, where `costs` does not
    quern_count *sums;              // those of functions and files
    // The row in `list` of each function, or its count; NULL: with by_file and inclusive.
    uint32_t *row_of_func;
    quern_count *opened;  // by function: inclusive costs with opened cycles; NULL: they are not
    struct walks walks;   // through the objects, of a profile of the data
    struct walks by_line; // of the lines, from --data
    struct lifetimes blocks; // of the objects; their fields
    struct lineuses use;     // of their lines that are fetched
    struct sharing sharing;  // lines of them that threads share
    bool *shared_shown;      // by pair of these
    struct fields fields;
    struct fields_row *field_rows;
    size_t field_row_count;
    // The cycle with the highest self cost, where that is half of the program's: its functions.
    size_t cycle_funcs;
    double cycle_share; // percent
};

// annotate_options.c: the defaults, the options of argv, and which operands are profiles.
void annotate_options_read(struct annotate *a, int argc, char **argv);

// annotate_table.c
void annotate_rows(struct annotate *a);
void annotate_choose(struct annotate *a);
void annotate_functions(struct annotate *a);
// The same costs by source file; nothing where each function is in one file.
void annotate_files(struct annotate *a);
const char *annotate_file_name(const struct annotate *a, uint32_t file);
// "file:function", without the object.
void annotate_put_func(const struct annotate *a, uint32_t file, uint32_t func);
// Comparison by the sort events, largest magnitude first.
int annotate_compare(const struct annotate *a, const quern_count *x, const quern_count *y);

// annotate_source.c: files chosen by the user and, with --auto, those of the functions shown.
// Returns how many of the user's could not be found.
size_t annotate_sources(struct annotate *a);

// annotate_advice.c: advice on the data that misses: from the profile of the data beside that of
// the code (--data), or of a profile of the data by itself; printed if there is any.
void annotate_advice(struct annotate *a, const struct quern_profile *data);
void annotate_advice_alone(struct annotate *a);
void annotate_advice_put(const struct annotate *a);
void annotate_advice_free(struct annotate *a);

// annotate_parts.c: the functions shown, by the share of each part.
void annotate_parts(const struct annotate *a);

// annotate_asm.c: every function shown, instruction by instruction.
void annotate_instructions(struct annotate *a);

#endif
