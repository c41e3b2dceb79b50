// SPDX-License-Identifier: MIT
//
// quern diff: what became dearer and cheaper between two profiles, by function, by call edge, by
// source line; and whether limits were passed (--fail-if, status 1). As cg_diff it writes the
// difference as a Cachegrind profile, as that tool does.
#include "cli/diff/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/shared/event.h"
#include "cli/shared/read.h"
#include "cli/shared/remark.h"
#include "cli/shared/table.h"
#include "cli/shared/util.h"

// ---- Limits ----

// The text with its function, event, comparison and number.
struct parsed_limit {
    char *func, *event;
    char op[3];
    int relative, percent;
    long double value;
};

static void bad_limit(const char *text)
{
    die(UTIL_USAGE,
        "--fail-if=%s: must be [FUNCTION:]EVENT, one of > >= < <=, and a number, +number or "
        "+number%%",
        text);
}

static void parse_limit(const char *text, struct parsed_limit *l)
{
    const char *op, *num;
    char *end, *colon;

    memset(l, 0, sizeof(*l));
    // The comparison is the last one: function names contain < and > ("operator<", templates).
    for (op = text + strlen(text); op > text && *op != '<' && *op != '>'; op--)
        ;
    if (op == text)
        bad_limit(text);
    l->op[0] = *op;
    num = op + 1;
    if (*num == '=')
        l->op[1] = *num++;
    l->event = xstrdup(text);
    l->event[op - text] = 0;
    if ((colon = strrchr(l->event, ':'))) {
        l->func = l->event;
        *colon = 0;
        l->event = colon + 1;
    }
    l->relative = *num == '+' || *num == '-';
    l->value = strtold(num, &end);
    if (end == num || !(l->value == l->value))
        bad_limit(text);
    if (*end == '%') {
        l->percent = 1;
        end++;
        if (!l->relative)
            bad_limit(text);
    }
    if (*end || !*l->event)
        bad_limit(text);
}

// Sums over all functions of that name; "file:function" names one.
static int named_costs(const struct diff *d, const char *name, quern_count *old, quern_count *new_)
{
    int found = 0;

    for (uint32_t f = 0; f < d->funcs; f++) {
        struct quern_func g = quern_profile_func_get(d->names, f);
        const char *fn = quern_profile_str(d->names, g.name),
                   *fl = quern_profile_str(d->names, g.file);
        size_t n = strlen(fl);
        if (strcmp(fn, name) != 0 &&
            (strncmp(name, fl, n) != 0 || name[n] != ':' || strcmp(name + n + 1, fn) != 0))
            continue;
        found = 1;
        for (size_t i = 0; i < d->events; i++) {
            old[i] += d->old_costs[f * d->events + i];
            new_[i] += d->new_costs[f * d->events + i];
        }
    }
    return found;
}

static int tripped(struct diff *d, const char *text)
{
    struct parsed_limit l;
    quern_count *old = xcalloc(d->events + 1, sizeof(*old));
    quern_count *now = xcalloc(d->events + 1, sizeof(*now));
    long double a, b, measured;
    char sa[80], sb[80];
    int event, trip;

    parse_limit(text, &l);
    event = event_find(d->new_.p, l.event);
    if (event < 0 || (size_t)event >= d->events) {
        if (event < 0 || event_find(d->old.p, l.event) != event)
            die(UTIL_USAGE, "--fail-if=%s: the profiles have no event '%s'", text, l.event);
    }
    if (l.func) {
        if (!named_costs(d, l.func, old, now))
            die(UTIL_USAGE, "--fail-if=%s: neither profile has a function '%s'", text, l.func);
    } else {
        memcpy(old, d->old_totals, d->events * sizeof(*old));
        memcpy(now, d->new_totals, d->events * sizeof(*now));
    }
    quern_count vo = event_value(d->old.p, (size_t)event, old);
    quern_count vn = event_value(d->new_.p, (size_t)event, now);
    int64_t scale_o = quern_profile_event_scale(d->old.p, (size_t)event);
    int64_t scale_n = quern_profile_event_scale(d->new_.p, (size_t)event);
    a = (long double)vo / scale_o;
    b = (long double)vn / scale_n;
    measured = b;
    if (l.relative)
        measured = b - a;
    if (l.percent)
        measured = a != 0 ? 100 * (b - a) / (a < 0 ? -a : a) : b > 0 ? 1e30L : b < 0 ? -1e30L : 0;
    trip = l.op[0] == '>' ? measured > l.value : measured < l.value;
    if (l.op[1] == '=')
        trip |= measured == l.value;
    if (trip) {
        event_commas(sa, vo, scale_o);
        event_commas(sb, vn, scale_n);
        if (a != 0)
            warn("limit passed: %s: %s was %s and is %s (%+.2Lf%%)", text, l.event, sa, sb,
                 100 * (b - a) / (a < 0 ? -a : a));
        else
            warn("limit passed: %s: %s was %s and is %s", text, l.event, sa, sb);
    }
    free(l.func ? l.func : l.event);
    free(old);
    free(now);
    return trip;
}

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
    quern_profile_free(p);
}

