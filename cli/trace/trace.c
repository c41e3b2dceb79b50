// SPDX-License-Identifier: MIT
//
// `quern trace`: reads a trace of `quern run --trace-refs`, and prints its items or simulates
// caches of any geometry.
#include "cli/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/options/options.h"

static void limit(void *field, const struct option *o, const char *value)
{
    struct trace_options *t = field;

    if (!util_number(value, UINT64_MAX, &t->limit))
        die(UTIL_USAGE, "%s=%s: must be a whole number", o->name, value);
    t->limited = true;
}

#define FIELD(f) .field = offsetof(struct trace_options, f)

// clang-format off
static const struct option rows[] = {
    { .kind = OPTION_HEADING, .help = "As lines" },
    { "-n", " N", NULL, OPTION_CALL, .call = limit },
    { "--limit", "=N", "print at most N lines", OPTION_CALL, OPTION_APART, .call = limit },
    { "--skip", "=N", "skip the first N", OPTION_NUMBER, OPTION_APART, FIELD(skip),
      .max = UINT64_MAX },
    { "--thread", "=N", "only this thread", OPTION_NUMBER, OPTION_APART, FIELD(thread),
      .min = 1, .max = UINT32_MAX },
    { .kind = OPTION_HEADING, .help = "Simulated" },
    { "--simulate", NULL, "counts per instruction, and totals",
      OPTION_SET, FIELD(simulate) },
    { "--totals", NULL, "totals only", OPTION_SET, FIELD(totals) },
    { "--I1", "=SIZE,ASSOC,LINE", "level 1 instruction cache [that of the run]",
      OPTION_CALL, FIELD(caches.i1), .call = run_options_cache },
    { "--D1", "=SIZE,ASSOC,LINE", "level 1 data cache [that of the run]",
      OPTION_CALL, FIELD(caches.d1), .call = run_options_cache },
    { "--LL", "=SIZE,ASSOC,LINE", "last level cache [that of the run]",
      OPTION_CALL, FIELD(caches.ll), .call = run_options_cache },
    { "--branch-sim", "=yes|no", "also branches and mispredictions [no]",
      OPTION_YES, FIELD(flags), .bits = SPOOL_F_BRANCH_SIM },
    { .kind = OPTION_HEADING, .help = "Other" },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options trace_options_table = {
    .usage = "[OPTIONS] FILE",
    .about = "Prints the references that a run with --trace-refs=FILE recorded, one a line; with\n"
             "--simulate, simulates caches of any geometry.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

int cmd_trace(int argc, char **argv)
{
    struct trace_options o = { 0 };
    const char *name = options_command(argv[0]);
    char **file = options_read(&trace_options_table, name, &o, argc, argv);
    struct trace_reader *r = xmalloc(sizeof(*r));
    FILE *f;

    if (!*file || file[1])
        die(UTIL_USAGE, "name one trace; see '%s --help'", name);
    o.simulate |= o.totals;
    if (o.simulate && (o.limited || o.skip || o.thread))
        die(UTIL_USAGE, "--limit, --skip and --thread: not with --simulate, which reads all");
    f = fopen(*file, "rbe");
    if (!f)
        die(UTIL_USAGE, "%s: %s", *file, strerror(errno));
    if (trace_read_open(r, f))
        trace_remark_die(*file, r);
    if (o.simulate)
        trace_simulate(&o, *file, r);
    else
        trace_list(&o, *file, r);
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    trace_read_close(r);
    fclose(f);
    free(r);
    return UTIL_OK;
}
