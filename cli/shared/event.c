// SPDX-License-Identifier: MIT
//
// Used by every command that shows counts.
#include "cli/shared/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/options.h"
#include "cli/shared/util.h"

// Names KCachegrind has built in, made of whatever of their parts the profile has.
static const struct {
    const char *name, *long_name, *parts; // "factor event" pairs
} known_events[] = {
    { "L1m", "L1 misses", "1 I1mr 1 D1mr 1 D1mw" },
    { "LLm", "last-level misses", "1 ILmr 1 DLmr 1 DLmw" },
    { "Bm", "mispredicted branches", "1 Bcm 1 Bim" },
    { "CEst", "cycle estimate",
      "1 Ir 10 Bcm 10 Bim 10 I1mr 10 D1mr 10 D1mw 20 Ge 100 ILmr 100 DLmr 100 DLmw" },
};

int event_find(struct quern_profile *p, const char *name)
{
    int i = quern_profile_find_event(p, name);

    if (i >= 0)
        return i;
    for (size_t k = 0; k < sizeof(known_events) / sizeof(*known_events); k++) {
        char formula[256] = "";
        char *parts, *save = NULL;
        if (strcmp(known_events[k].name, name) != 0)
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
