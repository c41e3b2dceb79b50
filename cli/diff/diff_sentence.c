// SPDX-License-Identifier: MIT
//
// A limit of `quern diff` in words, the same in every output: what was measured, of which cause it
// is, and which functions and lines exceed it. The text is not escaped: each output does that in
// its own way.
#include "cli/diff/diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

void diff_percent(char *buf, quern_count old, quern_count now)
{
    *buf = '\0';
    if (old != 0)
        snprintf(buf, 64, "%+.2Lf%%",
                 100 * (long double)(now - old) / (long double)(old < 0 ? -old : old));
}

// Appends to the text, which is NULL at first.
static void __attribute__((format(printf, 2, 3))) add(char **text, const char *fmt, ...)
{
    char *more, *both;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&more, fmt, ap) < 0)
        die(UTIL_USAGE, "out of memory");
    va_end(ap);
    both = xasprintf("%s%s", *text ? *text : "", more);
    free(more);
    free(*text);
    *text = both;
}

static void add_change(char **text, const struct diff *d, quern_count v, int64_t scale,
                       const struct diff_cause *c)
{
    char buf[80], cause[DIFF_CAUSE_TEXT];

    event_commas(buf, v, scale);
    diff_cause_text(cause, d, c);
    add(text, " %s%s%s", v > 0 ? "+" : "", buf, cause);
}

static void add_was(char **text, const struct diff_limit *l, const char *what, quern_count old,
                    quern_count now)
{
    char was[80], is[80], percent[64];

    event_commas(was, old, l->scale);
    event_commas(is, now, l->scale);
    diff_percent(percent, old, now);
    add(text, "%s was %s and is %s", what, was, is);
    if (*percent)
        add(text, " (%s)", percent);
}

// "; waiting for data (CyMem +90) grew most"
static void add_cause(char **text, const struct diff *d, const struct diff_limit *l)
{
    char cause[DIFF_CAUSE_TEXT];

    if (l->cause.cause < 0)
        return;
    diff_cause_text(cause, d, &l->cause);
    add(text, "; %s%s %s most", event_meaning(l->cause.cause), cause, l->falls ? "fell" : "grew");
}

// A function of a pattern with its counts, any other with its change; and the lines.
static void add_place(char **text, const struct diff *d, const struct diff_limit *l,
                      const struct diff_place *p)
{
    const char *name = quern_profile_str(d->names, quern_profile_func_get(d->names, p->func).name);

    name = *name ? name : "???";
    if (l->each) {
        char cause[DIFF_CAUSE_TEXT];

        add_was(text, l, name, p->old, p->now);
        diff_cause_text(cause, d, &p->cause);
        add(text, "%s", cause);
    } else {
        add(text, "%s", name);
        add_change(text, d, p->now - p->old, l->scale, &p->cause);
    }
    for (size_t i = 0; i < p->lines; i++) {
        const char *file = quern_profile_str(d->names, p->line[i].file);

        add(text, "%s%s:%llu", i ? ", " : " at ", *file ? file : "???",
            (unsigned long long)p->line[i].line);
        add_change(text, d, p->line[i].now - p->line[i].old, l->scale, &p->line[i].cause);
    }
}

static void add_missing(char **text, const struct diff *d, const struct diff_limit *l)
{
    if (l->gone != QUERN_NONE)
        add(text, "%s has no %s '%s' any more", d->new_.path, diff_noun(d), l->func);
    else
        add(text, "neither profile has %s %s '%s'", d->data ? "an" : "a", diff_noun(d), l->func);
    if (l->nearest)
        add(text, "; is '%s' meant?", l->nearest);
}

char *diff_sentence(const struct diff *d, const struct diff_limit *l)
{
    char *text = NULL;

    if (l->missing) {
        add_missing(&text, d, l);
        return text;
    }
    if (!l->each)
        add_was(&text, l, l->event, l->old, l->now);
    else if (!l->exceeded)
        add(&text, "%s of no %s exceeds it", l->event, diff_noun(d));
    else
        add(&text, "%s of %zu %s%s", l->event, l->places, diff_noun(d), l->places == 1 ? "" : "s");
    add_cause(&text, d, l);
    for (size_t i = 0; i < l->shown; i++) {
        add(&text, i ? "; " : l->each ? ": " : "; most in ");
        add_place(&text, d, l, &l->place[i]);
    }
    if (l->each && l->places > l->shown)
        add(&text, "; and %zu more", l->places - l->shown);
    return text;
}
