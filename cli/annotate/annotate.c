// SPDX-License-Identifier: MIT
//
// quern annotate: what a profile says, as text: totals, functions, source lines. Also called as
// cg_annotate and callgrind_annotate. The layout is that of those tools (see docs/man); it follows
// the kind of the profile, not the name of the command.
#include "cli/annotate/annotate.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/shared/events.h"
#include "cli/shared/options.h"
#include "cli/shared/read.h"
#include "cli/shared/table.h"
#include "cli/shared/util.h"

static void usage(const char *command)
{
    printf(
        "usage: %s [options] PROFILE... [SOURCE...]\n"
        "\n"
        "Show which functions and lines of a program cost what. Several profiles are summed; each SOURCE\n"
        "is listed whether or not much happens in it.\n"
        "\n"
        "  --show=A,B,C           events to show, in this order [all]\n"
        "  --sort=A,B,C           events to sort by [as in the profile]; A:N shows what has N %% of A\n"
        "  --threshold=N          Cachegrind: show functions with N %% of the first sort event [0.1];\n"
        "                         Callgrind: show functions until N %% of it is shown [99]\n"
        "  --show-percs=yes|no    shares of the totals behind the counts [yes]\n"
        "  --auto=yes|no          list the sources of the functions shown [yes]\n"
        "  --context=N            lines shown around lines with counts [8]\n"
        "  -I DIR, --include=DIR  look for sources below DIR; may be repeated\n"
        "  --inclusive=yes|no     count what a function calls as its own [no]\n"
        "  --tree=none|caller|calling|both\n"
        "                         the callers and callees of each function [none]\n"
        "  --asm=yes|no           list the instructions of the functions shown (profiles with\n"
        "                         addresses, --dump-instr=yes) [no]\n"
        "  --mod-filename=EXPR, --mod-funcname=EXPR\n"
        "                         rewrite names first, for example s/build-[0-9]*/build/\n"
        "  --diff                 exactly two profiles: the second minus the first\n"
        "  --show-percs, --no-show-percs, --annotate, --no-annotate  other spellings\n"
        "  -h, --help             this text\n"
        "  --version              the version\n",
        command);
}

// ---- Options ----

static int parse_tree(const char *v)
{
    if (strcmp(v, "none") == 0)
        return TREE_NONE;
    if (strcmp(v, "caller") == 0)
        return TREE_CALLER;
    if (strcmp(v, "calling") == 0)
        return TREE_CALLING;
    if (strcmp(v, "both") == 0)
        return TREE_BOTH;
    die(UTIL_USAGE, "--tree=%s: must be none, caller, calling or both", v);
}

static void add_include(struct annotate *a, const char *dir)
{
    a->include[a->include_count++] = xasprintf("%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/");
}

static int parse_option(struct annotate *a, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *v;

    if ((v = options_value(arg, "--show")))
        a->show = v;
    else if ((v = options_value(arg, "--sort")))
        a->sort = v;
    else if ((v = options_value(arg, "--threshold")))
        a->threshold = options_percent("--threshold", v, 100);
    else if ((v = options_value(arg, "--show-percs")))
        a->percs = options_yes("--show-percs", v);
    else if (strcmp(arg, "--show-percs") == 0 || strcmp(arg, "--no-show-percs") == 0)
        a->percs = arg[2] == 's';
    else if ((v = options_value(arg, "--auto")))
        a->source = options_yes("--auto", v);
    else if (strcmp(arg, "--annotate") == 0 || strcmp(arg, "--no-annotate") == 0)
        a->source = arg[2] == 'a';
    else if ((v = options_value(arg, "--context")))
        a->context = options_number("--context", v);
    else if ((v = options_value(arg, "--inclusive")))
        a->inclusive = options_yes("--inclusive", v);
    else if ((v = options_value(arg, "--asm")))
        a->asm_ = options_yes("--asm", v);
    else if (strcmp(arg, "--asm") == 0)
        a->asm_ = 1;
    else if ((v = options_value(arg, "--mod-filename")))
        a->mod_file = v;
    else if ((v = options_value(arg, "--mod-funcname")))
        a->mod_func = v;
    else if (strcmp(arg, "--diff") == 0)
        a->diff = 1;
    else if ((v = options_value(arg, "--tree")))
        a->tree = (enum annotate_tree)parse_tree(v);
    else if ((v = options_value(arg, "--include")) || (v = options_value(arg, "-I")))
        add_include(a, *v ? v : ".");
    else if (strcmp(arg, "--include") == 0 || strcmp(arg, "-I") == 0)
        add_include(a, options_next(argc, argv, i, arg));
    else if (strncmp(arg, "-I", 2) == 0)
        add_include(a, arg + 2);
    else
        return 0;
    return 1;
}

