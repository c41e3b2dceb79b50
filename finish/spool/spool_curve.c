// SPDX-License-Identifier: MIT
//
// --curve=yes: misses by size, from the counters of the two stacks of each series
// (engine/count/curve.c), and how the lines touched grew.
#include "finish/spool/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "sim/curve.h"

_Static_assert(SPOOL_CURVE_SIZES == SIM_CURVE_SIZES, "the same sizes");

const char *const spool_curve_names[SPOOL_CURVE_SERIES] = { "D1mr", "D1mw", "I1mr",
                                                            "DLmr", "DLmw", "ILmr" };

static uint32_t line_of(const struct spool_header *h, uint32_t series)
{
    uint32_t line = series >= SPOOL_CURVE_LL      ? h->ll.line
                    : series == SPOOL_CURVE_FETCH ? h->i1.line
                                                  : h->d1.line;

    return line ? line : 64; // of a damaged spool
}

static void read_series(const struct spool_file *s, uint32_t series, uint64_t *misses)
{
    const uint64_t *n = s->counters + s->h->curve.counters - 1;
    uint64_t sum[2] = { 0, 0 }, near = (uint64_t)SPOOL_CURVE_NEAR << s->h->curve.rate;
    uint32_t line = line_of(s->h, series);

    for (uint32_t i = SPOOL_CURVE_SIZES; i-- > 0;) {
        for (uint32_t stack = 0; stack < 2; stack++)
            sum[stack] += n[spool_curve_counter(series, stack, i + 1)];
        misses[i] = sum[sim_curve_size(i) / line > near];
    }
    // The two samples differ: a larger cache would seem to miss more.
    for (uint32_t i = 1; i < SPOOL_CURVE_SIZES; i++)
        if (misses[i] > misses[i - 1])
            misses[i] = misses[i - 1];
}

static void read_lines(const struct spool_curve *c, struct spool_curve_file *f)
{
    f->points = (size_t)(c->interval ? c->refs / c->interval + 1 : 0);
    if (f->points > SPOOL_CURVE_POINTS)
        f->points = SPOOL_CURVE_POINTS;
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint64_t last = 0;

        for (size_t i = 0; i < f->points; i++) {
            if (c->lines[kind][i] > last)
                last = c->lines[kind][i];
            f->lines[kind][i] = last;
        }
    }
}

bool spool_curve_read(const struct spool_file *s, struct spool_curve_file *f)
{
    const struct spool_curve *c = &s->h->curve;

    memset(f, 0, sizeof(*f));
    if (!c->on || !c->counters || c->rate > 32 || !s->counters ||
        c->counters - 1 + UINT64_C(1) * SPOOL_CURVE_COUNTERS > s->counters_used)
        return false;
    f->rate = c->rate;
    f->interval = c->interval;
    for (uint32_t i = 0; i < SPOOL_CURVE_SIZES; i++)
        f->size[i] = sim_curve_size(i);
    for (uint32_t series = 0; series < SPOOL_CURVE_SERIES; series++)
        read_series(s, series, f->misses[series]);
    read_lines(c, f);
    return true;
}

static void row(FILE *f, const char *key, const uint64_t *n, size_t count)
{
    text_print(f, "Curve %s:", key);
    for (size_t i = 0; i < count; i++)
        fprintf(f, " %llu", (unsigned long long)n[i]);
    putc('\n', f);
}

char *spool_curve_desc(const struct spool_file *s)
{
    struct spool_curve_file c;
    uint64_t sample;
    char *text = NULL;
    size_t size;
    FILE *f;

    if (!spool_curve_read(s, &c))
        return NULL;
    f = open_memstream(&text, &size);
    if (!f)
        die(UTIL_USAGE, "out of memory");
    sample = UINT64_C(1) << c.rate;
    row(f, "sample", &sample, 1);
    row(f, "sizes", c.size, SPOOL_CURVE_SIZES);
    for (uint32_t i = 0; i < SPOOL_CURVE_SERIES; i++)
        row(f, spool_curve_names[i], c.misses[i], SPOOL_CURVE_SIZES);
    row(f, "interval", &c.interval, 1);
    row(f, "lines of data", c.lines[0], c.points);
    row(f, "lines of code", c.lines[1], c.points);
    if (fclose(f) != 0)
        die(UTIL_USAGE, "out of memory");
    return text;
}
