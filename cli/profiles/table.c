// SPDX-License-Identifier: MIT
//
// The layout is that of cg_annotate: a number, then its share of the total in a field of nine.
#include "cli/profiles/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/percent.h"
#include "cli/terminal/colour.h"
#include "report/pack/known.h"

#define PERC_WIDTH 9 // " (12.34%)"
#define PART_WIDTH 6 // "100.0%"

void table_init(struct table *t, struct quern_profile *p, const size_t *events, size_t n, int percs,
                const quern_count *totals)
{
    quern_count *shown = xcalloc(n + 1, sizeof(*shown));

    t->colours = TABLE_PLAIN;
    t->cols = n;
    t->p = p;
    t->percs = percs;
    t->event = xcalloc(n + 1, sizeof(*t->event));
    t->width = xcalloc(n + 1, sizeof(*t->width));
    t->range = xcalloc(n + 1, sizeof(*t->range));
    t->part = xcalloc(n + 1, sizeof(*t->part));
    for (size_t i = 0; i < n; i++) {
        t->event[i] = events[i];
        shown[i] = event_value(p, events[i], totals);
    }
    t->totals = shown;
    table_reset(t);
}

bool table_causes(struct table *t)
{
    struct known_cycles c;

    if (!known_cycles(t->p, &c))
        return false;
    t->whole = c.all;
    for (size_t i = 0; i < t->cols; i++)
        for (size_t k = 0; k < KNOWN_CAUSES; k++)
            t->part[i] |= t->event[i] == c.cause[k];
    table_reset(t);
    return true;
}

void table_free(struct table *t)
{
    free(t->part);
    free(t->event);
    free(t->width);
    free(t->range);
    free((void *)t->totals);
}

void table_reset(struct table *t)
{
    for (size_t i = 0; i < t->cols; i++) {
        int w = (int)strlen(quern_profile_event_name(t->p, t->event[i]));
        t->width[i] = t->percs && !t->part[i] ? w - PERC_WIDTH : w;
        if (t->width[i] < (t->part[i] ? PART_WIDTH : 1))
            t->width[i] = t->part[i] ? PART_WIDTH : 1;
        t->range[i] = (struct table_range){ 0, 0 }; // width 1 holds a zero
    }
}

// Is a column's value shown as a share of the row? Not in a difference, where a part may be larger
// than the whole or have another sign: the share would say nothing.
static bool is_share(const struct table *t, size_t column, quern_count v, const quern_count *counts)
{
    return t->part[column] && v >= 0 && v <= event_value(t->p, t->whole, counts);
}

// The number of a column as text; its length.
static int put_number(const struct table *t, size_t column, quern_count v,
                      const quern_count *counts, char buf[80])
{
    if (!is_share(t, column, v, counts))
        return event_commas(buf, v, quern_profile_event_scale(t->p, t->event[column]));
    double whole = (double)event_value(t->p, t->whole, counts);
    return snprintf(buf, 80, v ? "%.1f%%" : "0", v ? 100 * (double)v / whole : 0);
}

// The largest and the smallest number decide the width of a column without fractions.
void table_fit(struct table *t, const quern_count *counts, uint64_t present)
{
    char buf[80];

    for (size_t i = 0; i < t->cols; i++) {
        quern_count v;
        if (!event_present(t->p, t->event[i], present))
            continue;
        v = event_value(t->p, t->event[i], counts);
        struct table_range *r = &t->range[i];
        if ((v <= r->most && v >= r->least) || is_share(t, i, v, counts))
            continue;
        int64_t scale = quern_profile_event_scale(t->p, t->event[i]);
        if (scale == 1)
            *(v < 0 ? &r->least : &r->most) = v;
        int n = event_commas(buf, v, scale);
        if (n > t->width[i])
            t->width[i] = n;
    }
}

void table_head(const struct table *t)
{
    colour_begin(stdout, COLOUR_HEAD);
    for (size_t i = 0; i < t->cols; i++)
        text_print(stdout, t->part[i] ? "%*s " : "%-*s ",
                   t->width[i] + (t->percs && !t->part[i] ? PERC_WIDTH : 0),
                   quern_profile_event_name(t->p, t->event[i]));
    colour_end(stdout, COLOUR_HEAD);
}

static enum colour colour_of(const struct table *t, size_t column, quern_count v)
{
    quern_count total = t->totals[column];

    if (t->colours == TABLE_CHANGES)
        return colour_of_change(v > 0 ? 1 : v < 0 ? -1 : 0);
    if (t->colours == TABLE_SHARES && total > 0 && v * 10 >= total)
        return COLOUR_WARN;
    return COLOUR_PLAIN;
}

void table_row(const struct table *t, const quern_count *counts, uint64_t present)
{
    char buf[80], perc[PERCENT_MAX + 8];

    for (size_t i = 0; i < t->cols; i++) {
        size_t e = t->event[i];
        quern_count v = 0;
        enum colour c;
        int n = 1;

        if (event_present(t->p, e, present)) {
            v = event_value(t->p, e, counts);
            n = put_number(t, i, v, counts, buf);
        } else {
            buf[0] = '.';
            buf[1] = 0;
        }
        for (int k = n; k < t->width[i]; k++)
            putchar_unlocked(' ');
        c = colour_of(t, i, v);
        colour_begin(stdout, c);
        fwrite_unlocked(buf, 1, (size_t)n, stdout);
        colour_end(stdout, c);
        if (t->part[i]) {
            putchar_unlocked(' ');
        } else if (t->percs && v) {
            double share = t->totals[i] ? 100.0 * (double)v / (double)t->totals[i] : 0;
            char *o = perc;
            *o++ = ' ';
            *o++ = '(';
            o += percent_put(o, share);
            *o++ = '%';
            *o++ = ')';
            *o++ = ' ';
            fwrite_unlocked(perc, 1, (size_t)(o - perc), stdout);
        } else if (t->percs) {
            fwrite_unlocked("          ", 1, PERC_WIDTH + 1, stdout);
        } else {
            putchar_unlocked(' ');
        }
    }
}
