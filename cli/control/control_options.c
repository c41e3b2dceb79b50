// SPDX-License-Identifier: MIT
//
// The options of `quern control`, and of callgrind_control, where a value may be the next word.
#include "cli/control/control.h"

#include <ctype.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"

#define FIELD(f) .field = offsetof(struct control, f)

static void dump(void *field, const struct option *o, const char *value)
{
    struct control *c = field;

    (void)o;
    c->dump = true;
    c->hint = *value ? value : NULL;
}

static void events(void *field, const struct option *o, const char *value)
{
    struct control *c = field;

    (void)o;
    c->events = true;
    c->names = *value ? value : NULL;
}

// clang-format off
static const struct option rows[] = {
    { "-s", NULL, NULL, OPTION_SET, FIELD(stat) },
    { "--stat", NULL, "threads, events, functions and blocks so far", OPTION_SET, FIELD(stat) },
    { "-b", NULL, NULL, OPTION_SET, FIELD(back) },
    { "--back", NULL, "the call stack of each thread, with --calls=yes",
      OPTION_SET, FIELD(back) },
    { "-e", NULL, NULL, OPTION_SET, FIELD(events) },
    { "--events", NULL, "the counts of each thread; with -b, of each call",
      OPTION_SET, FIELD(events) },
    { "--events", "=A,B", "only these events", OPTION_CALL, .call = events },
    { "-d", NULL, NULL, OPTION_SET, FIELD(dump) },
    { "--dump", NULL, "write the counts as a part of the profile, and reset them",
      OPTION_SET, FIELD(dump) },
    { "--dump", "=HINT", "the same, with a description", OPTION_CALL, .call = dump },
    { "-z", NULL, NULL, OPTION_SET, FIELD(zero) },
    { "--zero", NULL, "reset the counts", OPTION_SET, FIELD(zero) },
    { "-i", "=on|off", NULL, OPTION_CHOICE, FIELD(instr) },
    { "--instr", "=on|off", "start or stop counting", OPTION_CHOICE, FIELD(instr) },
    { "-k", NULL, NULL, OPTION_SET, FIELD(kill) },
    { "--kill", NULL, "end it as SIGKILL does; its profile is written", OPTION_SET, FIELD(kill) },
    { "-w", " FOLDER", "only programs whose counters (quern.spool.PID) are in this folder",
      OPTION_TEXT, FIELD(folder) },
    { "--vgdb-prefix", "=PREFIX", NULL, OPTION_LIST, OPTION_HIDDEN, FIELD(unused) },
    { "-v", NULL, NULL, OPTION_SET, OPTION_HIDDEN, FIELD(verbose) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options control_options_table = {
    .usage = "[OPTIONS] [PID|PROGRAM...]",
    .about = "Lists the programs that run under quern, or sends requests to all of them or to "
             "those that\nare named. They continue as if there were no request.",
    .below = "Exit status: 0; 1 when no program runs under quern; 2 when a request was not done.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

// As callgrind_control, joins these options with a next word that begins with a letter: their
// value. In place.
static int join_values(int argc, char **argv)
{
    int n = 1;

    for (int i = 1; i < argc; i++) {
        const char *name = strcmp(argv[i], "-d") == 0 || strcmp(argv[i], "--dump") == 0 ? "--dump"
                           : strcmp(argv[i], "-e") == 0                                 ? "--events"
                           : strcmp(argv[i], "-i") == 0 || strcmp(argv[i], "--instr") == 0
                               ? "--instr"
                               : NULL;
        bool value = i + 1 < argc && (isalpha((unsigned char)*argv[i + 1]) || *argv[i + 1] == '_');

        if (name && value)
            argv[n++] = xasprintf("%s=%s", name, argv[++i]);
        else
            argv[n++] = argv[i];
    }
    argv[n] = NULL;
    return n;
}

char **control_options_read(struct control *c, int argc, char **argv)
{
    const char *command = options_command(argv[0]);

    memset(c, 0, sizeof(*c));
    c->traditional = strcmp(command, "callgrind_control") == 0;
    if (c->traditional)
        argc = join_values(argc, argv);
    argv = options_read(&control_options_table, command, c, argc, argv);
    if (c->dump + c->zero + c->kill + (c->instr != 0) > 1)
        die(UTIL_USAGE, "--dump, --zero, --instr and --kill: one at a time");
    return argv;
}
