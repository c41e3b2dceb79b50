// SPDX-License-Identifier: MIT
//
// The front-end with Valgrind's command line: translates it to one of `quern run`, which then runs.
// Programs that start Valgrind for its profiles can start this instead.
#include "cli/valgrind/valgrind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/run/run.h"

#define VERSION "valgrind-3.24.0"

struct asked {
    const char *tool;
    bool sim;      // an option says whether caches are simulated
    bool geometry; // an option gives a cache
    bool help, version;
    struct valgrind_words options; // for quern run
};

// ---- Reading ----

static const struct option *find(const char *name, size_t len)
{
    for (size_t i = 0; i < valgrind_options_table.rows; i++) {
        const struct option *o = &valgrind_options_table.row[i];

        if (o->name && strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    }
    return NULL;
}

static bool is_choice(const struct option *o, const char *value)
{
    const char *s;
    size_t len;

    for (size_t i = 0; *(s = options_word(o, i, &len)); i++)
        if (strlen(value) == len && memcmp(s, value, len) == 0)
            return true;
    return false;
}

// The reason, which several rows may share.
static const char *reason(const struct option *o)
{
    while (!o->help)
        o++;
    return o->help;
}

static void check(const struct option *o, const char *value)
{
    if (o->argument && !value)
        die(UTIL_USAGE, "%s: needs a value: %s=...", o->name, o->name);
    if (!o->argument && value)
        die(UTIL_USAGE, "%s: takes no value", o->name);
    if (o->kind == OPTION_CHOICE && !is_choice(o, value))
        die(UTIL_USAGE, "%s=%s: must be %s: %s", o->name, value, options_words(o, " or "),
            reason(o));
    if (o->kind == OPTION_CALL)
        o->call(NULL, o, value);
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool any_begins(const char *s, const char *const *with)
{
    for (; *with; with++)
        if (begins(s, *with))
            return true;
    return false;
}

static void hand_on(struct asked *a, const char *word)
{
    static const char *const sim[] = { "--cache-sim=", "--simulate-cache=", NULL };
    static const char *const geometry[] = {
        "--I1=",          "--D1=", "--LL=", "--L2=", "--simulate-wb=yes", "--simulate-hwpref=yes",
        "--cacheuse=yes", NULL
    };

    a->sim |= any_begins(word, sim);
    a->geometry |= any_begins(word, geometry);
    valgrind_words_add(&a->options, word);
}

// "--cachegrind:OPTION" is OPTION where that is the tool, and ignored otherwise: NULL.
static char *of_tool(const struct asked *a, const char *word)
{
    static const char *const tools[] = { "cachegrind", "callgrind", "memcheck", "helgrind",
                                         "drd",        "massif",    "dhat",     "lackey",
                                         "none",       "exp-bbv",   NULL };

    for (const char *const *t = tools; *t; t++) {
        size_t len = strlen(*t);

        if (!begins(word, "--") || strncmp(word + 2, *t, len) != 0 || word[2 + len] != ':')
            continue;
        return strcmp(a->tool, *t) == 0 ? xasprintf("--%s", word + 3 + len) : NULL;
    }
    return xstrdup(word);
}

static void read_option(struct asked *a, const char *given)
{
    char *word = of_tool(a, given);
    const struct option *o;
    size_t len;

    if (!word)
        return;
    len = strcspn(word, "=");
    o = find(word, len);
    if (!o || o->kind == OPTION_OF)
        hand_on(a, word);
    else if (o->kind == OPTION_HELP)
        a->help = true;
    else if (o->kind == OPTION_VERSION)
        a->version = true;
    else
        check(o, word[len] ? word + len + 1 : NULL);
    free(word);
}

// The last --tool= counts; it must be known before the other options are read.
static void read_tool(struct asked *a, const struct valgrind_words *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (begins(w->word[i], "--tool="))
            a->tool = w->word[i] + strlen("--tool=");
}

static _Noreturn void show_help(const char *name)
{
    static char option[] = "--help";
    char *argv[] = { (char *)name, option, NULL };

    options_read(&valgrind_options_table, name, NULL, 2, argv);
    exit(UTIL_USAGE); // not reached: the help has been shown
}

static _Noreturn void show_version(void)
{
    puts(VERSION);
    exit(fflush(stdout) == 0 && !ferror(stdout) ? UTIL_OK : UTIL_USAGE);
}

static void check_tool(const struct asked *a, const char *name)
{
    if (!*a->tool)
        die(UTIL_USAGE,
            "--tool= is missing, and Memcheck, Valgrind's default, is not part of Quern; "
            "use --tool=cachegrind or --tool=callgrind (`%s --help`)",
            name);
    check(find("--tool", strlen("--tool")), a->tool);
}

// The command line of `quern run`, with the tool's defaults first: given options override them.
static struct valgrind_words translate(const struct asked *a, char **program)
{
    struct valgrind_words w = { NULL, 0 };

    valgrind_words_add(&w, "run");
    if (strcmp(a->tool, "callgrind") == 0)
        valgrind_words_add(&w, "--calls=yes");
    valgrind_words_add(&w, a->geometry && !a->sim ? "--cache-sim=yes" : "--cache-sim=no");
    valgrind_words_add(&w, "--rep-count=cachegrind");
    for (size_t i = 0; i < a->options.count; i++)
        valgrind_words_add(&w, a->options.word[i]);
    valgrind_words_add(&w, "--");
    for (; *program; program++)
        valgrind_words_add(&w, *program);
    return w;
}

// Collects the options of the command line; returns the program and its arguments.
static char **read_line(struct valgrind_words *w, char **argv)
{
    for (; *argv && (*argv)[0] == '-' && (*argv)[1]; argv++) {
        if (strcmp(*argv, "--") == 0)
            return argv + 1;
        valgrind_words_add(w, *argv);
    }
    return argv;
}

// Its summary, and its requests to toggle, where the other options allow these.
static void as_callgrind(struct run_options *o, char **program)
{
    o->flags |= SPOOL_F_COLLECTED;
    if ((o->replay < 2 || o->replay > 4) && !o->trace_refs &&
        valgrind_requests_toggle(run_program_find(program).path))
        o->flags |= SPOOL_F_CONTEXTS;
}

int cmd_valgrind(int argc, char **argv)
{
    const char *name = util_basename(argv[0]);
    struct asked a = { .tool = "" };
    struct valgrind_words w = { NULL, 0 }, line = { NULL, 0 }, run;
    struct run_options o;
    char **program, **given;
    bool alone = false;

    (void)argc;
    if (name == argv[0] && strcmp(name, "valgrind") == 0)
        name = "quern valgrind";
    program = read_line(&line, argv + 1);
    for (size_t i = 0; i < line.count; i++)
        alone |= strcmp(line.word[i], "--command-line-only=yes") == 0;
    if (!alone)
        valgrind_rc_read(&w);
    for (size_t i = 0; i < line.count; i++)
        valgrind_words_add(&w, line.word[i]);
    read_tool(&a, &w);
    for (size_t i = 0; i < w.count; i++)
        read_option(&a, w.word[i]);
    if (a.help)
        show_help(name);
    if (a.version)
        show_version();
    check_tool(&a, name);
    if (!*program)
        die(UTIL_USAGE, "no program given; usage: %s %s", name, valgrind_options_table.usage);
    run = translate(&a, program);
    given = run_options_read(&o, (int)run.count, run.word);
    o.parent = true;
    if (strcmp(a.tool, "callgrind") == 0)
        as_callgrind(&o, given);
    run_start(&o, given);
}
