// SPDX-License-Identifier: MIT
//
// `quern trace`: reads a trace of `quern run --trace-refs`, and prints its items or simulates
// caches of any geometry.
#include "cli/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/file.h"
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
    { .kind = OPTION_HEADING, .help = "For other simulators" },
    { "--to", "=lackey|dinero|champsim",
      "references as Valgrind's lackey prints them, as extended din of Dinero IV, or "
      "instructions as ChampSim reads them",
      OPTION_CHOICE, OPTION_APART, FIELD(to) },
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=OUT", "write there instead of to standard output",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
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
             "--simulate, simulates caches of any geometry; with --to, writes them for another\n"
             "simulator.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

struct conversion {
    const struct trace_options *o;
    const char *path;
    struct trace_reader *r;
};

static void write_converted(FILE *f, const void *ctx)
{
    const struct conversion *c = ctx;

    (c->o->to == TRACE_TO_CHAMPSIM ? trace_champsim : trace_convert)(c->o, c->path, c->r, f);
}

static void convert(const struct trace_options *o, const char *path, struct trace_reader *r)
{
    const struct conversion c = { o, path, r };
    const char *out = o->out ? o->out : "-";
    int rc;

    if (o->to == TRACE_TO_CHAMPSIM && strcmp(out, "-") == 0 && isatty(STDOUT_FILENO))
        die(UTIL_USAGE, "--to=champsim: not to a terminal; name a file with -o");
    rc = file_write(out, write_converted, &c);
    if (rc != 0)
        die(UTIL_USAGE, "%s: cannot be written: %s",
            strcmp(out, "-") == 0 ? "standard output" : out, strerror(-rc));
}

static void check(const struct trace_options *o)
{
    if (o->simulate && (o->limited || o->skip || o->thread))
        die(UTIL_USAGE, "--limit, --skip and --thread: not with --simulate, which reads all");
    if (o->to && (o->limited || o->skip || o->simulate))
        die(UTIL_USAGE, "--limit, --skip and --simulate: not with --to, which converts all");
    if (o->out && !o->to)
        die(UTIL_USAGE, "--output: only with --to");
}

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
    check(&o);
    f = fopen(*file, "rbe");
    if (!f)
        die(UTIL_USAGE, "%s: %s", *file, strerror(errno));
    if (trace_read_open(r, f))
        trace_remark_die(*file, r);
    if (o.to)
        convert(&o, *file, r);
    else if (o.simulate)
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