// What callgrind_annotate does without a file: the first of this folder, by name.
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

static void parse(struct annotate *a, int argc, char **argv)
{
    int plain = 0;

    a->include = xcalloc((size_t)argc + 1, sizeof(*a->include));
    a->files = xcalloc((size_t)argc + 1, sizeof(*a->files));
    a->user = xcalloc((size_t)argc + 1, sizeof(*a->user));
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (plain || arg[0] != '-' || !arg[1]) {
            // The first is a profile whatever it looks like; later ones show what they are.
            if (!a->file_count || (!a->user_count && read_is_profile(arg)))
                a->files[a->file_count++] = arg;
            else
                a->user[a->user_count++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            plain = 1;
        } else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            usage(a->command);
            exit(UTIL_OK);
        } else if (strcmp(arg, "--version") == 0) {
            printf("quern %s\n", QUERN_VERSION);
            exit(UTIL_OK);
        } else if (!parse_option(a, argc, argv, &i)) {
            options_unknown(a->command, arg);
        }
    }
    if (!a->file_count) {
        const char *file = strcmp(a->command, "callgrind_annotate") ? NULL : default_file();
        if (!file)
            die(UTIL_USAGE, "no profile named; '%s --help' shows how it is called", a->command);
        a->files[a->file_count++] = file;
    }
}

// ---- Preparation ----

static void read_profiles(struct annotate *a)
{
    struct quern_rewrite *file, *func;
    struct stat st;
    unsigned has;

    for (size_t i = 0; i < a->file_count; i++) {
        if (strcmp(a->files[i], "-") == 0 || stat(a->files[i], &st) < 0)
            continue;
        if (!a->mtime.tv_sec || st.st_mtim.tv_sec < a->mtime.tv_sec ||
            (st.st_mtim.tv_sec == a->mtime.tv_sec && st.st_mtim.tv_nsec < a->mtime.tv_nsec))
            a->mtime = st.st_mtim;
    }
    file = read_rewrite("--mod-filename", a->mod_file);
    func = read_rewrite("--mod-funcname", a->mod_func);
    if (a->diff) {
        struct quern_profile *old, *new_;
        if (a->file_count != 2)
            die(UTIL_USAGE, "--diff: exactly two profiles are compared, not %zu", a->file_count);
        old = read_renamed(read_profile(a->files[0]), file, func);
        new_ = read_renamed(read_profile(a->files[1]), file, func);
        a->p = read_difference(new_, a->files[1], old, a->files[0], 0);
        quern_profile_free(old);
        quern_profile_free(new_);
    } else {
        a->p = read_renamed(read_sum(a->files, a->file_count), file, func);
    }
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    a->events = quern_profile_event_count(a->p);
    if (!a->events)
        die(UTIL_NO, "%s: the profile is empty: it has no events", a->files[0]);
    has = quern_profile_has(a->p);
    a->callgrind = quern_profile_format(a->p) == QUERN_FORMAT_CALLGRIND;
    if (!(has & QUERN_HAS_CALL) && (a->inclusive || a->tree))
        warn("%s: the profile has no calls, so --inclusive and --tree show nothing more",
             a->files[0]);
    if (a->asm_ && !(has & QUERN_HAS_ADDR))
        die(UTIL_USAGE, "%s: --asm needs a profile with addresses (--dump-instr=yes)", a->files[0]);
    if (has & QUERN_HAS_CALL && (a->inclusive || a->tree) && !(a->costs = quern_costs_new(a->p)))
        die(UTIL_USAGE, "%s: out of memory", a->files[0]);
}

static void choose_events(struct annotate *a)
{
    int given = 0;

    if (a->show) {
        a->shown_count = events_list(a->p, "--show", a->show, &a->shown, NULL);
    } else {
        a->shown = xcalloc(a->events, sizeof(*a->shown));
        for (size_t i = 0; i < a->events; i++)
            a->shown[i] = i;
        a->shown_count = a->events;
    }
    if (a->sort) {
        a->sorted_count = events_list(a->p, "--sort", a->sort, &a->sorted, &a->thresholds);
    } else {
        a->sorted = xcalloc(a->events, sizeof(*a->sorted));
        a->thresholds = xcalloc(a->events, sizeof(*a->thresholds));
        for (size_t i = 0; i < a->events; i++) {
            a->sorted[i] = i;
            a->thresholds[i] = -1;
        }
        a->sorted_count = a->events;
    }
    for (size_t i = 0; i < a->sorted_count; i++)
        given |= a->thresholds[i] >= 0;
    if (!given && !a->callgrind && a->threshold > 20)
        die(UTIL_USAGE, "--threshold=%g: must be a percentage from 0 to 20", a->threshold);
    // Without one of its own an event does not decide: 100 % of it for Cachegrind, where a
    // function needs to reach one threshold; 0 % for Callgrind, where all must be reached.
    for (size_t i = 0; i < a->sorted_count; i++) {
        if (given)
            a->thresholds[i] = a->thresholds[i] >= 0 ? a->thresholds[i] : 0;
        else if (i == 0)
            a->thresholds[i] = a->threshold >= 0 ? a->threshold : a->callgrind ? 99 : 0.1;
        else
            a->thresholds[i] = a->callgrind ? 0 : 100;
    }
    a->totals = quern_profile_totals(a->p);
    table_init(&a->table, a->p, a->shown, a->shown_count, a->percs, a->totals);
}

