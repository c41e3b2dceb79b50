// SPDX-License-Identifier: MIT
//
// The program `quern`: finds the command by its name, or by the traditional name in argv[0], and
// calls it. Knows no option of any command.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/shared/util.h"
#include "cli/shared/version.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; // NULL: not listed
};

static const struct command commands[] = {
    { "run", cmd_run, "[OPTIONS] [--] PROGRAM [ARGS...]   profile a program" },
    { "recover", cmd_recover,
      "[FILE...]                      finish the profile of a killed program" },
    { "--finish", cmd_finish, NULL },
    { "annotate", cmd_annotate, "PROFILE... [SOURCE...]        function table, annotated source" },
    { "merge", cmd_merge, "-o OUT PROFILE...                sum profiles" },
    { "diff", cmd_diff, "OLD NEW                           new minus old" },
    { "convert", cmd_convert, "--to=FORMAT PROFILE            another format" },
    { "check", cmd_check, "PROFILE...                       say what is wrong in a profile" },
};

static const struct command traditional[] = {
    { "cg_annotate", cmd_cg_annotate, NULL },
    { "callgrind_annotate", cmd_callgrind_annotate, NULL },
    { "cg_merge", cmd_cg_merge, NULL },
    { "cg_diff", cmd_cg_diff, NULL },
    { NULL, NULL, NULL },
};

static void usage(FILE *f)
{
    fputs("usage: quern COMMAND [ARGUMENTS...]\n\n", f);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (commands[i].help)
            fprintf(f, "    quern %s %s\n", commands[i].name, commands[i].help);
    fputs("\n`quern COMMAND --help` says more; `quern --version` says which version this is.\n", f);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int done(FILE *f)
{
    return fflush(f) == 0 ? UTIL_OK : UTIL_USAGE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? util_basename(argv[0]) : "quern";
    const struct command *c;

    for (c = traditional; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c->run(argc, argv);
    if (argc < 2) {
        usage(stderr);
        return UTIL_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("quern " QUERN_VERSION);
        return done(stdout);
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) {
        static char option[] = "--help";

        c = find(argv[2]);
        if (c && c->help) {
            argv[1] = argv[2];
            argv[2] = option;
            return c->run(2, argv + 1);
        }
        die(UTIL_USAGE, "%s: unknown command; `quern help` lists them", argv[2]);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return done(stdout);
    }
    c = find(argv[1]);
    if (!c)
        die(UTIL_USAGE, "%s: unknown command; `quern help` lists them", argv[1]);
    return c->run(argc - 1, argv + 1);
}
