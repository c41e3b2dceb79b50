// SPDX-License-Identifier: MIT
//
// Formulas of derived events: from text to terms, and their values.
#include "profile/model/formula.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/events.h"
#include "profile/model/text.h"

static const char *skip_blank(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static int add_term(struct event *e, uint32_t event, int64_t factor)
{
    for (size_t i = 0; i < e->term_count; i++)
        if (e->term[i].event == event)
            return __builtin_add_overflow(e->term[i].factor, factor, &e->term[i].factor) ? -ERANGE
                                                                                         : 0;
    struct term *t = realloc(e->term, (e->term_count + 1) * sizeof(*t));
    if (!t)
        return -ENOMEM;
    e->term = t;
    t[e->term_count++] = (struct term){ event, factor };
    return 0;
}

// Adds factor times the event of that name. A derived one, of those before `derived_before`, adds
// its own terms.
static int add_named(const struct quern_profile *p, struct event *e, size_t derived_before,
                     const char *name, size_t len, int64_t factor)
{
    int i = events_find(p->event, p->event_count, name, len);

    if (i >= 0)
        return add_term(e, (uint32_t)i, factor);
    i = events_find(p->derived, derived_before, name, len);
    if (i < 0 || p->derived[i].term_count == 0)
        return -EINVAL;
    const struct event *d = &p->derived[i];
    for (size_t k = 0; k < d->term_count; k++) {
        quern_count f = (quern_count)d->term[k].factor * factor / NANO;
        if (f > INT64_MAX || f < INT64_MIN)
            return -ERANGE;
        int rc = add_term(e, d->term[k].event, (int64_t)f);
        if (rc < 0)
            return rc;
    }
    return 0;
}

// The number before a name, in units of 10^-9; 1 if there is none. NULL: it is too large.
static const char *get_factor(const char *s, int64_t *factor)
{
    *factor = NANO;
    if ((*s < '0' || *s > '9') && *s != '.')
        return s;
    char *end;
    double d = strtod(s, &end);
    if (end == s || !(d < 9e9))
        return NULL;
    *factor = (int64_t)(d * NANO + 0.5);
    s = skip_blank(end);
    return *s == '*' ? skip_blank(s + 1) : s;
}

// [number ["*"]] name, joined by + or -.
static int compile(struct quern_profile *p, struct event *e, size_t derived_before)
{
    const char *s = skip_blank(e->formula);
    int sign = 1;

    free(e->term);
    e->term = NULL;
    e->term_count = 0;
    e->scale = 1;
    if (*s == '-') {
        sign = -1;
        s = skip_blank(s + 1);
    }
    for (;;) {
        int64_t factor;
        s = get_factor(s, &factor);
        size_t len = s ? strcspn(s, " \t+-*") : 0;
        if (len == 0)
            return -EINVAL;
        int rc = add_named(p, e, derived_before, s, len, sign * factor);
        if (rc < 0)
            return rc;
        s = skip_blank(s + len);
        if (*s == 0)
            break;
        if (*s != '+' && *s != '-')
            return -EINVAL;
        sign = *s == '-' ? -1 : 1;
        s = skip_blank(s + 1);
    }
    for (size_t k = 0; k < e->term_count; k++)
        if (e->term[k].factor % NANO != 0 || p->event[e->term[k].event].scale != 1)
            e->scale = NANO;
    return 0;
}

int formula_compile(struct quern_profile *p)
{
    for (size_t i = 0; i < p->derived_count; i++) {
        struct event *e = &p->derived[i];
        int rc = e->formula ? compile(p, e, i) : 0;
        if (rc < 0) {
            free(e->term);
            e->term = NULL;
            e->term_count = 0;
        }
        if (rc == -ENOMEM)
            return rc;
    }
    return 0;
}

int quern_profile_define_event(struct quern_profile *p, const char *name, const char *formula,
                               const char *long_name)
{
    int rc = events_define(p, name, formula, long_name);

    if (rc < 0 || !formula)
        return rc;
    for (size_t i = 0; i < p->derived_count; i++)
        if (strcmp(p->derived[i].name, name) == 0)
            return compile(p, &p->derived[i], i);
    return 0;
}

int quern_profile_match_events(struct quern_profile *a, const char *a_name, struct quern_profile *b,
                               const char *b_name, struct quern_error *err)
{
    int rc = events_same(a, a_name, b, b_name, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < a->event_count; i++)
        if (a->event[i].scale != b->event[i].scale)
            a->event[i].scale = b->event[i].scale = NANO;
    if ((rc = formula_compile(a)) == 0)
        rc = formula_compile(b);
    if (rc < 0)
        text_error(err, -rc, b_name, "not enough memory for the formulas of its events");
    return rc;
}

// v * f + add, or the nearest end of the range.
static quern_count mul_add(quern_count v, quern_count f, quern_count add)
{
    const quern_count max = (quern_count)(~(unsigned __int128)0 >> 1);
    quern_count product;

    if (__builtin_mul_overflow(v, f, &product))
        product = (v < 0) == (f < 0) ? max : -max;
    if (__builtin_add_overflow(product, add, &product))
        product = add < 0 ? -max : max;
    return product;
}

quern_count quern_profile_derive(const struct quern_profile *p, size_t event,
                                 const quern_count *counts)
{
    const struct event *e = events_get(p, event);
    quern_count sum = 0;

    if (event < p->event_count)
        return counts[event];
    for (size_t i = 0; i < e->term_count; i++) {
        const struct event *of = &p->event[e->term[i].event];
        quern_count v = counts[e->term[i].event], f = e->term[i].factor;
        // factor is nano; v is nano when of->scale is
        if (e->scale == 1)
            sum = mul_add(v, f / NANO, sum);
        else if (of->scale == 1)
            sum = mul_add(v, f, sum);
        else
            sum = mul_add(v / NANO, f, mul_add(1, v % NANO * f / NANO, sum));
    }
    return sum;
}
