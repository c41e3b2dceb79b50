// SPDX-License-Identifier: MIT
//
// The options of `quern stat`: its own, and those of `quern run` that say what is simulated and
// what the program sees. Called by stat.c first of all.
#include "cli/stat/stat.h"

#include <string.h>

#include "cli/shared/options.h"
#include "cli/shared/util.h"

#define FIELD(f) .field = offsetof(struct tally, f)
#define RUN(f)   FIELD(run_options.f)
#define FLAG(f)  RUN(flags), .bits = SPOOL_F_##f
#define YES_NO   "=yes|no"

enum { RUNS_MAX = 10000 };

// clang-format off
static const struct option rows[] = {
    { "-n", " RUNS", NULL, OPTION_NUMBER, FIELD(runs), .min = 1, .max = RUNS_MAX },
    { "--runs", "=RUNS", "run it so often and say of every event whether it repeats [1]",
      OPTION_NUMBER, OPTION_APART, FIELD(runs), .min = 1, .max = RUNS_MAX },
    { "--save", "=FILE", "store the totals; with several runs the least of each event",
      OPTION_TEXT, FIELD(save) },
    { "--baseline", "=FILE", "compare with totals stored before, or with those of any profile",
      OPTION_TEXT, FIELD(baseline) },
    { "-o", " FILE", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=FILE", "the result goes to FILE [standard output]",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    { "--summary", "=text|json", "how the result is printed [text]",
      OPTION_CHOICE, FLAG(JSON) },
    { .kind = OPTION_HEADING, .help = "As for quern run" },
    { "--I1", "=SIZE,ASSOC,LINE", NULL,
      OPTION_CALL, RUN(caches.i1), .call = run_options_cache },
    { "--D1", "=SIZE,ASSOC,LINE", NULL,
      OPTION_CALL, RUN(caches.d1), .call = run_options_cache },
    { "--LL", "=SIZE,ASSOC,LINE", "the caches [this machine's]",
      OPTION_CALL, RUN(caches.ll), .call = run_options_cache },
    { "--cache-sim", YES_NO, "count cache accesses and misses [yes]", OPTION_YES, FLAG(CACHE_SIM) },
    { "--branch-sim", YES_NO, "count branches and mispredictions [no]",
      OPTION_YES, FLAG(BRANCH_SIM) },
    { "--rep-count", "=hardware|cachegrind",
      "a rep instruction is one, or one for each repetition and the final test [hardware]",
      OPTION_CHOICE, FLAG(REP_CACHEGRIND) },
    { "--demangle", YES_NO, "readable names of C++, Rust and D functions [yes]",
      OPTION_NO, FLAG(NO_DEMANGLE) },
    { "--serialize-threads", YES_NO, "run one thread at a time through one set of caches [no]",
      OPTION_YES, FLAG(SERIALIZE) },
    { "--aslr", YES_NO,
      "let the kernel randomise addresses, so that counts vary from run to run [no]",
      OPTION_YES, FLAG(ASLR) },
    { "--at-random", "=fixed|kernel",
      "the 16 random bytes that a program gets at its start [fixed]",
      OPTION_CHOICE, FLAG(RANDOM) },
    { "--vdso", YES_NO, "let it find the vDSO [yes]", OPTION_NO, FLAG(NO_VDSO) },
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

void stat_options_read(struct tally *s, int argc, char **argv)
{
    memset(s, 0, sizeof(*s));
    s->runs = 1;
    s->run_options.flags = SPOOL_F_CACHE_SIM;
    s->given = options_read(&stat_options_table, "quern stat", s, argc, argv);
    if (!*s->given)
        die(UTIL_USAGE, "no program given; usage: quern stat %s", stat_options_table.usage);
    s->json = (s->run_options.flags & SPOOL_F_JSON) != 0;
    s->run_options.flags |= SPOOL_F_STAT;
}
