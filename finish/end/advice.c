// SPDX-License-Identifier: MIT
//
// The lines below the summary: what the profile does not show, and why; on a terminal also where it
// is and what to do next. Called by finish.c, without -q and --summary=json.
#include "finish/end/end.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/text.h"
#include "cli/base/util.h"

// The path as the user can type it where the run was started; to be freed.
static char *typed(const struct spool_file *s, const char *path)
{
    const char *cwd = spool_file_text(s, s->h->s_cwd);
    size_t n = cwd ? strlen(cwd) : 0;
    char *word;

    if (n > 1 && strncmp(path, cwd, n) == 0 && path[n] == '/' && path[n + 1])
        path += n + 1;
    word = xmalloc(UTIL_SHELL_SPACE(strlen(path)));
    util_shell_word(word, path);
    return word;
}

// The file that tools read: with --separate-threads=yes the first thread's. To be freed.
static char *first_file(const struct spool_file *s, const char *output)
{
    return s->h->flags & SPOOL_F_BY_THREAD ? output_names_thread(output, 0) : xstrdup(output);
}

static bool is_one_of_a_tree(const struct spool_file *s)
{
    return s->h->flags & (SPOOL_F_FORKED | SPOOL_F_EXECED);
}

bool advice_will_replace(const struct spool_file *s, const char *output)
{
    const char *name = spool_file_text(s, s->h->s_output);
    char *file;
    struct stat st;
    bool written;

    if (!name || strstr(name, "%p") || s->h->flags & (SPOOL_F_MERGE | SPOOL_F_COMBINE))
        return false;
    file = first_file(s, output);
    written =
        stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec >= s->h->start_time;
    free(file);
    // Each process of the run replaces the profile of the one before: the last one says so, which
    // is mostly the first, or a process that has lost its parent.
    return written && (!is_one_of_a_tree(s) ||
                       (s->h->parent_pid > 0 && kill(s->h->parent_pid, 0) != 0 && errno == ESRCH));
}

static void say_replaced(FILE *f, const struct spool_file *s, const char *output)
{
    char *file = first_file(s, output), *word = typed(s, file), *all = typed(s, output);

    text_print(f,
               "==%d== %s held the profile of another process of this run, which this one has "
               "replaced; -o %s.%%p keeps all, --children=merge sums them\n",
               s->h->pid, word, all);
    free(all);
    free(word);
    free(file);
}

// How a program that generates code is made to name it, by how its file's name begins.
static const char *remedy(const struct spool_file *s)
{
    static const struct {
        const char *program, *remedy;
    } known[] = {
        { "node", "`node --perf-basic-prof` names it" },
        { "python", "`python3 -X perf` names it (3.12 and later)" },
        { "java", "`java -XX:+DumpPerfMapAtExit` names it (17 and later)" },
        { "dotnet", "DOTNET_PerfMapEnabled=1 in the environment names it" },
    };
    const char *program = spool_file_text(s, s->h->s_program);

    program = program ? util_basename(program) : "";
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strncmp(program, known[i].program, strlen(known[i].program)) == 0)
            return known[i].remedy;
    return "names are read from /tmp/perf-PID.map and jitdump files, which many compilers write on "
           "request";
}

static void say_unnamed(FILE *f, const struct spool_file *s, const struct finish_totals *totals)
{
    enum { PERMILLE_MIN = 10 }; // less is mostly trampolines
    uint64_t all = totals->counts[FINISH_IR];
    double share = all ? (double)totals->unnamed / (double)all : 0;

    if (totals->unnamed && share * 1000 >= PERMILLE_MIN)
        text_print(f,
                   "==%d== %.1f%% of the instructions are generated code without names, shown as "
                   "???; %s\n",
                   s->h->pid, share * 100, remedy(s));
}

static void say_guessed(FILE *f, const struct spool_file *s)
{
    const double least = 0.01;

    if (s->guessed >= least)
        text_print(f,
                   "==%d== %.1f%% of the cycles are of code of which no sample was timed: averages "
                   "of the code around it\n",
                   s->h->pid, s->guessed * 100);
}

static void say_native(FILE *f, const struct spool_file *s)
{
    const char *first = spool_file_text(s, s->h->s_native);
    unsigned long long n = s->h->n_native;
    bool one = n == 1;

    if (!n)
        return;
    text_print(f, "==%d== %llu program%s that it executed ran unprofiled", s->h->pid, n,
               one ? "" : "s");
    if (first && *first)
        text_print(f, "%s%s", one ? ": " : ", the first ", first);
    text_print(f, "; --trace-children=yes profiles %s, too\n", one ? "it" : "them");
}

static void say_next(FILE *f, const struct spool_file *s, const char *output)
{
    char *file = first_file(s, output), *word = typed(s, file);
    struct stat st;

    if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
        text_print(f, "==%d== Profile: %s\n", s->h->pid, word);
        if (!(s->h->flags & SPOOL_F_FORKED))
            text_print(f,
                       "==%d==   quern annotate %s        functions and source lines\n"
                       "==%d==   quern report --open %s   the same in a browser\n",
                       s->h->pid, word, s->h->pid, word);
    }
    free(word);
    free(file);
}

void advice_print(FILE *f, const struct spool_file *s, const char *output,
                  const struct finish_totals *totals, bool replaced)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);

    if (!lines)
        return;
    say_native(lines, s);
    say_unnamed(lines, s, totals);
    say_guessed(lines, s);
    if (replaced)
        say_replaced(lines, s, output);
    if (isatty(STDERR_FILENO))
        say_next(lines, s, output);
    fclose(lines);
    if (size) {
        fprintf(f, "==%d== \n", s->h->pid);
        fwrite(text, 1, size, f);
    }
    free(text);
}
