// SPDX-License-Identifier: MIT
//
// The tables of events: adding, defining, comparing, and the getters.
#include "profile/model/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"
#include "profile/model/text.h"

void events_free(struct event *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(e[i].name);
        free(e[i].long_name);
        free(e[i].formula);
        free(e[i].term);
    }
    free(e);
}

int events_find(const struct event *e, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(e[i].name, name, len) == 0 && !e[i].name[len])
            return (int)i;
    return -ENOENT;
}

int events_add(struct quern_profile *p, const char *name, size_t len)
{
    int i = events_find(p->event, p->event_count, name, len);
    size_t n = p->event_count;

    if (i >= 0)
        return i;
    if (n >= EVENTS_MAX)
        return -E2BIG;
    if (!grow_array(&p->event, n + 1, sizeof(*p->event)) ||
        !grow_array(&p->total, n + 1, sizeof(*p->total)) ||
        !grow_array(&p->total_nano, n + 1, sizeof(*p->total_nano)) ||
        !grow_array(&p->total_shown, n + 1, sizeof(*p->total_shown)))
        return -ENOMEM;
    memset(&p->event[n], 0, sizeof(p->event[n]));
    p->total[n] = p->total_nano[n] = p->total_shown[n] = 0;
    if (!(p->event[n].name = text_dup(name, len)))
        return -ENOMEM;
    p->event[n].scale = 1;
    p->event_count++;
    // An earlier definition ("event: Ir : long name") was stored as derived.
    i = events_find(p->derived, p->derived_count, name, len);
    if (i >= 0 && !p->derived[i].formula) {
        p->event[n].long_name = p->derived[i].long_name;
        free(p->derived[i].name);
        p->derived_count--;
        memmove(&p->derived[i], &p->derived[i + 1],
                (p->derived_count - (size_t)i) * sizeof(*p->derived));
    }
    return (int)n;
}

int quern_profile_set_events(struct quern_profile *p, const char *const *names, size_t n)
{
    if (p->record_count || p->event_count)
        return -EBUSY;
    for (size_t i = 0; i < n; i++) {
        int rc = events_add(p, names[i], strlen(names[i]));
        if (rc < 0)
            return rc;
        if ((size_t)rc != i)
            return -EEXIST;
    }
    return 0;
}

int events_define(struct quern_profile *p, const char *name, const char *formula,
                  const char *long_name)
{
    size_t len = strlen(name);
    struct event *e;
    int i;

    if (!formula && (i = events_find(p->event, p->event_count, name, len)) >= 0)
        return long_name ? text_set(&p->event[i].long_name, long_name) : 0;
    i = events_find(p->derived, p->derived_count, name, len);
    if (i >= 0) {
        e = &p->derived[i];
    } else {
        if (p->derived_count >= EVENTS_MAX)
            return -E2BIG;
        size_t n = p->derived_count;
        if (!(e = realloc(p->derived, (n + 1) * sizeof(*e))))
            return -ENOMEM;
        p->derived = e;
        e += n;
        memset(e, 0, sizeof(*e));
        if (!(e->name = text_dup(name, len)))
            return -ENOMEM;
        e->scale = 1;
        p->derived_count++;
    }
    if (formula && (i = text_set(&e->formula, formula)) < 0)
        return i;
    if (long_name && (i = text_set(&e->long_name, long_name)) < 0)
        return i;
    return 0;
}

size_t quern_profile_event_count(const struct quern_profile *p)
{
    return p->event_count;
}

size_t quern_profile_derived_count(const struct quern_profile *p)
{
    return p->derived_count;
}

const struct event *events_get(const struct quern_profile *p, size_t i)
{
    static const struct event none = { .scale = 1 };

    if (i < p->event_count)
        return &p->event[i];
    i -= p->event_count;
    return i < p->derived_count ? &p->derived[i] : &none;
}