// ---- Preamble ----

static void put_events(const struct annotate *a, const char *label, const size_t *events, size_t n)
{
    fputs(label, stdout);
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? " " : "", quern_profile_event_name(a->p, events ? events[i] : i));
    putchar('\n');
}

static void put_list(const char *label, const char *const *list, size_t n)
{
    fputs(label, stdout);
    for (size_t i = 0; i < n; i++)
        printf("%s%s\n", i ? "                  " : "", list[i]);
    if (!n)
        putchar('\n');
}

static void preamble(const struct annotate *a)
{
    struct quern_part part;

    quern_profile_part(a->p, 0, &part);
    fputs(table_rule, stdout);
    if (a->callgrind) {
        for (size_t i = 0; i < a->file_count; i++)
            printf("Profile data file '%s'%s%s%s\n", a->files[i], part.creator ? " (creator: " : "",
                   part.creator ? part.creator : "", part.creator ? ")" : "");
        fputs(table_rule, stdout);
    }
    for (size_t i = 0; i < part.desc_count; i++)
        printf("%s\n", part.desc[i]);
    if (a->callgrind) {
        printf("Profiled target:  %s", part.cmd ? part.cmd : "");
        if (part.has_pid) {
            printf(" (PID %llu", (unsigned long long)part.pid);
            if (part.has_part)
                printf(", part %llu", (unsigned long long)part.part);
            if (part.has_thread)
                printf(", thread %llu", (unsigned long long)part.thread);
            putchar(')');
        }
        putchar('\n');
        if (quern_profile_part_count(a->p) > 1)
            printf("Parts summed:     %zu\n", quern_profile_part_count(a->p));
    } else {
        printf("Command:          %s\n", part.cmd ? part.cmd : "");
        put_list("Data file:        ", a->files, a->file_count);
    }
    put_events(a, "Events recorded:  ", NULL, a->events);
    put_events(a, "Events shown:     ", a->shown, a->shown_count);
    put_events(a, "Event sort order: ", a->sorted, a->sorted_count);
    fputs("Thresholds:       ", stdout);
    for (size_t i = 0; i < a->sorted_count; i++)
        printf("%s%g", i ? " " : "", a->thresholds[i]);
    putchar('\n');
    put_list("Include dirs:     ", a->include, a->include_count);
    put_list("User annotated:   ", a->user, a->user_count);
    printf("Auto-annotation:  %s\n\n", a->source ? "on" : "off");
}

static void program_totals(struct annotate *a)
{
    table_reset(&a->table);
    table_fit(&a->table, a->totals, UINT64_MAX);
    fputs(table_rule, stdout);
    table_head(&a->table);
    putchar('\n');
    fputs(table_rule, stdout);
    table_row(&a->table, a->totals, UINT64_MAX);
    fputs(" PROGRAM TOTALS\n\n", stdout);
}

// ---- The command ----

int cmd_annotate(int argc, char **argv)
{
    struct annotate a = {
        .command = options_name(argv[0]), .percs = 1, .source = 1, .context = 8, .threshold = -1
    };
    size_t n, missing;

    parse(&a, argc, argv);
    read_profiles(&a);
    choose_events(&a);
    a.cwd = util_cwd();
    if (a.cwd) {
        n = strlen(a.cwd);
        a.cwd = xrealloc(a.cwd, n + 2);
        if (n && a.cwd[n - 1] != '/')
            strcpy(a.cwd + n, "/");
        a.cwd_len = strlen(a.cwd);
    }
    annotate_rows(&a);
    annotate_choose(&a);
    preamble(&a);
    program_totals(&a);
    annotate_functions(&a);
    if (a.asm_)
        annotate_instructions(&a);
    missing = annotate_sources(&a);
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    table_free(&a.table);
    quern_costs_free(a.costs);
    quern_profile_free(a.p);
    return missing ? UTIL_USAGE : UTIL_OK;
}

int cmd_cg_annotate(int argc, char **argv)
{
    return cmd_annotate(argc, argv);
}

int cmd_callgrind_annotate(int argc, char **argv)
{
    return cmd_annotate(argc, argv);
}
