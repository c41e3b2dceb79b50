// SPDX-License-Identifier: MIT
//
// The totals of a profile as the result of a benchmark, for services that draw them over time:
// --to=github-benchmark is the input of github-action-benchmark for its tool customSmallerIsBetter,
// --to=bencher the Bencher Metric Format. Both are JSON; a profile is one benchmark, each of its
// events a measure.
#include "cli/convert/convert.h"

#include <stdlib.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

enum { NAME_MAX_BYTES = 1024 }; // of a benchmark, at Bencher

static char *benchmark(const struct convert *c)
{
    const char *name = c->name ? c->name : read_command(c->p);
    char *copy = xstrdup(*name ? name : util_basename(c->paths[0]));

    copy[text_cut(copy, NAME_MAX_BYTES)] = '\0';
    return copy;
}

// Event `e` of all, or the one that was asked for. False: there are no more.
static bool next_event(const struct convert *c, size_t *e)
{
    if (c->event_name) {
        *e += c->event;
        return *e == c->event;
    }
    return *e < c->events;
}

static void put_total(FILE *f, const struct convert *c, size_t event)
{
    char buf[64];

    quern_count_format(buf, sizeof(buf), event_value(c->p, event, quern_profile_totals(c->p)),
                       quern_profile_event_scale(c->p, event));
    fputs(buf, f);
}

void convert_github_benchmark(FILE *f, const struct convert *c)
{
    char *name = benchmark(c);
    const char *comma = "";

    fputs("[", f);
    for (size_t i = 0, e = 0; next_event(c, &e); e = ++i) {
        char *both = xasprintf("%s: %s", name, quern_profile_event_name(c->p, e));
        const char *words = quern_profile_event_long_name(c->p, e);

        fprintf(f, "%s\n{\"name\":", comma);
        json_string(f, both);
        fputs(",\"unit\":", f);
        json_string(f, words && *words ? words : quern_profile_event_name(c->p, e));
        fputs(",\"value\":", f);
        put_total(f, c, e);
        putc('}', f);
        free(both);
        comma = ",";
    }
    fputs("]\n", f);
    free(name);
}

void convert_bencher(FILE *f, const struct convert *c)
{
    char *name = benchmark(c);
    const char *comma = "";

    fputs("{", f);
    json_string(f, name);
    fputs(":{", f);
    for (size_t i = 0, e = 0; next_event(c, &e); e = ++i) {
        fputs(comma, f);
        putc('\n', f);
        json_string(f, quern_profile_event_name(c->p, e));
        fputs(":{\"value\":", f);
        put_total(f, c, e);
        putc('}', f);
        comma = ",";
    }
    fputs("}}\n", f);
    free(name);
}
