/* SPDX-License-Identifier: MIT */
/*
 * Shared by the profile commands: options, reading with remarks, events, tables. Tables have the layout
 * of cg_annotate: a number, then its share of the total in a field of nine.
 */
#include "cli/shared/profcmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/util.h"

const char profcmd_rule[] =
    "--------------------------------------------------------------------------------\n";

/* -- Options ------------------------------------------------------------------------------------ */

const char *profcmd_name(const char *argv0)
{
    argv0 = util_basename(argv0);
    if (!strncmp(argv0, "cg_", 3) || !strncmp(argv0, "callgrind_", 10))
        return argv0;
    return xasprintf("quern %s", argv0);
}

const char *profcmd_value(const char *arg, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(arg, name, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

const char *profcmd_next(int argc, char **argv, int *i, const char *name)
{
    if (*i + 1 >= argc)
        die(UTIL_USAGE, "%s: a value is missing behind it", name);
    return argv[++*i];
}

int profcmd_yes(const char *option, const char *value)
{
    if (!strcmp(value, "yes"))
        return 1;
    if (strcmp(value, "no"))
        die(UTIL_USAGE, "%s=%s: must be yes or no", option, value);
    return 0;
}

/* -1: it is none from 0 to max */
static double percent(const char *value, double max)
{
    char *end;
    double v = strtod(value, &end);

    if (*end == '%')
        end++;
    return end == value || *end || !(v >= 0 && v <= max) ? -1 : v;
}

double profcmd_percent(const char *option, const char *value, double max)
{
    double v = percent(value, max);

    if (v < 0)
        die(UTIL_USAGE, "%s=%s: must be a percentage from 0 to %g", option, value, max);
    return v;
}

uint64_t profcmd_number(const char *option, const char *value)
{
    uint64_t v;

    if (!util_number(value, UINT64_MAX, &v))
        die(UTIL_USAGE, "%s=%s: must be a whole number", option, value);
    return v;
}

void profcmd_unknown(const char *command, const char *arg)
{
    die(UTIL_USAGE, "unknown option '%s'; '%s --help' lists them", arg, command);
}

/* -- Reading ------------------------------------------------------------------------------------ */

void profcmd_caret(const char *text, uint32_t col)
{
    if (!*text || !col)
        return;
    if (col > 160) /* a long line: show what is around the column */
        return;
    fprintf(stderr, "  %.180s\n  ", text);
    for (uint32_t i = 1; i < col && text[i - 1]; i++)
        fputc(text[i - 1] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

void profcmd_error(const struct quern_error *err)
{
    if (err->line && err->col)
        warn("%s:%llu:%u: %s", err->file, (unsigned long long)err->line, err->col, err->msg);
    else if (err->line)
        warn("%s:%llu: %s", err->file, (unsigned long long)err->line, err->msg);
    else if (*err->file)
        warn("%s: %s", err->file, err->msg);
    else
        warn("%s", err->msg);
    profcmd_caret(err->text, err->col);
}

static void remarks(const struct quern_profile *p, const char *path)
{
    for (size_t i = 0; i < quern_profile_diag_count(p); i++) {
        const struct quern_diag *d = quern_profile_diag(p, i);
        char more[64] = "";
        if (d->severity == QUERN_NOTE)
            continue;
        if (d->count > 1)
            snprintf(more, sizeof(more), " (and %llu more of this kind)",
                     (unsigned long long)d->count - 1);
        if (d->line)
            warn("%s:%llu: %s%s", path, (unsigned long long)d->line, d->msg, more);
        else
            warn("%s: %s%s", path, d->msg, more);
    }
}

struct quern_profile *profcmd_read(const char *path)
{
    struct quern_error err;
    struct quern_profile *p = quern_profile_read(path, NULL, &err);

    if (!p) {
        profcmd_error(&err);
        exit(UTIL_USAGE);
    }
    remarks(p, strcmp(path, "-") ? path : "<stdin>");
    return p;
}

struct quern_profile *profcmd_read_sum(const char *const *paths, size_t n)
{
    struct quern_merger *m;
    struct quern_profile *sum;
    struct quern_error err;

    if (n == 1)
        return profcmd_read(paths[0]);
    m = quern_merger_new();
    if (!m)
        die(UTIL_USAGE, "out of memory");
    for (size_t i = 0; i < n; i++) {
        struct quern_profile *p = profcmd_read(paths[i]);
        if (quern_merger_add(m, p, paths[i], &err) < 0) {
            profcmd_error(&err);
            exit(UTIL_USAGE);
        }
        quern_profile_free(p);
    }
    sum = quern_merger_take(m, &err);
    if (!sum) {
        profcmd_error(&err);
        exit(UTIL_USAGE);
    }
    quern_merger_free(m);
    return sum;
}

const char *profcmd_command(const struct quern_profile *p)
{
    struct quern_part part;
    return quern_profile_part(p, 0, &part) == 0 && part.cmd ? part.cmd : "";
}

struct quern_rewrite *profcmd_rewrite(const char *option, const char *expr)
{
    struct quern_error err;
    struct quern_rewrite *r;

    if (!expr)
        return NULL;
    if (!(r = quern_rewrite_new(expr, &err)))
        die(UTIL_USAGE, "%s: %s", option, err.msg);
    return r;
}

struct quern_profile *profcmd_renamed(struct quern_profile *p, const struct quern_rewrite *file,
                                      const struct quern_rewrite *func)
{
    struct quern_error err;
    struct quern_profile *q;

    if (!file && !func)
        return p;
    if (!(q = quern_profile_rewrite(p, file, func, &err))) {
        profcmd_error(&err);
        exit(UTIL_USAGE);
    }
    quern_profile_free(p);
    return q;
}

struct quern_profile *profcmd_difference(struct quern_profile *new_, const char *new_path,
                                         struct quern_profile *old, const char *old_path,
                                         int by_func)
{
    struct quern_error err;
    struct quern_profile *p = NULL;
    char *cmd = xasprintf("%s; %s", profcmd_command(old), profcmd_command(new_));
    char *files = xasprintf("  %s; %s", old_path, new_path); /* value in a column */

    if (quern_profile_match_events(old, old_path, new_, new_path, &err) == 0)
        p = quern_profile_subtract(new_, old, by_func, &err);
    if (!p) {
        profcmd_error(&err);
        exit(UTIL_USAGE);
    }
    quern_profile_clear_desc(p);
    quern_profile_add_desc(p, "Files compared", files);
    quern_profile_set_cmd(p, cmd);
    free(cmd);
    free(files);
    return p;
}

int profcmd_is_profile(const char *path)
{
    static const char *const first[] = { "# callgrind format", "version: ", "creator: ", "events:",
                                         "positions:",         "desc: ",    "cmd: " };
    char buf[8193];
    FILE *f = fopen(path, "r");
    size_t n;

    if (!f)
        return 0;
    n = fread(buf, 1, sizeof(buf) - 1, f);
    fclose(f);
    buf[n] = 0;
    if (n >= 4 && (!memcmp(buf, "\x1f\x8b", 2) || !memcmp(buf, "\x28\xb5\x2f\xfd", 4)))
        return 1;
    /* A command may be longer than what was read, so the first line counts, too. */
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
        if (!strncmp(buf, first[i], strlen(first[i])))
            return 1;
    return strstr(buf, "\nevents:") != NULL;
}

/* -- Events ------------------------------------------------------------------------------------- */

/* Names KCachegrind has built in, made of whatever of their parts the profile has. */
static const struct {
    const char *name, *long_name, *parts; /* "factor event" pairs */
} known_events[] = {
    { "L1m", "L1 misses", "1 I1mr 1 D1mr 1 D1mw" },
    { "LLm", "last-level misses", "1 ILmr 1 DLmr 1 DLmw" },
    { "Bm", "mispredicted branches", "1 Bcm 1 Bim" },
    { "CEst", "cycle estimate",
      "1 Ir 10 Bcm 10 Bim 10 I1mr 10 D1mr 10 D1mw 20 Ge 100 ILmr 100 DLmr 100 DLmw" },
};

int profcmd_find_event(struct quern_profile *p, const char *name)
{
    int i = quern_profile_find_event(p, name);

    if (i >= 0)
        return i;
    for (size_t k = 0; k < sizeof(known_events) / sizeof(*known_events); k++) {
        char formula[256] = "";
        char *parts, *save = NULL;
        if (strcmp(known_events[k].name, name))
            continue;
        parts = xstrdup(known_events[k].parts);
        for (char *f = strtok_r(parts, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
            char *event = strtok_r(NULL, " ", &save);
            size_t n = strlen(formula);
            if (quern_profile_find_event(p, event) >= 0)
                snprintf(formula + n, sizeof(formula) - n, "%s%s %s", n ? " + " : "", f, event);
        }
        free(parts);
        if (!*formula ||
            quern_profile_define_event(p, name, formula, known_events[k].long_name) < 0)
            return -1;
        return quern_profile_find_event(p, name);
    }
    return -1;
}

size_t profcmd_events(struct quern_profile *p, const char *option, const char *list, size_t **out,
                      double **thresholds)
{
    char *copy = xstrdup(list), *save = NULL;
    size_t n = 0;

    *out = xcalloc(strlen(list) + 1, sizeof(**out));
    if (thresholds)
        *thresholds = xcalloc(strlen(list) + 1, sizeof(**thresholds));
    for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        char *colon = thresholds ? strchr(s, ':') : NULL;
        int i;
        if (colon)
            *colon++ = 0;
        i = profcmd_find_event(p, s);
        if (i < 0) {
            char have[400] = "";
            for (size_t k = 0; k < quern_profile_event_count(p) + quern_profile_derived_count(p);
                 k++) {
                size_t len = strlen(have);
                snprintf(have + len, sizeof(have) - len, " %s", quern_profile_event_name(p, k));
            }
            die(UTIL_USAGE, "%s: the profile has no event '%s'; it has:%s", option, s, have);
        }
        if (thresholds)
            (*thresholds)[n] = colon ? percent(colon, 100) : -1;
        if (colon && (*thresholds)[n] < 0)
            die(UTIL_USAGE, "%s: %s:%s: must be a percentage from 0 to 100", option, s, colon);
        (*out)[n++] = (size_t)i;
    }
    free(copy);
    if (!n)
        die(UTIL_USAGE, "%s: names no event", option);
    return n;
}

quern_count profcmd_event_value(const struct quern_profile *p, size_t event,
                                const quern_count *counts)
{
    return event < quern_profile_event_count(p) ? counts[event]
                                                : quern_profile_derive(p, event, counts);
}

int profcmd_event_present(const struct quern_profile *p, size_t event, uint64_t present)
{
    if (event >= quern_profile_event_count(p) || event >= 64)
        return present != 0;
    return (int)(present >> event & 1);
}

double profcmd_double(const struct quern_profile *p, size_t event, quern_count v)
{
    return (double)v / (double)quern_profile_event_scale(p, event);
}

/* -- Tables ------------------------------------------------------------------------------------- */

int profcmd_commas(char *buf, quern_count v, int64_t scale)
{
    char digits[64], *d = digits, *o = buf;
    size_t whole;

    quern_count_format(digits, sizeof(digits), v, scale);
    if (*d == '-')
        *o++ = *d++;
    whole = strcspn(d, ".");
    for (size_t i = 0; d[i]; i++) {
        if (i && i < whole && (whole - i) % 3 == 0)
            *o++ = ',';
        *o++ = d[i];
    }
    *o = 0;
    return (int)(o - buf);
}

#define PERC_WIDTH 9 /* " (12.34%)" */

void profcmd_table_init(struct profcmd_table *t, struct quern_profile *p, const size_t *events,
                        size_t n, int percs, const quern_count *totals)
{
    quern_count *shown = xcalloc(n + 1, sizeof(*shown));

    t->cols = n;
    t->p = p;
    t->percs = percs;
    t->event = xcalloc(n + 1, sizeof(*t->event));
    t->width = xcalloc(n + 1, sizeof(*t->width));
    for (size_t i = 0; i < n; i++) {
        t->event[i] = events[i];
        shown[i] = profcmd_event_value(p, events[i], totals);
    }
    t->totals = shown;
    profcmd_table_reset(t);
}

void profcmd_table_free(struct profcmd_table *t)
{
    free(t->event);
    free(t->width);
    free((void *)t->totals);
}

void profcmd_table_reset(struct profcmd_table *t)
{
    for (size_t i = 0; i < t->cols; i++) {
        int w = (int)strlen(quern_profile_event_name(t->p, t->event[i]));
        t->width[i] = t->percs ? w - PERC_WIDTH : w;
        if (t->width[i] < 1)
            t->width[i] = 1;
    }
}

void profcmd_table_fit(struct profcmd_table *t, const quern_count *counts, uint64_t present)
{
    char buf[80];

    for (size_t i = 0; i < t->cols; i++) {
        quern_count v;
        if (!profcmd_event_present(t->p, t->event[i], present))
            continue;
        v = profcmd_event_value(t->p, t->event[i], counts);
        int n = profcmd_commas(buf, v, quern_profile_event_scale(t->p, t->event[i]));
        if (n > t->width[i])
            t->width[i] = n;
    }
}

void profcmd_table_head(const struct profcmd_table *t)
{
    for (size_t i = 0; i < t->cols; i++)
        printf("%-*s ", t->width[i] + (t->percs ? PERC_WIDTH : 0),
               quern_profile_event_name(t->p, t->event[i]));
}

void profcmd_table_row(const struct profcmd_table *t, const quern_count *counts, uint64_t present)
{
    char buf[80], perc[32];

    for (size_t i = 0; i < t->cols; i++) {
        size_t e = t->event[i];
        quern_count v = 0;
        int n = 1;
        if (profcmd_event_present(t->p, e, present)) {
            v = profcmd_event_value(t->p, e, counts);
            n = profcmd_commas(buf, v, quern_profile_event_scale(t->p, e));
        } else {
            buf[0] = '.';
            buf[1] = 0;
        }
        for (int k = n; k < t->width[i]; k++)
            putchar(' ');
        fputs(buf, stdout);
        if (t->percs && v) {
            double share = t->totals[i] ? 100.0 * (double)v / (double)t->totals[i] : 0;
            if (snprintf(perc, sizeof(perc), "%5.2f", share) > 5)
                snprintf(perc, sizeof(perc), "%5.1f", share);
            printf(" (%s%%)", perc);
        } else if (t->percs) {
            fputs("         ", stdout);
        }
        putchar(' ');
    }
}
