// SPDX-License-Identifier: MIT
//
// quern control: what runs under quern, and requests to it. Called as callgrind_control, too.
#include "cli/control/control.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"

// Does the word name the program: its process id, or the end of its path?
static bool is_meant(const struct control_run *r, const char *word)
{
    size_t n = strlen(r->program), m = strlen(word);
    uint64_t pid;

    if (util_number(word, INT32_MAX, &pid))
        return (pid_t)pid == r->pid;
    return m <= n && strcmp(r->program + n - m, word) == 0;
}

static bool lies_in(const struct control_run *r, const char *folder)
{
    char *dir = util_dirname(r->spool), *real = realpath(dir, NULL);
    char *wanted = realpath(folder, NULL);
    bool is = real && wanted && strcmp(real, wanted) == 0;

    free(dir);
    free(real);
    free(wanted);
    return is;
}

static bool is_wanted(const struct control *c, const struct control_run *r, char **word)
{
    if (c->folder && !lies_in(r, c->folder))
        return false;
    if (!*word)
        return true;
    for (; *word; word++)
        if (is_meant(r, *word))
            return true;
    return false;
}

static void check_words(const struct control_run *run, size_t n, char **word)
{
    for (; *word; word++) {
        bool known = false;

        for (size_t i = 0; i < n; i++)
            known |= is_meant(&run[i], *word);
        if (!known)
            die(UTIL_USAGE,
                "%s: no such program of yours runs under quern; `quern control` lists them", *word);
    }
}

// The request (enum spool_ask); -1: none.
static int request(const struct control *c)
{
    return c->dump         ? SPOOL_REQUEST_DUMP
           : c->zero       ? SPOOL_REQUEST_ZERO
           : c->kill       ? SPOOL_REQUEST_KILL
           : c->instr == 1 ? SPOOL_REQUEST_COUNT
           : c->instr == 2 ? SPOOL_REQUEST_COUNT_NOT
                           : -1;
}

// Serves one program. False after a message.
static bool control_one(const struct control *c, struct control_run *r)
{
    int what = request(c);
    char *why;

    text_print(stdout, "PID %d: %s\n", r->pid, r->command);
    fflush(stdout);
    if (c->stat || c->back || c->events)
        if (!control_show(c, r))
            return false;
    if (what < 0)
        return true;
    why = control_ask(r, (uint32_t)what, c->hint);
    if (why)
        warn("process %d: %s", r->pid, why);
    else
        puts("  OK.");
    free(why);
    return !why;
}

int cmd_control(int argc, char **argv)
{
    struct control c;
    char **word = control_options_read(&c, argc, argv);
    struct control_run *run;
    int status = UTIL_OK;
    size_t n, asked = 0;

    run = control_find(&n);
    check_words(run, n, word);
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(&c, &run[i], word))
            continue;
        asked++;
        if (!control_one(&c, &run[i]))
            status = UTIL_USAGE;
    }
    if (!asked) {
        puts(c.traditional ? "No active callgrind runs detected." : "No program runs under quern.");
        status = c.traditional ? UTIL_OK : UTIL_NO;
    }
    free(run);
    return fflush(stdout) == 0 && !ferror(stdout) ? status : UTIL_USAGE;
}
