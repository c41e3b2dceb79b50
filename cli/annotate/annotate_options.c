// SPDX-License-Identifier: MIT
//
// The options of `quern annotate`, also by its traditional names. Called by annotate.c first of
// all.
#include "cli/annotate/annotate.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/util.h"
#include "cli/profiles/read.h"

#define FIELD(f) .field = offsetof(struct annotate, f)

static void set_auto(void *field, const struct option *o, const char *value)
{
    (void)value;
    *(uint32_t *)field = (uint32_t)o->bits;
}

// clang-format off
static const struct option rows[] = {
    { "--show", "=A,B,C",
      "events to show, in this order [all; with estimated cycles: Cy, its causes as shares, Ir]",
      OPTION_TEXT, FIELD(show) },
    { "--sort", "=A,B,C",
      "events to sort by [as in the profile, or Cy]; A:N shows what has N % of A",
      OPTION_TEXT, FIELD(sort) },
    { "--threshold", "=N",
      "Cachegrind: show functions with N % of the first sort event [0.1]; "
      "Callgrind: show functions until N % of it is shown [99]", OPTION_PERCENT, FIELD(threshold) },
    { "--show-percs", "=yes|no", "shares of the totals after the counts [yes]",
      OPTION_YES, FIELD(percs) },
    { "--auto", "=yes|no|top",
      "list the sources of the functions shown; top: of the five most expensive, and of their "
      "lines only [yes; on a terminal top]", OPTION_CHOICE, FIELD(source) },
    { "--context", "=N", "lines shown around lines with counts [8]",
      OPTION_NUMBER, FIELD(context), .max = UINT64_MAX },
    { "--data", "=FILE",
      "the profile of the data of the same run (data.out.PID): beside a line how it walks through "
      "which object", OPTION_TEXT, FIELD(data) },
    { "-I", " DIR", NULL, OPTION_LIST, OPTION_ATTACHED, FIELD(include) },
    { "--include", "=DIR", "look for sources below DIR; may be repeated",
      OPTION_LIST, OPTION_APART, FIELD(include) },
    { "--inclusive", "=yes|no", "inclusive costs: a function with what it calls [no]",
      OPTION_YES, FIELD(inclusive) },
    { "--cycles", "=yes|no",
      "functions that call each other have the inclusive cost of all of them [yes, unless they are "
      "half of the program; by the names of other tools yes]",
      OPTION_CHOICE, FIELD(cycle_choice) },
    { "--tree", "=none|caller|calling|both", "the callers and callees of each function [none]",
      OPTION_CHOICE, FIELD(tree) },
    { "--by-file", "=yes|no",
      "a row for each source file of a function, as cg_annotate 3.19 and callgrind_annotate have "
      "them [no; by those names yes]", OPTION_CHOICE, FIELD(file_rows) },
    { "--by-part", "=yes|no",
      "the load balance of each function over parts (ranks, threads, profiles) [no]",
      OPTION_YES, FIELD(by_part) },
    { "--by-part", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(by_part) },
    { "--asm", "=yes|no",
      "list the instructions of the functions shown (profiles with addresses, --dump-instr=yes) "
      "[no]", OPTION_YES, FIELD(asm_) },
    { "--asm", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(asm_) },
    { "--mod-filename", "=EXPR", NULL, OPTION_TEXT, FIELD(mod_file) },
    { "--mod-funcname", "=EXPR", "rewrite names first, for example s/build-[0-9]*/build/",
      OPTION_TEXT, FIELD(mod_func) },
    { "--diff", NULL, "exactly two profiles: the second minus the first", OPTION_SET, FIELD(diff) },
    { "--show-percs", NULL, NULL, OPTION_SET, FIELD(percs) },
    { "--no-show-percs", NULL, NULL, OPTION_CLEAR, FIELD(percs) },
    { "--annotate", NULL, NULL, OPTION_CALL, FIELD(source), .bits = AUTO_YES, .call = set_auto },
    { "--no-annotate", NULL, "other spellings",
      OPTION_CALL, FIELD(source), .bits = AUTO_NO, .call = set_auto },
    { "--no-pager", NULL, "on a terminal: print it all, without $PAGER",
      OPTION_SET, FIELD(no_pager) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options annotate_options_table = {
    .usage = "[options] PROFILE... [SOURCE...]",
    .about = "Show what the functions and lines of a program cost. Several profiles are summed; "
             "each SOURCE\nis listed, whatever it costs.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

// The default of callgrind_annotate: the first profile of this folder, by name.
static const char *default_file(void)
{
    static const char *const prefixes[] = { "callgrind.out", "cachegrind.out" };
    char *best = NULL;

    for (int k = 0; k < 2 && !best; k++) {
        DIR *d = opendir(".");
        struct dirent *e;
        while (d && (e = readdir(d)))
            if (strncmp(e->d_name, prefixes[k], strlen(prefixes[k])) == 0 &&
                (!best || strcmp(e->d_name, best) < 0)) {
                free(best);
                best = xstrdup(e->d_name);
            }
        if (d)
            closedir(d);
    }
    return best;
}

void annotate_options_read(struct annotate *a, int argc, char **argv)
{
    char **operand;

    *a = (struct annotate){ .command = options_command(argv[0]),
                            .percs = true,
                            .context = 8,
                            .threshold = -1,
                            .tree = TREE_NONE };
    operand = options_read(&annotate_options_table, a->command, a, argc, argv);
    if (!a->source)
        a->source = isatty(STDOUT_FILENO) ? AUTO_TOP : AUTO_YES;
    a->traditional = strncmp(a->command, "quern ", 6) != 0;
    a->by_file = a->file_rows ? a->file_rows == 1 : a->traditional;
    if (a->by_part && (a->diff || a->inclusive || a->mod_file || a->mod_func))
        die(UTIL_USAGE,
            "--by-part: not with --diff, --inclusive=yes or --mod-*, which have no parts");
    for (size_t i = 0; i < a->include.count; i++) {
        const char *dir = *a->include.item[i] ? a->include.item[i] : ".";

        a->include.item[i] = xasprintf("%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/");
    }
    a->files = xcalloc((size_t)argc + 1, sizeof(*a->files));
    a->user = xcalloc((size_t)argc + 1, sizeof(*a->user));
    for (; *operand; operand++) {
        // The first operand is always a profile; of the others their content decides.
        if (!a->file_count || (!a->user_count && read_is_profile(*operand)))
            a->files[a->file_count++] = *operand;
        else
            a->user[a->user_count++] = *operand;
    }
    if (!a->file_count) {
        const char *file = strcmp(a->command, "callgrind_annotate") == 0 ? default_file() : NULL;

        if (!file)
            die(UTIL_USAGE, "no profile given; see '%s --help'", a->command);
        a->files[a->file_count++] = file;
    }
}
