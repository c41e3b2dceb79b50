// SPDX-License-Identifier: MIT
//
// The limits of `quern diff` (--fail-if): reads them, compares them with both profiles, and reports
// those that are exceeded. Called by diff.c once the functions of both sides are joined.
#include "cli/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"

// The parts of a limit's text: function, event, comparison and number.
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

bool diff_limit_names(const struct diff *d, const char *name, uint32_t func)
{
    struct quern_func g = quern_profile_func_get(d->names, func);
    const char *fn = quern_profile_str(d->names, g.name), *fl = quern_profile_str(d->names, g.file);
    size_t n = strlen(fl);

    return strcmp(fn, name) == 0 ||
           (strncmp(name, fl, n) == 0 && name[n] == ':' && strcmp(name + n + 1, fn) == 0);
}

// Sums over all functions of that name.
static int named_costs(const struct diff *d, const char *name, quern_count *old, quern_count *new_)
{
    int found = 0;

    for (uint32_t f = 0; f < d->funcs; f++) {
        if (!diff_limit_names(d, name, f))
            continue;
        found = 1;
        for (size_t i = 0; i < d->events; i++) {
            old[i] += d->old_costs[f * d->events + i];
            new_[i] += d->new_costs[f * d->events + i];
        }
    }
    return found;
}

// Compares what the limit bounds: a growth, a percentage, or the new count.
static bool is_exceeded(const struct parsed_limit *p, const struct diff_limit *l)
{
    long double a = (long double)l->old / l->scale;
    long double b = (long double)l->now / l->scale;
    long double measured = b;
    bool exceeded;

    if (p->relative)
        measured = b - a;
    if (p->percent)
        measured = a != 0 ? 100 * (b - a) / (a < 0 ? -a : a) : b > 0 ? 1e30L : b < 0 ? -1e30L : 0;
    exceeded = p->op[0] == '>' ? measured > p->value : measured < p->value;
    if (p->op[1] == '=')
        exceeded |= measured == p->value;
    return exceeded;
}

static void measure(struct diff *d, const char *text, struct diff_limit *l)
{
    struct parsed_limit p;
    quern_count *old = xcalloc(d->events + 1, sizeof(*old));
    quern_count *now = xcalloc(d->events + 1, sizeof(*now));
    int event;

    parse_limit(text, &p);
    event = event_find(d->new_.p, p.event);
    if (event < 0 || (size_t)event >= d->events) {
        if (event < 0 || event_find(d->old.p, p.event) != event)
            die(UTIL_USAGE, "--fail-if=%s: the profiles have no event '%s'", text, p.event);
    }
    if (p.func) {
        if (!named_costs(d, p.func, old, now))
            die(UTIL_USAGE, "--fail-if=%s: neither profile has a function '%s'", text, p.func);
    } else {
        memcpy(old, d->old_totals, d->events * sizeof(*old));
        memcpy(now, d->new_totals, d->events * sizeof(*now));
    }
    *l = (struct diff_limit){
        .text = text,
        .func = p.func,
        .event = p.event,
        // The scale is the same on both sides: the events were matched.
        .scale = quern_profile_event_scale(d->new_.p, (size_t)event),
        .old = event_value(d->old.p, (size_t)event, old),
        .now = event_value(d->new_.p, (size_t)event, now),
    };
    l->exceeded = is_exceeded(&p, l);
    free(old);
    free(now);
}

void diff_percent(char *buf, quern_count old, quern_count now)
{
    *buf = '\0';
    if (old != 0)
        snprintf(buf, 64, "%+.2Lf%%",
                 100 * (long double)(now - old) / (long double)(old < 0 ? -old : old));
}

char *diff_limit_sentence(const struct diff_limit *l)
{
    char was[80], is[80], percent[64];

    event_commas(was, l->old, l->scale);
    event_commas(is, l->now, l->scale);
    diff_percent(percent, l->old, l->now);
    if (!*percent)
        return xasprintf("%s was %s and is %s", l->event, was, is);
    return xasprintf("%s was %s and is %s (%s)", l->event, was, is, percent);
}

bool diff_limits(struct diff *d)
{
    bool any = false;

    d->limit = xcalloc(d->fail_if.count, sizeof(*d->limit));
    for (size_t i = 0; i < d->fail_if.count; i++) {
        struct diff_limit *l = &d->limit[i];

        measure(d, d->fail_if.item[i], l);
        if (l->exceeded) {
            char *sentence = diff_limit_sentence(l);

            warn("limit exceeded: %s: %s", l->text, sentence);
            free(sentence);
            any = true;
        }
    }
    return any;
}
