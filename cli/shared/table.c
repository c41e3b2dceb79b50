// SPDX-License-Identifier: MIT
//
// The layout is that of cg_annotate: a number, then its share of the total in a field of nine.
#include "cli/shared/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/event.h"
#include "cli/shared/util.h"

const char table_rule[] =
    "--------------------------------------------------------------------------------\n";

#define PERC_WIDTH 9 // " (12.34%)"

void table_init(struct table *t, struct quern_profile *p, const size_t *events, size_t n, int percs,
                const quern_count *totals)
{
    quern_count *shown = xcalloc(n + 1, sizeof(*shown));

    t->cols = n;
    t->p = p;
    t->percs = percs;
    t->event = xcalloc(n + 1, sizeof(*t->event));
    t->width = xcalloc(n + 1, sizeof(*t->width));
    for (size_t i = 0; i < n; i++) {
        t->event[i] = events[i];
        shown[i] = event_value(p, events[i], totals);
    }
    t->totals = shown;
    table_reset(t);
}

void table_free(struct table *t)
{
    free(t->event);
    free(t->width);
    free((void *)t->totals);
}

void table_reset(struct table *t)
{
    for (size_t i = 0; i < t->cols; i++) {
        int w = (int)strlen(quern_profile_event_name(t->p, t->event[i]));
        t->width[i] = t->percs ? w - PERC_WIDTH : w;
        if (t->width[i] < 1)
            t->width[i] = 1;
    }
}

void table_fit(struct table *t, const quern_count *counts, uint64_t present)
{
    char buf[80];

    for (size_t i = 0; i < t->cols; i++) {
        quern_count v;
        if (!event_present(t->p, t->event[i], present))
            continue;
        v = event_value(t->p, t->event[i], counts);
        int n = event_commas(buf, v, quern_profile_event_scale(t->p, t->event[i]));
        if (n > t->width[i])
            t->width[i] = n;
    }
}

void table_head(const struct table *t)
{
    for (size_t i = 0; i < t->cols; i++)
        printf("%-*s ", t->width[i] + (t->percs ? PERC_WIDTH : 0),
               quern_profile_event_name(t->p, t->event[i]));
}

void table_row(const struct table *t, const quern_count *counts, uint64_t present)
{
    char buf[80], perc[32];

    for (size_t i = 0; i < t->cols; i++) {
        size_t e = t->event[i];
        quern_count v = 0;
        int n = 1;
        if (event_present(t->p, e, present)) {
            v = event_value(t->p, e, counts);
            n = event_commas(buf, v, quern_profile_event_scale(t->p, e));
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
