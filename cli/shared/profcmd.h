/* SPDX-License-Identifier: MIT */
/*
 * What the profile commands (annotate, merge, diff, convert, check) share: reading with remarks on
 * standard error, choosing events, tables of counts. Knows no command; may die with a sentence.
 */
#ifndef QUERN_CLI_PROFCMD_H
#define QUERN_CLI_PROFCMD_H

#include <stddef.h>
#include <stdint.h>

#include "quern/profile.h"

/* How the user calls this command: "quern annotate", or the traditional name. */
const char *profcmd_name(const char *argv0);
/* Value of "--name=value" when arg is that option, else NULL. */
const char *profcmd_value(const char *arg, const char *name);
/* The same, or the next argument (then *i moves on); dies when there is none. */
const char *profcmd_next(int argc, char **argv, int *i, const char *name);
/* "yes" or "no"; dies otherwise. */
int profcmd_yes(const char *option, const char *value);
/* A percentage between 0 and max; dies otherwise. */
double profcmd_percent(const char *option, const char *value, double max);
uint64_t profcmd_number(const char *option, const char *value);
/* "quern: unknown option ..." with what to do; ends with status 2. */
_Noreturn void profcmd_unknown(const char *command, const char *arg);

/* An error of the library on standard error, with the line and a caret when there is one. */
void profcmd_error(const struct quern_error *err);
/* The line below the message, and the caret under column `col`. */
void profcmd_caret(const char *text, uint32_t col);
/* Read a profile; its warnings go to standard error. Dies with status 2. */
struct quern_profile *profcmd_read(const char *path);
/* Several are summed. */
struct quern_profile *profcmd_read_sum(const char *const *paths, size_t n);
/* The command of the first part; "". */
const char *profcmd_command(const struct quern_profile *p);
/* The expression of a --mod-* option; NULL when there is none; dies when it is not understood. */
struct quern_rewrite *profcmd_rewrite(const char *option, const char *expr);
/* The profile with its names rewritten, in place of p; either may be NULL. Dies when that fails. */
struct quern_profile *profcmd_renamed(struct quern_profile *p, const struct quern_rewrite *file,
                                      const struct quern_rewrite *func);
/* New minus old, by line or by function, with both files named in its header. Dies when they have other events. */
struct quern_profile *profcmd_difference(struct quern_profile *new_, const char *new_path,
                                         struct quern_profile *old, const char *old_path,
                                         int by_func);
/* Does it look like a profile (and not like a source file)? */
int profcmd_is_profile(const char *path);

/* Index of an event, of one derived in the file, or of one everybody knows (L1m LLm Bm CEst), which is
 * then defined. -1: there is none. */
int profcmd_find_event(struct quern_profile *p, const char *name);
/* "A,B,C" or "A:1,B:2" into indices (and thresholds, -1 where none is given); dies on unknown ones. */
size_t profcmd_events(struct quern_profile *p, const char *option, const char *list, size_t **out,
                      double **thresholds);
/* The value of an event, derived or not, from the counts of the real ones. */
quern_count profcmd_event_value(const struct quern_profile *p, size_t event,
                                const quern_count *counts);
/* Was any count present that the event is made of? */
int profcmd_event_present(const struct quern_profile *p, size_t event, uint64_t present);
double profcmd_double(const struct quern_profile *p, size_t event, quern_count v);

/* "1,234,567.5"; buf of 80 bytes suffices. Returns the length. */
int profcmd_commas(char *buf, quern_count v, int64_t scale);
/* ".", or the number; and behind it the share of total in parentheses when percs. */
struct profcmd_table {
    size_t cols;
    size_t *event;
    int *width; /* of the number */
    int percs;
    const quern_count *totals; /* of each event shown, by column */
    const struct quern_profile *p;
};
void profcmd_table_init(struct profcmd_table *t, struct quern_profile *p, const size_t *events,
                        size_t n, int percs, const quern_count *totals);
void profcmd_table_free(struct profcmd_table *t);
void profcmd_table_reset(struct profcmd_table *t);
/* Make room for these counts. */
void profcmd_table_fit(struct profcmd_table *t, const quern_count *counts, uint64_t present);
void profcmd_table_head(const struct profcmd_table *t);
void profcmd_table_row(const struct profcmd_table *t, const quern_count *counts, uint64_t present);

extern const char profcmd_rule[]; /* a line of 80 dashes with its newline */

#endif
