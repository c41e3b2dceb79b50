// SPDX-License-Identifier: MIT
//
// The table of `quern stat --curve=yes`: misses of the first run as of each size that is a power of
// two, and the lines that it touched.
#include "cli/stat/stat.h"

#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/terminal/colour.h"

enum { COLUMNS = 3 };

// Each column is a sum of series.
static uint64_t misses(const struct spool_curve_file *c, int column, uint32_t size)
{
    const uint64_t(*m)[SPOOL_CURVE_SIZES] = c->misses;

    switch (column) {
    case 0: return m[SPOOL_CURVE_READ][size] + m[SPOOL_CURVE_WRITE][size];
    case 1: return m[SPOOL_CURVE_FETCH][size];
    default:
        return m[SPOOL_CURVE_LL + SPOOL_CURVE_READ][size] +
               m[SPOOL_CURVE_LL + SPOOL_CURVE_WRITE][size] +
               m[SPOOL_CURVE_LL + SPOOL_CURVE_FETCH][size];
    }
}

static void put_size(FILE *f, uint64_t bytes)
{
    static const char *const unit[] = { "KiB", "MiB", "GiB" };
    size_t u = 0;

    for (bytes >>= 10; bytes >= 1024 && u < 2; bytes >>= 10)
        u++;
    text_print(f, "%4llu %s", (unsigned long long)bytes, unit[u]);
}

static void put_lines(FILE *f, const struct spool_curve_file *c)
{
    char data[80], code[80];

    if (!c->points)
        return;
    event_commas(data, (quern_count)c->lines[0][c->points - 1], 1);
    event_commas(code, (quern_count)c->lines[1][c->points - 1], 1);
    text_print(f, "\nlines touched: %s of data, %s of code\n", data, code);
}

void stat_curve(FILE *f, const struct tally *s)
{
    static const char *const head[COLUMNS] = { "D1", "I1", "LL" };
    struct spool_curve_file c;
    int width[COLUMNS];
    char buf[80];

    if (!spool_curve_read(&s->run[0].spool, &c))
        return;
    text_print(f, "\nMisses of caches of other sizes%s, estimated from one line in %u:\n\n",
               s->done > 1 ? " in the first run" : "", 1u << c.rate);
    colour_begin(f, COLOUR_HEAD);
    text_print(f, "%8s", "");
    for (int k = 0; k < COLUMNS; k++) {
        event_commas(buf, (quern_count)misses(&c, k, 0), 1);
        width[k] = (int)strlen(buf);
        text_print(f, "  %*s", width[k], head[k]);
    }
    colour_end(f, COLOUR_HEAD);
    putc('\n', f);
    for (uint32_t i = 0; i < SPOOL_CURVE_SIZES; i += 2) {
        put_size(f, c.size[i]);
        for (int k = 0; k < COLUMNS; k++) {
            event_commas(buf, (quern_count)misses(&c, k, i), 1);
            text_print(f, "  %*s", width[k], buf);
        }
        putc('\n', f);
    }
    put_lines(f, &c);
}
