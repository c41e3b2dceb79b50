// SPDX-License-Identifier: MIT
//
// quern check: says what is wrong in a profile, by file:line:column with the line and a caret. What
// every reader accepts is a note, what only a lenient one accepts is a warning, what none accepts
// is an error. Status 1 when there is an error (with --strict: a warning, too).
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/heap.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/options/options.h"
#include "cli/profiles/remark.h"

struct check {
    bool strict, all, notes, quiet;
    uint64_t errors, warnings, others;
    struct {
        const char *kind;
        uint64_t shown;
    } seen[128];
    size_t seen_count;
};

static void remark(void *ctx, const struct quern_diag *d)
{
    static const char *const words[] = { "note", "warning", "error" };
    struct check *c = ctx;
    size_t i;

    if (d->severity == QUERN_ERROR)
        c->errors++;
    else if (d->severity == QUERN_WARNING)
        c->warnings++;
    else
        c->others++;
    if (c->quiet || (d->severity == QUERN_NOTE && !c->notes))
        return;
    for (i = 0; i < c->seen_count && strcmp(c->seen[i].kind, d->kind); i++)
        ;
    if (i == c->seen_count && i < sizeof(c->seen) / sizeof(*c->seen)) {
        c->seen[i].kind = d->kind;
        c->seen[i].shown = 0;
        c->seen_count++;
    }
    if (!c->all && c->seen[i].shown++ >= 10)
        return;
    text_print(stdout, "%s:", d->file);
    if (d->line)
        printf("%llu:", (unsigned long long)d->line);
    if (d->line && d->col)
        printf("%u:", d->col);
    text_print(stdout, " %s: %s [%s]\n", words[d->severity], d->msg, d->kind);
    if (d->line)
        remark_caret(stdout, d->text, d->col);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#define FIELD(f) .field = offsetof(struct check, f)

// clang-format off
static const struct option rows[] = {
    { "--strict", NULL, "treat warnings as errors", OPTION_SET, FIELD(strict) },
    { "--all", NULL, "print every occurrence, not ten of each kind", OPTION_SET, FIELD(all) },
    { "--notes", NULL, "also print notes", OPTION_SET, FIELD(notes) },
    { "-q", NULL, NULL, OPTION_SET, FIELD(quiet) },
    { "--quiet", NULL, "print nothing: status 0 no fault, 1 a fault, 2 not readable",
      OPTION_SET, FIELD(quiet) },
    OPTIONS_HELP,
    OPTIONS_VERSION,
};
// clang-format on

const struct options check_options_table = {
    .usage = "[options] PROFILE...",
    .about = "Say what is wrong in profiles, line by line.",
    .row = rows,
    .rows = sizeof(rows) / sizeof(*rows),
};

int cmd_check(int argc, char **argv)
{
    struct check c = { 0 };
    const char *name = options_command(argv[0]);
    char **paths = options_read(&check_options_table, name, &c, argc, argv);
    int status = UTIL_OK;

    if (!*paths)
        die(UTIL_USAGE, "no profile given; see '%s --help'", name);
    for (; *paths; paths++) {
        struct quern_read_opts opts = {
            .sz = sizeof(opts), .every_diag = 1, .diag = remark, .diag_ctx = &c
        };
        struct quern_error err;
        struct quern_profile *p;
        c.errors = c.warnings = c.others = c.seen_count = 0;
        heap_prepare_for(*paths);
        p = quern_profile_read(*paths, &opts, &err);
        if (!p) {
            remark_error(&err);
            status = UTIL_USAGE;
            continue;
        }
        if (!c.quiet)
            text_print(
                stdout,
                "%s: %s, %zu part%s, %zu event%s, %zu function%s: %llu error%s, %llu warning%s, "
                "%llu note%s\n",
                *paths,
                quern_profile_format(p) == QUERN_FORMAT_CALLGRIND ? "Callgrind" : "Cachegrind",
                quern_profile_part_count(p), plural(quern_profile_part_count(p)),
                quern_profile_event_count(p), plural(quern_profile_event_count(p)),
                quern_profile_func_count(p), plural(quern_profile_func_count(p)),
                (unsigned long long)c.errors, plural(c.errors), (unsigned long long)c.warnings,
                plural(c.warnings), (unsigned long long)c.others, plural(c.others));
        if ((c.errors || (c.strict && c.warnings)) && status == UTIL_OK)
            status = UTIL_NO;
        quern_profile_free(p);
    }
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    return status;
}
