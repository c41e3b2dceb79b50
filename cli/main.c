// SPDX-License-Identifier: MIT
//
// The program `quern-whole`, quern with all its commands (front/front.c executes it): finds the
// command by its name, or by the traditional name in argv[0], and calls it. Knows no option of any
// command.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/nearest.h"
#include "cli/base/util.h"
#include "cli/base/version.h"
#include "cli/cli.h"
#include "cli/complete.h"

// clang-format off
static const struct command commands[] = {
    { "run", cmd_run, "[OPTIONS] [--] PROGRAM [ARGS...]", "profile a program",
      &run_options_table },
    { "stat", cmd_stat, "[OPTIONS] [--] PROGRAM [ARGS...]", "print totals, and whether they repeat",
      &stat_options_table },
    { "recover", cmd_recover, "[FILE...]", "finish the profile of a killed program",
      &recover_options_table },
    { "annotate", cmd_annotate, "PROFILE... [SOURCE...]", "list functions and annotated source",
      &annotate_options_table },
    { "merge", cmd_merge, "-o OUT PROFILE...", "sum profiles", &merge_options_table },
    { "diff", cmd_diff, "OLD NEW", "compare two profiles", &diff_options_table },
    { "convert", cmd_convert, "--to=FORMAT PROFILE", "write another format",
      &convert_options_table },
    { "check", cmd_check, "PROFILE...", "say what is wrong in a profile", &check_options_table },
    { "doctor", cmd_doctor, "", "check this machine, and say what to install",
      &doctor_options_table },
    { "report", cmd_report, "PROFILE...", "write an HTML file for any browser",
      &report_options_table },
    { "top", cmd_top, "PROFILE...", "browse a profile in the terminal",
      &top_options_table },
    { "trace", cmd_trace, "FILE", "list or simulate recorded memory references",
      &trace_options_table },
    { "control", cmd_control, "[PID|PROGRAM...]", "list running programs, and send them requests",
      &control_options_table },
    { "valgrind", cmd_valgrind, "--tool=TOOL PROGRAM [ARGS...]", "accept Valgrind's command line",
      &valgrind_options_table },
    // The traditional names: separate programs.
    { "cg_annotate", cmd_cg_annotate, NULL, NULL, &annotate_options_table },
    { "callgrind_annotate", cmd_callgrind_annotate, NULL, NULL, &annotate_options_table },
    { "callgrind_control", cmd_control, NULL, NULL, &control_options_table },
    { "cg_merge", cmd_cg_merge, NULL, NULL, &merge_options_table },
    { "cg_diff", cmd_cg_diff, NULL, NULL, &diff_options_traditional },
    { "quern-valgrind", cmd_valgrind, NULL, NULL, &valgrind_options_table },
};
// clang-format on
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static void usage(FILE *f)
{
    fputs("usage: quern COMMAND [ARGUMENTS...]\n\n", f);
    for (size_t i = 0; i < COMMANDS; i++) {
        char left[64];

        if (!commands[i].summary)
            continue;
        snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
        fprintf(f, "    quern %-38s %s\n", left, commands[i].summary);
    }
    fputs("\n`quern COMMAND --help` lists the options; `quern --version` prints the version.\n", f);
}

// Where to begin, for who types `quern` alone.
static void usage_brief(FILE *f)
{
    fputs("usage: quern COMMAND [ARGUMENTS...]\n\n"
          "    quern run ./PROGRAM ARGS    profile a program; the last lines name the file\n"
          "    quern annotate FILE         its functions and source lines, most expensive first\n"
          "    quern report --open FILE    the same in a browser\n\n"
          "`quern help` lists all commands, `quern COMMAND --help` the options of one.\n",
          f);
}

static const struct command *find(const char *name, bool traditional)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0 && !commands[i].summary == traditional)
            return &commands[i];
    return NULL;
}

static const struct command *find_or_die(const char *name)
{
    const struct command *c = find(name, false);
    struct nearest n = nearest_begin(name, strlen(name));

    if (c)
        return c;
    for (size_t i = 0; i < COMMANDS; i++)
        if (commands[i].summary)
            nearest_offer(&n, commands[i].name);
    nearest_offer(&n, "help");
    if (!n.best && strchr(name, '/') && access(name, X_OK) == 0)
        die(UTIL_USAGE, "%s: a program, not a command; `quern run %s` profiles it", name, name);
    if (n.best)
        die(UTIL_USAGE, "%s: unknown command; is %s meant? `quern help` lists them", name, n.best);
    die(UTIL_USAGE, "%s: unknown command; `quern help` lists them", name);
}

static int done(FILE *f)
{
    return fflush(f) == 0 && !ferror(f) ? UTIL_OK : UTIL_USAGE;
}

// Shows the man page of a command. False where there is none, or no program that shows it.
static bool show_manual(const char *name)
{
    char *page = xasprintf("quern-%s", name);
    pid_t child = fork();
    int status;

    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(null, STDERR_FILENO);
        execlp("man", "man", page, (char *)NULL);
        _exit(UTIL_NOTFOUND);
    }
    free(page);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// `quern help COMMAND`: a person at a terminal gets the manual, a script always the same text.
static int help(const struct command *c)
{
    static char option[] = "--help";
    char *argv[] = { (char *)c->name, option, NULL };

    if (isatty(STDOUT_FILENO) && show_manual(c->name))
        return UTIL_OK;
    return c->run(2, argv);
}

// Called by the build.
static int complete(const char *shell)
{
    if (!complete_print(stdout, shell, commands, COMMANDS))
        die(UTIL_USAGE, "--completion: %s: must be bash, zsh or fish", shell);
    return done(stdout);
}

static int man_options(const char *name)
{
    options_man(find_or_die(name)->options, stdout);
    return done(stdout);
}

// The command by whose name the program was started: a traditional name, or `valgrind`, which is
// not in their list: those get completion from quern, but `valgrind` is mostly Valgrind's own.
static const struct command *find_own(const char *name)
{
    return find(name, strcmp(name, "valgrind") != 0);
}

int main(int argc, char **argv)
{
    const struct command *c = find_own(argc > 0 ? util_basename(argv[0]) : "quern");
    const char *word = argc > 1 ? argv[1] : "";

    util_wait_children();
    if (c)
        return c->run(argc, argv);
    if (argc < 2) {
        usage_brief(stderr);
        return UTIL_USAGE;
    }
    if (strcmp(word, "--finish") == 0)
        return cmd_finish(argc - 1, argv + 1);
    if (strcmp(word, "--progress") == 0)
        return cmd_progress(argc - 1, argv + 1);
    if (strcmp(word, "--demangle") == 0)
        return cmd_demangle(argc - 1, argv + 1);
    if (strcmp(word, "--completion") == 0 && argc == 3)
        return complete(argv[2]);
    if (strcmp(word, "--man-options") == 0 && argc == 3)
        return man_options(argv[2]);
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        puts("quern " QUERN_VERSION);
        return done(stdout);
    }
    if (strcmp(word, "help") == 0 && argc > 2)
        return help(find_or_die(argv[2]));
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        usage(stdout);
        return done(stdout);
    }
    return find_or_die(word)->run(argc - 1, argv + 1);
}