const char *quern_profile_event_name(const struct quern_profile *p, size_t event)
{
    return events_get(p, event)->name;
}

const char *quern_profile_event_long_name(const struct quern_profile *p, size_t event)
{
    return events_get(p, event)->long_name;
}

const char *quern_profile_event_formula(const struct quern_profile *p, size_t event)
{
    return events_get(p, event)->formula;
}

int64_t quern_profile_event_scale(const struct quern_profile *p, size_t event)
{
    return events_get(p, event)->scale;
}

int quern_profile_find_event(const struct quern_profile *p, const char *name)
{
    int i = events_find(p->event, p->event_count, name, strlen(name));

    if (i >= 0)
        return i;
    i = events_find(p->derived, p->derived_count, name, strlen(name));
    return i < 0 ? i : i + (int)p->event_count;
}

// ---- Comparing ----

static char *list_events(const struct quern_profile *p)
{
    size_t n = 1;

    for (size_t i = 0; i < p->event_count; i++)
        n += strlen(p->event[i].name) + 1;
    char *s, *o;
    if (!(s = o = malloc(n)))
        return NULL;
    *o = 0;
    for (size_t i = 0; i < p->event_count; i++) {
        if (i)
            *o++ = ' ';
        o = stpcpy(o, p->event[i].name);
    }
    return s;
}

// "X = Ir + Dr : long name", as in an 'event:' line; "none" if X has neither.
static void definition(char *out, size_t size, const char *name, const struct event *e)
{
    if (!e || (!e->formula && !e->long_name))
        snprintf(out, size, "none");
    else
        snprintf(out, size, "'%.20s%s%.30s%s%.20s'", name, e->formula ? " = " : "",
                 e->formula ? e->formula : "", e->long_name ? " : " : "",
                 e->long_name ? e->long_name : "");
}

// The first event whose formula or long name in a differs from that in b; *x and *y are that event
// in each. The events with counts are known to be the same. A derived one may have the name of one
// with counts.
static int other_definition(const struct quern_profile *a, const struct quern_profile *b,
                            const struct event **x, const struct event **y)
{
    for (size_t i = 0; i < a->event_count + a->derived_count; i++) {
        const struct event *e = events_get(a, i);
        int k = events_find(b->derived, b->derived_count, e->name, strlen(e->name));
        *x = e;
        *y = i < a->event_count ? &b->event[i] : k < 0 ? NULL : &b->derived[k];
        if (!*y || !text_same(e->formula, (*y)->formula) ||
            !text_same(e->long_name, (*y)->long_name))
            return 1;
    }
    return 0;
}

int events_same(const struct quern_profile *a, const char *a_name, const struct quern_profile *b,
                const char *b_name, struct quern_error *err)
{
    int same = a->event_count == b->event_count;

    for (size_t i = 0; same && i < a->event_count; i++)
        same = strcmp(a->event[i].name, b->event[i].name) == 0;
    if (!same) {
        char *ea = list_events(a), *eb = list_events(b);
        text_error(
            err, EINVAL, b_name,
            "its events (%.80s) are not those (%.80s) of %.60s; only like can be added or compared",
            eb ? eb : "?", ea ? ea : "?", a_name ? a_name : "the other profile");
        free(ea);
        free(eb);
        return -EINVAL;
    }
    // A sum of derived events means nothing if they are not the same; and a header can name them
    // only once.
    const struct event *x, *y;
    if (other_definition(a, b, &x, &y) || other_definition(b, a, &y, &x)) {
        const char *name = x ? x->name : y->name;
        char da[100], db[100];
        definition(da, sizeof(da), name, x);
        definition(db, sizeof(db), name, y);
        text_error(err, EINVAL, b_name,
                   "its 'event:' line of %.20s (%s) is not that (%s) of %.60s; only like can be "
                   "added or compared",
                   name, db, da, a_name ? a_name : "the other profile");
        return -EINVAL;
    }
    return 0;
}
