// SPDX-License-Identifier: MIT
//
// The options of `quern diff`, and those of cg_diff, which has fewer. Called first by diff.c.
#include "cli/diff/diff.h"

#include "cli/base/util.h"

#define FIELD(f) .field = offsetof(struct diff, f)

static void include(void *field, const struct option *o, const char *value)
{
    struct diff *d = field;

    (void)o;
    options_add(&d->old.include, value);
    options_add(&d->new_.include, value);
}

// clang-format off
static const struct option rows[] = {
    { "--by", "=function,edge,line", "what to compare [function]", OPTION_WORDS, FIELD(by) },
    { "--show", "=A,B,C", "events to show [all; with estimated cycles: Cy, its causes, Ir]",
      OPTION_TEXT, FIELD(show) },
    { "--sort", "=A,B,C", "events to sort by [as in the profile, or Cy]",
      OPTION_TEXT, FIELD(sort) },
    { "--threshold", "=N", "leave out differences below N % of the old total [0]",
      OPTION_PERCENT, FIELD(threshold) },
    { "--show-percs", "=yes|no", "shares of the old totals after the counts [yes]",
      OPTION_YES, FIELD(percs) },
    { "--inclusive", "=yes|no", "functions with what they call [no]",
      OPTION_YES, FIELD(inclusive) },
    { "--mod-filename", "=s/OLD/NEW/", NULL, OPTION_TEXT, FIELD(mod_file) },
    { "--mod-funcname", "=s/OLD/NEW/",
      "rewrite names (Perl syntax; flags g i m s x) before comparing",
      OPTION_TEXT, FIELD(mod_func) },
    { "--fail-if", "=LIMIT",
      "status 1 if exceeded; may be repeated. 'Ir>+1%': Ir grew by more than 1 %; 'Ir>+1000': by "
      "more than 1000; 'Ir>5000000': the new Ir is larger; 'main:Ir>+1%': the Ir of that function; "
      "'*:Ir>+5%': of each function that matches", OPTION_LIST, OPTION_APART, FIELD(fail_if) },
    { "--missing", "=error|ok",
      "a limit on a function that NEW does not have: status 2 (error), or within (ok) [error]",
      OPTION_CHOICE, FIELD(missing) },
    { "--to", "=text|markdown|json|junit|sarif",
      "print text, or limits and functions: as a comment (markdown), for programs (json), as a "
      "test report (junit), for code scanners (sarif) [text]", OPTION_CHOICE, FIELD(to) },
    { "-I", " DIR", NULL, OPTION_CALL, OPTION_ATTACHED, .call = include },
    { "--include", "=DIR", "look for sources below DIR", OPTION_CALL, .call = include },
    { "--old-include", "=DIR", NULL, OPTION_LIST, FIELD(old.include) },
    { "--new-include", "=DIR", "the same, of one side", OPTION_LIST, FIELD(new_.include) },
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=OUT", "write the difference by line as a profile instead; with --to, write the "
                            "document there",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};

static const struct option traditional_rows[] = {
    { "--mod-filename", "=s/OLD/NEW/", "rewrite file names before comparing",
      OPTION_TEXT, FIELD(mod_file) },
    { "--mod-funcname", "=s/OLD/NEW/", "rewrite function names before comparing",
      OPTION_TEXT, FIELD(mod_func) },
    OPTIONS_HELP,
    { .name = "-v", .kind = OPTION_VERSION },
    OPTIONS_VERSION,
};
// clang-format on

const struct options diff_options_table = {
    .usage = "[options] OLD NEW",
    .about = "Show what differs between two profiles: NEW - OLD.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

const struct options diff_options_traditional = {
    .usage = "[options] OLD NEW",
    .about =
        "Write the difference of two profiles, NEW - OLD by function, as a Cachegrind profile.",
    .row = traditional_rows,
    .rows = sizeof(traditional_rows) / sizeof(*traditional_rows),
};

void diff_options_read(struct diff *d, int argc, char **argv, bool traditional)
{
    const struct options *set = traditional ? &diff_options_traditional : &diff_options_table;
    char **operand;

    *d = (struct diff){ .command = options_command(argv[0]),
                        .traditional = traditional,
                        .by = DIFF_FUNCTION,
                        .to = DIFF_TEXT,
                        .missing = DIFF_MISSING_ERROR,
                        .percs = true };
    operand = options_read(set, d->command, d, argc, argv);
    if (!operand[0] || !operand[1])
        die(UTIL_USAGE, "two profiles are needed, the old and the new one; '%s --help' shows how",
            d->command);
    if (d->to > DIFF_TEXT && d->by != DIFF_FUNCTION)
        die(UTIL_USAGE, "--by: --to prints functions only; leave it out for edges and lines");
    if (d->to == DIFF_JUNIT && !d->fail_if.count)
        die(UTIL_USAGE, "--to=junit: each limit is a test; give one or more by --fail-if=LIMIT");
    if (operand[2])
        die(UTIL_USAGE, "exactly two profiles are compared; '%s' is the third", operand[2]);
    d->old.path = operand[0];
    d->new_.path = operand[1];
}
