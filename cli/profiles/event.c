// SPDX-License-Identifier: MIT
//
// Used by every command that shows counts.
#include "cli/profiles/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/nearest.h"
#include "cli/base/util.h"
#include "cli/options/options.h"
#include "report/pack/known.h"

int event_find(struct quern_profile *p, const char *name)
{
    return known_event(p, name);
}

static _Noreturn void unknown(struct quern_profile *p, const char *option, const char *name)
{
    struct nearest n = nearest_begin(name, strlen(name));
    char have[400] = "";

    for (size_t k = 0; k < quern_profile_event_count(p) + quern_profile_derived_count(p); k++) {
        size_t len = strlen(have);

        snprintf(have + len, sizeof(have) - len, " %s", quern_profile_event_name(p, k));
        nearest_offer(&n, quern_profile_event_name(p, k));
    }
    if (n.best)
        die(UTIL_USAGE, "%s: the profile has no event '%s'; is %s meant? It has:%s", option, name,
            n.best, have);
    die(UTIL_USAGE, "%s: the profile has no event '%s'; it has:%s", option, name, have);
}

size_t event_list(struct quern_profile *p, const char *option, const char *list, size_t **out,
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
        i = event_find(p, s);
        if (i < 0)
            unknown(p, option, s);
        if (thresholds)
            (*thresholds)[n] = colon ? options_percent(colon, 100) : -1;
        if (colon && (*thresholds)[n] < 0)
            die(UTIL_USAGE, "%s: %s:%s: must be a percentage from 0 to 100", option, s, colon);
        (*out)[n++] = (size_t)i;
    }
    free(copy);
    if (!n)
        die(UTIL_USAGE, "%s: names no event", option);
    return n;
}

bool event_cycles(const struct quern_profile *p, struct known_cycles *c)
{
    return known_cycles(p, c);
}

const char *event_meaning(int cause)
{
    return known_meaning(cause);
}

size_t event_default(const struct quern_profile *p, size_t **out)
{
    size_t n = quern_profile_event_count(p);
    int ir = quern_profile_find_event(p, "Ir");
    struct known_cycles c;

    *out = xcalloc(n + 1, sizeof(**out));
    if (!known_cycles(p, &c)) {
        for (size_t i = 0; i < n; i++)
            (*out)[i] = i;
        return n;
    }
    n = 0;
    (*out)[n++] = c.all;
    for (size_t i = 0; i < KNOWN_CAUSES; i++)
        (*out)[n++] = c.cause[i];
    if (ir >= 0)
        (*out)[n++] = (size_t)ir;
    return n;
}

quern_count event_value(const struct quern_profile *p, size_t event, const quern_count *counts)
{
    return event < quern_profile_event_count(p) ? counts[event]
                                                : quern_profile_derive(p, event, counts);
}

int event_present(const struct quern_profile *p, size_t event, uint64_t present)
{
    if (event >= quern_profile_event_count(p) || event >= 64)
        return present != 0;
    return (int)(present >> event & 1);
}

double event_double(const struct quern_profile *p, size_t event, quern_count v)
{
    return (double)v / (double)quern_profile_event_scale(p, event);
}

int event_commas(char *buf, quern_count v, int64_t scale)
{
    char digits[64], *d = digits, *o = buf;
    size_t whole = (size_t)quern_count_format(digits, sizeof(digits), v, scale);

    if (*d == '-') {
        *o++ = *d++;
        whole--;
    }
    if (scale > 1)
        whole = strcspn(d, ".");
    for (size_t left = whole; left; left--) {
        *o++ = *d++;
        if (left % 3 == 1 && left > 1)
            *o++ = ',';
    }
    while (*d)
        *o++ = *d++;
    *o = 0;
    return (int)(o - buf);
}
