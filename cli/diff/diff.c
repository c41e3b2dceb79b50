// SPDX-License-Identifier: MIT
//
// quern diff: what costs more and less in the second of two profiles, by function, by call edge, by
// source line; and whether limits were exceeded (--fail-if, status 1). Prints text or, with --to, a
// document for a program or a server. As cg_diff it writes the difference as a Cachegrind profile,
// as that tool does.
#include "cli/diff/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/cli.h"
#include "cli/files/file.h"
#include "cli/files/trust.h"
#include "cli/profiles/event.h"
#include "cli/profiles/objects.h"
#include "cli/profiles/read.h"
#include "cli/profiles/remark.h"
#include "cli/profiles/table.h"
#include "cli/terminal/progress.h"

// ---- The difference as a profile ----

static void write_profile(struct diff *d, const struct quern_rewrite *file,
                          const struct quern_rewrite *func)
{
    struct quern_write_opts wo = { .sz = sizeof(wo) };
    struct quern_error err;
    struct quern_profile *p;

    d->old.p = read_renamed(d->old.p, file, func);
    d->new_.p = read_renamed(d->new_.p, file, func);
    p = read_difference(d->new_.p, d->new_.path, d->old.p, d->old.path, d->traditional);
    if (d->traditional)
        wo.format = QUERN_FORMAT_CACHEGRIND;
    if (quern_profile_write(p, d->out ? d->out : "-", &wo, &err) < 0)
        remark_die(&err);
    trust_wrote(d->out ? d->out : "-");
    quern_profile_free(p);
}

// ---- Text ----

static void totals(struct diff *d)
{
    quern_count *delta = xcalloc(d->events + 1, sizeof(*delta));

    for (size_t i = 0; i < d->events; i++)
        delta[i] = d->new_totals[i] - d->old_totals[i];
    text_print(stdout, TABLE_RULE "Old profile:      %s (%s)\nNew profile:      %s (%s)\n",
               d->old.path, read_command(d->old.p), d->new_.path, read_command(d->new_.p));
    fputs("Events shown:     ", stdout);
    for (size_t i = 0; i < d->shown_count; i++)
        text_print(stdout, "%s%s", i ? " " : "", quern_profile_event_name(d->old.p, d->shown[i]));
    printf("\nThreshold:        %g%% of the old total\n\n", d->threshold);
    table_reset(&d->table);
    table_fit(&d->table, d->old_totals, UINT64_MAX);
    table_fit(&d->table, d->new_totals, UINT64_MAX);
    table_fit(&d->table, delta, UINT64_MAX);
    fputs(TABLE_RULE, stdout);
    table_head(&d->table);
    fputs("\n" TABLE_RULE, stdout);
    table_row(&d->table, d->old_totals, UINT64_MAX);
    fputs(" OLD TOTALS\n", stdout);
    table_row(&d->table, d->new_totals, UINT64_MAX);
    fputs(" NEW TOTALS\n", stdout);
    d->table.colours = TABLE_CHANGES;
    table_row(&d->table, delta, UINT64_MAX);
    fputs(" DIFFERENCE\n\n", stdout);
    free(delta);
}

static void write_document(const struct diff *d)
{
    // ORDER diff_to
    static void (*const write[])(FILE * f, const void *ctx) = { diff_markdown, diff_json,
                                                                diff_junit, diff_sarif };
    const char *out = d->out ? d->out : "-";
    int rc = file_write(out, write[d->to - DIFF_MARKDOWN], d);

    if (rc != 0)
        die(UTIL_USAGE, "%s: cannot be written: %s", d->out ? out : "standard output",
            strerror(-rc));
}

static void all_events(struct diff *d, const char *list, const char *option, size_t **out,
                       size_t *n)
{
    if (list) {
        *n = event_list(d->old.p, option, list, out, NULL);
        // defines the same derived events in the other profile
        size_t *other;
        event_list(d->new_.p, option, list, &other, NULL);
        free(other);
        return;
    }
    if (d->to != DIFF_JSON) {
        *n = event_default(d->old.p, out);
        return;
    }
    // A program gets all of them.
    *out = xcalloc(d->events + 1, sizeof(**out));
    for (*n = 0; *n < d->events; ++*n)
        (*out)[*n] = *n;
}

static int run(int argc, char **argv, bool traditional)
{
    struct diff d;
    struct quern_rewrite *file, *func;
    struct quern_error err;
    int status;

    diff_options_read(&d, argc, argv, traditional);
    file = read_rewrite("--mod-filename", d.mod_file);
    func = read_rewrite("--mod-funcname", d.mod_func);
    d.old.p = read_profile(d.old.path);
    d.new_.p = read_profile(d.new_.path);
    read_need_events(d.old.p, d.old.path);
    read_need_events(d.new_.p, d.new_.path);
    if (traditional) {
        write_profile(&d, file, func);
        return UTIL_OK;
    }
    if (quern_profile_match_events(d.old.p, d.old.path, d.new_.p, d.new_.path, &err) < 0) {
        remark_error(&err);
        return UTIL_USAGE;
    }
    d.events = quern_profile_event_count(d.old.p);
    d.data = objects_are(d.old.p) && objects_are(d.new_.p);
    d.timed = event_cycles(d.old.p, &d.cycles);
    all_events(&d, d.show, "--show", &d.shown, &d.shown_count);
    all_events(&d, d.sort, "--sort", &d.sorted, &d.sorted_count);
    d.old_totals = quern_profile_totals(d.old.p);
    d.new_totals = quern_profile_totals(d.new_.p);
    table_init(&d.table, d.old.p, d.shown, d.shown_count, d.percs, d.old_totals);
    progress_begin("comparing %s", d.new_.path);
    diff_join(&d, file, func);
    progress_end();
    status = diff_limits(&d);
    if (d.to > DIFF_TEXT) {
        write_document(&d);
        return status;
    }
    if (d.out) {
        write_profile(&d, file, func);
        return status;
    }
    totals(&d);
    if (d.by & DIFF_FUNCTION)
        diff_functions(&d);
    if (d.by & DIFF_EDGE)
        diff_edges(&d);
    if (d.by & DIFF_LINE)
        diff_lines(&d);
    if (fflush(stdout) == EOF || ferror(stdout))
        die(UTIL_USAGE, "standard output: %s", strerror(errno));
    return status;
}

int cmd_diff(int argc, char **argv)
{
    return run(argc, argv, false);
}

int cmd_cg_diff(int argc, char **argv)
{
    return run(argc, argv, true);
}
