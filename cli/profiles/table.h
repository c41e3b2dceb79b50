// SPDX-License-Identifier: MIT
//
// Tables of counts: a column for each event, as wide as its numbers need, with the share of the
// total behind each number; or the share that the event has of another one in the same row.
#ifndef QUERN_CLI_TABLE_H
#define QUERN_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

// What is coloured on a terminal.
enum table_colours {
    TABLE_PLAIN,
    TABLE_SHARES,  // counts of a tenth of the total or more
    TABLE_CHANGES, // counts that grew, and that shrank
};

struct table {
    enum table_colours colours;
    size_t cols;
    size_t *event;
    int *width; // of the number
    struct table_range {
        quern_count least, most; // counts that fit the column, without fractions
    } * range;
    int percs;
    bool *part;                // of a column: the share of `whole` alone
    size_t whole;              // an event
    const quern_count *totals; // of each event shown, by column
    const struct quern_profile *p;
};

// A line of 80 dashes with its newline.
#define TABLE_RULE \
    "--------------------------------------------------------------------------------\n"

void table_init(struct table *t, struct quern_profile *p, const size_t *events, size_t n, int percs,
                const quern_count *totals);
// Shows the causes of cycles as shares of the cycles of their row. False: the profile has none.
bool table_causes(struct table *t);
void table_free(struct table *t);
void table_reset(struct table *t);
// Widens the columns for these counts.
void table_fit(struct table *t, const quern_count *counts, uint64_t present);
void table_head(const struct table *t);
// ".", or the number, followed with `percs` by the share of the total in parentheses.
void table_row(const struct table *t, const quern_count *counts, uint64_t present);

#endif