// ---- Text ----

static void totals(struct diff *d)
{
    quern_count *delta = xcalloc(d->events + 1, sizeof(*delta));

    for (size_t i = 0; i < d->events; i++)
        delta[i] = d->new_totals[i] - d->old_totals[i];
    printf("%sOld profile:      %s (%s)\nNew profile:      %s (%s)\n", table_rule, d->old.path,
           read_command(d->old.p), d->new_.path, read_command(d->new_.p));
    fputs("Events shown:     ", stdout);
    for (size_t i = 0; i < d->shown_count; i++)
        printf("%s%s", i ? " " : "", quern_profile_event_name(d->old.p, d->shown[i]));
    printf("\nThreshold:        %g%% of the old total\n\n", d->threshold);
    table_reset(&d->table);
    table_fit(&d->table, d->old_totals, UINT64_MAX);
    table_fit(&d->table, d->new_totals, UINT64_MAX);
    table_fit(&d->table, delta, UINT64_MAX);
    fputs(table_rule, stdout);
    table_head(&d->table);
    printf("\n%s", table_rule);
    table_row(&d->table, d->old_totals, UINT64_MAX);
    fputs(" OLD TOTALS\n", stdout);
    table_row(&d->table, d->new_totals, UINT64_MAX);
    fputs(" NEW TOTALS\n", stdout);
    table_row(&d->table, delta, UINT64_MAX);
    fputs(" DIFFERENCE\n\n", stdout);
    free(delta);
}

static void all_events(struct diff *d, const char *list, const char *option, size_t **out,
                       size_t *n)
{
    if (list) {
        *n = event_list(d->old.p, option, list, out, NULL);
        // the same derived events on the other side
        size_t *other;
        event_list(d->new_.p, option, list, &other, NULL);
        free(other);
        return;
    }
    *out = xcalloc(d->events + 1, sizeof(**out));
    for (*n = 0; *n < d->events; ++*n)
        (*out)[*n] = *n;
}

static int run(int argc, char **argv, bool traditional)
{
    struct diff d;
    struct quern_rewrite *file, *func;
    struct quern_error err;
    int status = UTIL_OK;

    diff_options_read(&d, argc, argv, traditional);
    file = read_rewrite("--mod-filename", d.mod_file);
    func = read_rewrite("--mod-funcname", d.mod_func);
    d.old.p = read_profile(d.old.path);
    d.new_.p = read_profile(d.new_.path);
    if (traditional) {
        write_profile(&d, file, func);
        return UTIL_OK;
    }
    if (quern_profile_match_events(d.old.p, d.old.path, d.new_.p, d.new_.path, &err) < 0) {
        remark_error(&err);
        return UTIL_USAGE;
    }
    d.events = quern_profile_event_count(d.old.p);
    all_events(&d, d.show, "--show", &d.shown, &d.shown_count);
    all_events(&d, d.sort, "--sort", &d.sorted, &d.sorted_count);
    d.old_totals = quern_profile_totals(d.old.p);
    d.new_totals = quern_profile_totals(d.new_.p);
    table_init(&d.table, d.old.p, d.shown, d.shown_count, d.percs, d.old_totals);
    diff_join(&d, file, func);
    for (size_t i = 0; i < d.fail_if.count; i++)
        if (tripped(&d, d.fail_if.item[i]))
            status = UTIL_NO;
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
