// SPDX-License-Identifier: MIT
//
// The limits of `quern diff` (--fail-if): reads them, compares them with both profiles, and reports
// those that are exceeded, or whose function is gone. Called by diff.c once the functions of both
// sides are joined.
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/funcname.h"
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

// ---- Functions ----

// An object of the data without its kind: "table" is "static: table".
static bool is_object(const char *text, const char *name)
{
    const char *behind = strstr(name, ": ");

    return behind && strcmp(text, behind + 2) == 0;
}

// Does this text, a name or a pattern, mean the function, alone or behind "file:"?
static bool means(const struct diff *d, const char *text, bool pattern, uint32_t func)
{
    struct quern_func g = quern_profile_func_get(d->names, func);
    const char *fn = quern_profile_str(d->names, g.name), *fl = quern_profile_str(d->names, g.file);
    size_t n = strlen(fl);
    char *both;
    bool yes;

    if (!pattern)
        return funcname_is(text, fn) || (d->data && is_object(text, fn)) ||
               (strncmp(text, fl, n) == 0 && text[n] == ':' && funcname_is(text + n + 1, fn));
    if (funcname_matches(text, fn))
        return true;
    both = xasprintf("%s:%s", fl, fn);
    yes = funcname_matches(text, both);
    free(both);
    return yes;
}

// A text with * or ? is a pattern unless a function has that name: "operator*", "f(char*)".
static bool is_pattern(const struct diff *d, const char *text)
{
    if (!text || !funcname_is_pattern(text))
        return false;
    for (uint32_t f = 0; f < d->funcs; f++)
        if (means(d, text, false, f))
            return false;
    return true;
}

// The profiles in which the limit has a function, as in d->in. *last: one of these functions.
static unsigned sides_of(const struct diff *d, const struct diff_limit *l, uint32_t *last)
{
    unsigned in = 0;

    *last = QUERN_NONE;
    for (uint32_t f = 0; f < d->funcs; f++)
        if (means(d, l->func, l->each, f)) {
            in |= d->in[f];
            *last = f;
        }
    return in;
}

static const char *nearest(const struct diff *d, const char *text)
{
    struct funcname_nearest near = { .typed = text };

    for (uint32_t f = 0; f < d->funcs; f++)
        if (d->in[f] & 2)
            funcname_try(&near,
                         quern_profile_str(d->names, quern_profile_func_get(d->names, f).name));
    return near.best;
}

// ---- Counts ----

