// SPDX-License-Identifier: MIT
//
// The options of `quern convert`. Called by convert.c first of all.
#include "cli/convert/convert.h"

#include "cli/base/util.h"
#include "cli/options/options.h"

#define FIELD(f) .field = offsetof(struct convert, f)
#define YES_NO   "=yes|no"

// clang-format off
static const struct option rows[] = {
    { "--to",
      "=callgrind|cachegrind|json|csv|folded|dot|pprof|speedscope|lcov|github-benchmark|bencher",
      "the format; lcov: counts beside the source in editors; github-benchmark, "
      "bencher: totals for services that draw them over time",
      OPTION_CHOICE, OPTION_APART, FIELD(to) },
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=OUT", "write there instead of to standard output",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    { "--event", "=NAME",
      "folded, dot, pprof, speedscope, lcov: the event shown [the first]; github-benchmark, "
      "bencher: the only one [all]",
      OPTION_TEXT, FIELD(event_name) },
    { "--name", "=NAME", "github-benchmark, bencher: the benchmark's name [the command]",
      OPTION_TEXT, FIELD(name) },
    { "--by", "=line|function|edge", "csv: a row for each of these [line]",
      OPTION_CHOICE, FIELD(by) },
    { "--lines", YES_NO, "json: with the costs of source lines [yes]", OPTION_YES, FIELD(lines) },
    { "--threshold", "=N", "dot: leave out functions below N % [0.5]",
      OPTION_PERCENT, FIELD(threshold) },
    { .kind = OPTION_HEADING, .help = "callgrind" },
    { "--compress-strings", YES_NO, "names as (id) after their first use [yes]",
      OPTION_NO, FIELD(no_compress_strings) },
    { "--compress-pos", YES_NO, "relative positions [yes]", OPTION_NO, FIELD(no_compress_pos) },
    { "--dump-line", YES_NO, "lines [yes]", OPTION_NO, FIELD(no_lines) },
    { "--dump-instr", YES_NO, "addresses, where recorded [yes]", OPTION_NO, FIELD(no_instr) },
    { "--combine-parts", YES_NO, "one part, their sum [no]", OPTION_YES, FIELD(combine_parts) },
    { "--keep-order", YES_NO, "keep the order of records; do not sort and sum them [no]",
      OPTION_YES, FIELD(keep_order) },
    { "--portable", NULL, "write the form that every known reader accepts",
      OPTION_SET, FIELD(portable) },
    { .kind = OPTION_HEADING, .help = "Other" },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options convert_options_table = {
    .usage = "--to=FORMAT [options] PROFILE...",
    .about = "Write a profile (the sum of several) in another format.",
    .below = "A call graph has no call stacks. folded, pprof and speedscope estimate them: the "
             "cost of a function\nis divided among its callers in proportion to the cost of their "
             "calls.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

void convert_options_read(struct convert *c, int argc, char **argv)
{
    const char *name = options_command(argv[0]);

    *c = (struct convert){ .out = "-", .by = CONVERT_LINE, .lines = true, .threshold = 0.5 };
    c->paths = (const char *const *)options_read(&convert_options_table, name, c, argc, argv);
    if (!c->to)
        die(UTIL_USAGE, "--to=FORMAT is missing; '%s --help' lists the formats", name);
    if (!*c->paths)
        die(UTIL_USAGE, "no profile given; see '%s --help'", name);
}
