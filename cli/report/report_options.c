// SPDX-License-Identifier: MIT
//
// The options of `quern report`. Called first by report.c.
#include "cli/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"

#define FIELD(f) .field = offsetof(struct report, f)

enum { MB = 1 << 20 };

// A number of bytes, with K, M or G after it.
static void max_size(void *field, const struct option *o, const char *value)
{
    struct report *r = field;
    size_t n = strlen(value);
    const char *unit = n ? strchr("KMG", value[n - 1]) : NULL;
    char *digits = xasprintf("%.*s", (int)(unit ? n - 1 : n), value);

    if (!n || !util_number(digits, UINT64_MAX >> 30, &r->max_size) || r->max_size == 0)
        die(UTIL_USAGE, "%s=%s: must be a number of bytes, with K, M or G after it", o->name,
            value);
    free(digits);
    if (unit)
        r->max_size <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 30;
}

// clang-format off
static const struct option rows[] = {
    { "-o", " OUT", NULL, OPTION_TEXT, FIELD(out) },
    { "--output", "=OUT", "write there; - is standard output [PROFILE.html]",
      OPTION_TEXT, OPTION_APART, FIELD(out) },
    { "--open", NULL, "open the report in a browser (xdg-open)", OPTION_SET, FIELD(open) },
    SIDE_OPTIONS_COMPARED(struct report),
    { "--data", "=FILE",
      "the profile of the data of the same run (quern run --data=yes) [data.out.PID beside the "
      "profile]",
      OPTION_TEXT, FIELD(data) },
    { "--base-data", "=FILE", "the same for the base", OPTION_TEXT, FIELD(base_data) },
    { "--series", NULL, "one column per PROFILE, instead of their sum",
      OPTION_SET, FIELD(series) },
    { "--define", "='NAME = FORMULA'",
      "define an event by events, + - * / ( ) min max and numbers; may be repeated",
      OPTION_LIST, FIELD(define) },
    { "--title", "=TEXT", "the title [the command that was profiled]", OPTION_TEXT, FIELD(title) },
    { "--source", "=all|cost|none", "sources: whole, the lines around costs, or none [all]",
      OPTION_CHOICE, FIELD(source) },
    { "--asm", "=yes|no", "the instructions, where the profile has addresses [yes]",
      OPTION_YES, FIELD(code) },
    { "--max-size", "=SIZE",
      "above this size, leave out lines, sources and instructions of the cheapest functions [64M]",
      OPTION_CALL, .call = max_size },
    SIDE_OPTIONS_FOUND(struct report),
    { "--empty", NULL, "an empty page: drop profiles on it",
      OPTION_SET, FIELD(empty) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options report_options_table = {
    .usage = "[options] PROFILE... | --empty",
    .about =
        "Write one HTML file that shows a profile (the sum of several) in any browser, without "
        "a server\nor a network.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

// An empty page has no profile yet: options about a profile are refused.
static void check_empty(struct report *r)
{
    const struct option_list *include = &r->side[0].include, *old = &r->side[1].include;

    if (r->side[0].path_count)
        die(UTIL_USAGE, "--empty: %s: profiles are dropped into the page later; name none here",
            r->side[0].paths[0]);
    if (r->base || r->event_name || r->mod_file || r->mod_func || r->series || r->define.count ||
        r->data || r->base_data || include->count || old->count)
        die(UTIL_USAGE, "--empty: there is no profile yet; only -o, --open and --title go with it");
    r->out = r->out ? r->out : "quern-report.html";
    r->title = r->title ? r->title : "Quern: drop a profile here";
}

void report_options_read(struct report *r, int argc, char **argv)
{
    char **operand;

    *r = (struct report){ .command = options_command(argv[0]),
                          .code = true,
                          .source = SOURCE_ALL,
                          .max_size = 64ull * MB };
    operand = options_read(&report_options_table, r->command, r, argc, argv);
    r->side[0].paths = (const char **)operand;
    while (operand[r->side[0].path_count])
        r->side[0].path_count++;
    if (r->empty)
        check_empty(r);
    else if (r->side[0].path_count == 0)
        die(UTIL_USAGE, "no profile given; see '%s --help'", r->command);
    if (r->series && r->base)
        die(UTIL_USAGE, "--series: not with --base: it compares the runs with each other");
    if (r->series && r->side[0].path_count < 2)
        die(UTIL_USAGE, "--series: name two profiles or more");
    if (r->base_data && !r->base)
        die(UTIL_USAGE, "--base-data: there is no base; --base=OLD names one");
    if (r->base) {
        r->side[1].paths = &r->base;
        r->side[1].path_count = 1;
    }
    if (!r->out) {
        if (strcmp(operand[0], "-") == 0)
            die(UTIL_USAGE, "-: a profile on standard input has no name; name the report with -o");
        r->out = xasprintf("%s.html", operand[0]);
    }
    if (r->open && strcmp(r->out, "-") == 0)
        die(UTIL_USAGE, "--open: a report on standard output cannot be opened");
}
