// SPDX-License-Identifier: MIT
//
// State of `quern stat`, shared by stat.c (the command), stat_options.c, stat_runs.c (runs and
// their spools), stat_vary.c (which function varies), stat_curve.c (misses by size) and
// stat_print.c (output).
#ifndef QUERN_CLI_STAT_H
#define QUERN_CLI_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/run/run.h"
#include "finish/spool/spool.h"
#include "quern/profile.h"

struct stat_run {
    struct spool_file spool;
    bool held; // the spool is still open
    uint64_t counts[FINISH_EVENTS];
    // Made by stat_vary.c, for runs that have the least or the greatest count of an event.
    struct quern_profile *profile;
    struct quern_costs *costs;
};

// Where an event varies most between its least and its greatest run.
struct stat_vary {
    char *function; // NULL: unknown
    quern_count least, greatest;
    size_t others; // further functions in which it varies
};

// One event over all runs. Runs are indices in `run`.
struct stat_event {
    uint64_t least, greatest;
    size_t least_run, greatest_run;
    struct stat_vary vary;
    quern_count baseline;
};

struct tally {
    // Options; those of `quern run` first of all
    struct run_options run_options;
    uint64_t runs;
    const char *baseline, *save, *out;
    bool json;

    char **given; // the program and its arguments
    struct stat_run *run;
    size_t done;
    int status; // wait status of the last run
    struct stat_event event[FINISH_EVENTS];
    struct quern_profile *base; // NULL: none
};

bool stat_counted(const struct tally *s, int event);

// stat_options.c
void stat_options_read(struct tally *s, int argc, char **argv);

// stat_runs.c: runs the program; false when it could not be started: the exit status says why.
bool stat_runs(struct tally *s);

// stat_vary.c: finds the functions. Reads symbols.
void stat_vary(struct tally *s);

// stat_curve.c
void stat_curve(FILE *f, const struct tally *s);

// stat_print.c
void stat_print(FILE *f, const void *tally);
void stat_print_json(FILE *f, const void *tally);
// The totals as a profile of one function, which every command reads.
void stat_save(const struct tally *s);

#endif