// Compares what the limit bounds: a growth, a percentage, or the new count.
static bool is_exceeded(const struct parsed_limit *p, int64_t scale, quern_count old,
                        quern_count now)
{
    long double a = (long double)old / scale;
    long double b = (long double)now / scale;
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

static quern_count value_of(const struct diff *d, size_t event, const quern_count *of, uint32_t f)
{
    return event_value(d->new_.p, event, of + f * d->events);
}

// Is a growth of a matching function judged? A function that only one profile has did not grow, and
// --threshold leaves out what hardly matters.
static bool is_judged(const struct diff *d, const struct diff_limit *l,
                      const struct parsed_limit *p, uint32_t f, quern_count change)
{
    quern_count total = event_value(d->old.p, l->event_number, d->old_totals);

    if (!p->relative)
        return d->in[f] & 2;
    return d->in[f] == 3 && 100.0 * (double)(change < 0 ? -change : change) >=
                                d->threshold * (double)(total < 0 ? -total : total);
}

static void measure_each(const struct diff *d, const struct parsed_limit *p, struct diff_limit *l)
{
    for (uint32_t f = 0; f < d->funcs; f++) {
        quern_count old, now;

        if (!means(d, l->func, true, f))
            continue;
        old = value_of(d, l->event_number, d->old_costs, f);
        now = value_of(d, l->event_number, d->new_costs, f);
        l->old += old;
        l->now += now;
        if (!is_judged(d, l, p, f, now - old) || !is_exceeded(p, l->scale, old, now))
            continue;
        l->exceeded = true;
        diff_where_add(l, f, old, now);
    }
}

// The functions that changed in the direction of the limit.
static void note_changed(const struct diff *d, struct diff_limit *l)
{
    for (uint32_t f = 0; f < d->funcs; f++) {
        quern_count old = value_of(d, l->event_number, d->old_costs, f);
        quern_count now = value_of(d, l->event_number, d->new_costs, f);

        if ((l->falls ? now < old : now > old) && (!l->func || means(d, l->func, false, f)))
            diff_where_add(l, f, old, now);
    }
}

// Sums over all functions of that name; or the whole program.
static void measure_sum(const struct diff *d, const struct parsed_limit *p, struct diff_limit *l)
{
    quern_count *old = xcalloc(d->events + 1, sizeof(*old));
    quern_count *now = xcalloc(d->events + 1, sizeof(*now));

    if (!l->func) {
        memcpy(old, d->old_totals, d->events * sizeof(*old));
        memcpy(now, d->new_totals, d->events * sizeof(*now));
    }
    for (uint32_t f = 0; l->func && f < d->funcs; f++) {
        if (!means(d, l->func, false, f))
            continue;
        for (size_t i = 0; i < d->events; i++) {
            old[i] += d->old_costs[f * d->events + i];
            now[i] += d->new_costs[f * d->events + i];
        }
    }
    l->old = event_value(d->old.p, l->event_number, old);
    l->now = event_value(d->new_.p, l->event_number, now);
    l->exceeded = is_exceeded(p, l->scale, l->old, l->now);
    if (l->exceeded) {
        l->cause = diff_cause_of(d, l, old, now);
        note_changed(d, l);
    }
    free(old);
    free(now);
}

static void measure(struct diff *d, const char *text, struct diff_limit *l)
{
    struct parsed_limit p;
    bool unknown = false;
    int event;

    parse_limit(text, &p);
    event = event_find(d->new_.p, p.event);
    if (event < 0 || (size_t)event >= d->events) {
        if (event < 0 || event_find(d->old.p, p.event) != event)
            die(UTIL_USAGE, "--fail-if=%s: the profiles have no event '%s'", text, p.event);
    }
    *l = (struct diff_limit){
        .text = text,
        .func = p.func,
        .event = p.event,
        .event_number = (size_t)event,
        // The scale is the same on both sides: the events were matched.
        .scale = quern_profile_event_scale(d->new_.p, (size_t)event),
        .each = is_pattern(d, p.func),
        .falls = p.op[0] == '<',
        .cause = { .cause = -1 },
    };
    if (p.func) {
        unsigned in = sides_of(d, l, &l->gone);

        l->missing = !(in & 2) && d->missing != DIFF_MISSING_OK;
        if (l->missing)
            l->nearest = nearest(d, p.func);
        // Without one of the two counts nothing can be said of a growth.
        unknown = !(in & 2) || (p.relative && in != 3 && d->missing == DIFF_MISSING_OK);
    }
    (l->each ? measure_each : measure_sum)(d, &p, l);
    if (unknown) {
        l->exceeded = false;
        l->places = 0;
    }
}

int diff_limits(struct diff *d)
{
    int status = UTIL_OK;

    d->limit = xcalloc(d->fail_if.count, sizeof(*d->limit));
    for (size_t i = 0; i < d->fail_if.count; i++)
        measure(d, d->fail_if.item[i], &d->limit[i]);
    diff_where(d);
    for (size_t i = 0; i < d->fail_if.count; i++) {
        const struct diff_limit *l = &d->limit[i];
        char *sentence;

        if (!l->exceeded && !l->missing)
            continue;
        sentence = diff_sentence(d, l);
        if (l->missing)
            warn("--fail-if=%s: %s (--missing=ok: no error)", l->text, sentence);
        else
            warn("limit exceeded: %s: %s", l->text, sentence);
        free(sentence);
        if (l->missing)
            status = UTIL_USAGE;
        else if (status == UTIL_OK)
            status = UTIL_NO;
    }
    return status;
}
