// SPDX-License-Identifier: MIT
//
// The options of `quern stat`: its own, and those of `quern run` that say what is simulated and
// what the program sees. Called first by stat.c.
#include "cli/stat/stat.h"

#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/options/options.h"

#define FIELD(f) .field = offsetof(struct tally, f)

// An option of `quern run`, stored in the run_options at the beginning of the tally.
#define RUN(name)                                         \
    {                                                     \
        name, .kind = OPTION_OF, .of = &run_options_table \
    }
_Static_assert(offsetof(struct tally, run_options) == 0, "for OPTION_OF");

enum { RUNS_MAX = 10000 };

// clang-format off
static const struct option rows[] = {
    { "-n", " RUNS", NULL, OPTION_NUMBER, FIELD(runs), .min = 1, .max = RUNS_MAX },
    { "--runs", "=RUNS", "run it RUNS times, and say which events repeat exactly [1]",
      OPTION_NUMBER, OPTION_APART, FIELD(runs), .min = 1, .max = RUNS_MAX },
    { "--save", "=FILE", "store the totals; with several runs the minimum of each event",
      OPTION_TEXT, FIELD(save) },
    { "--baseline", "=FILE", "compare with stored totals, or with those of a profile",
      OPTION_TEXT, FIELD(baseline) },
    { "-o", " FILE", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=FILE", "write the result to FILE [standard output]",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    { "--summary", "=text|json", "how the result is printed [text]",
      OPTION_CHOICE, FIELD(run_options.flags), .bits = SPOOL_F_JSON },
    { .kind = OPTION_HEADING, .help = "As for quern run" },
    RUN("--I1"),
    RUN("--D1"),
    RUN("--LL"),
    RUN("--machine"),
    RUN("--cache-sim"),
    RUN("--branch-sim"),
    RUN("--curve"),
    { "--curve", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(run_options.curve) },
    RUN("--rep-count"),
    RUN("--demangle"),
    RUN("--serialize-threads"),
    RUN("--aslr"),
    RUN("--at-random"),
    RUN("--cpu"),
    RUN("--tsc"),
    RUN("--reproducible"),
    RUN("--env"),
    RUN("--vdso"),
    { .kind = OPTION_HEADING, .help = "Other" },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options stat_options_table = {
    .usage = "[OPTIONS] [--] PROGRAM [ARGS...]",
    .about = "Runs PROGRAM and prints how often every event happened; reads no symbols and writes\n"
             "no profile. With -n also which events repeat exactly, and where the others vary.",
    .below =
        "Exit status: that of the last run of PROGRAM, or death by its signal; 126, 127 and 2\n"
        "as for quern run.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
    .leading = true,
};

// What a machine adds to the events that are counted: the run reads the same again.
static void add_machine(struct run_options *o)
{
    struct run_options read = *o;
    char *messages[RUN_LEVELS];

    run_levels_set(&read, messages);
    o->flags = read.flags;
}

void stat_options_read(struct tally *s, int argc, char **argv)
{
    memset(s, 0, sizeof(*s));
    s->runs = 1;
    s->run_options.flags = SPOOL_F_CACHE_SIM;
    s->given = options_read(&stat_options_table, "quern stat", s, argc, argv);
    if (s->run_options.machine && strcmp(s->run_options.machine, "list") == 0)
        run_levels_list(&s->run_options.cpu);
    if (!*s->given)
        die(UTIL_USAGE, "no program given; usage: quern stat %s", stat_options_table.usage);
    if (s->run_options.machine)
        add_machine(&s->run_options);
    s->json = (s->run_options.flags & SPOOL_F_JSON) != 0;
    s->run_options.flags |= SPOOL_F_STAT;
}
