// SPDX-License-Identifier: MIT
//
// The options of `quern top`. Called first by top.c.
#include "cli/top/top.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"

#define FIELD(f) .field = offsetof(struct top, f)

// clang-format off
static const struct option rows[] = {
    SIDE_OPTIONS_COMPARED(struct top),
    SIDE_OPTIONS_FOUND(struct top),
    { "--live", NULL, "show a running process (its id or its spool), updated every second",
      OPTION_SET, FIELD(live) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options top_options_table = {
    .usage = "[options] PROFILE...|--live PID|SPOOL",
    .about = "Show a profile (the sum of several) in the terminal: functions, callers, callees, "
             "sources.\nThe key ? shows all keys.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

void top_options_read(struct top *t, int argc, char **argv)
{
    // `top` has no traditional name, so options_command() returns memory to be freed.
    char *command = (char *)options_command(argv[0]), **operand;

    *t = (struct top){ .group = -1, .focus = UINT32_MAX };
    operand = options_read(&top_options_table, command, t, argc, argv);
    t->side[0].paths = (const char **)operand;
    while (operand[t->side[0].path_count])
        if (strcmp(operand[t->side[0].path_count++], "-") == 0)
            die(UTIL_USAGE, "-: standard input is for keys; name a file");
    if (t->side[0].path_count == 0)
        die(UTIL_USAGE, "no profile given; see '%s --help'", command);
    if (t->live && (t->base || t->side[0].path_count > 1))
        die(UTIL_USAGE, "--live: shows one process, without --base");
    if (t->base) {
        if (strcmp(t->base, "-") == 0)
            die(UTIL_USAGE, "--base=-: standard input is for keys; name a file");
        t->side[1].paths = &t->base;
        t->side[1].path_count = 1;
    }
    free(command);
}
