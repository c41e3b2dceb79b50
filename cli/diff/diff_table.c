// SPDX-License-Identifier: MIT
//
// The tables of `quern diff`. Functions of the two profiles are the same when file and name are,
// after --mod-filename and --mod-funcname. The object does not count, because two builds usually
// are in two folders, except for functions without a file, which only their object tells apart.
#include "cli/diff/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"
#include "cli/profiles/table.h"

static uint32_t rewritten(struct diff *d, const struct quern_profile *p, uint32_t s,
                          const struct quern_rewrite *rw)
{
    const char *text = quern_profile_str(p, s);
    uint32_t n;

    if (s == QUERN_NONE)
        return QUERN_NONE;
    if (rw) {
        char *t = quern_rewrite_apply(rw, text);
        if (!t)
            die(UTIL_USAGE,
                "the name '%.200s' cannot be rewritten: the pattern takes too long on it or "
                "its replacement is not understood",
                text);
        n = quern_profile_string(d->names, t, -1);
        free(t);
    } else {
        n = quern_profile_string(d->names, text, -1);
    }
    return n;
}

static void join_side(struct diff *d, struct diff_side *s, const struct quern_rewrite *file,
                      const struct quern_rewrite *func)
{
    size_t n = quern_profile_func_count(s->p), strings = quern_profile_str_count(s->p);

    if (!(s->costs = quern_costs_new(s->p)))
        die(UTIL_USAGE, "%s: out of memory", s->path);
    s->func = xcalloc(n + 1, sizeof(*s->func));
    s->file = xmalloc((strings + 1) * sizeof(*s->file));
    memset(s->file, 0xff, (strings + 1) * sizeof(*s->file));
    for (uint32_t f = 0; f < n; f++) {
        struct quern_func g = quern_profile_func_get(s->p, f);
        uint32_t object = QUERN_NONE;
        if (g.file == QUERN_NONE && g.object != QUERN_NONE)
            object = quern_profile_string(d->names,
                                          util_basename(quern_profile_str(s->p, g.object)), -1);
        if (g.file != QUERN_NONE && s->file[g.file] == QUERN_NONE)
            s->file[g.file] = rewritten(d, s->p, g.file, file);
        s->func[f] = quern_profile_func(d->names, object,
                                        g.file == QUERN_NONE ? QUERN_NONE : s->file[g.file],
                                        rewritten(d, s->p, g.name, func));
        if (s->func[f] == QUERN_NONE)
            die(UTIL_USAGE, "%s: out of memory", s->path);
    }
    // Files with lines but no function: headers.
    struct quern_cursor *c = read_cursor(s->p);
    struct quern_record rec;
    while (quern_cursor_next(c, &rec))
        if (rec.at.file != QUERN_NONE && s->file[rec.at.file] == QUERN_NONE)
            s->file[rec.at.file] = rewritten(d, s->p, rec.at.file, file);
    quern_cursor_free(c);
}

static void add_side(const struct diff *d, const struct diff_side *s, quern_count *to, uint8_t bit)
{
    size_t n = quern_profile_func_count(s->p);

    for (uint32_t f = 0; f < n; f++) {
        const quern_count *v =
            d->inclusive ? quern_costs_inclusive(s->costs, f) : quern_costs_self(s->costs, f);
        for (size_t i = 0; i < d->events; i++)
            to[s->func[f] * d->events + i] += v[i];
        d->in[s->func[f]] |= bit;
    }
}

void diff_join(struct diff *d, const struct quern_rewrite *file, const struct quern_rewrite *func)
{
    if (!(d->names = quern_profile_new()))
        die(UTIL_USAGE, "out of memory");
    join_side(d, &d->old, file, func);
    join_side(d, &d->new_, file, func);
    d->funcs = quern_profile_func_count(d->names);
    d->old_costs = xcalloc(d->funcs * d->events + 1, sizeof(*d->old_costs));
    d->new_costs = xcalloc(d->funcs * d->events + 1, sizeof(*d->new_costs));
    d->in = xcalloc(d->funcs + 1, 1);
    add_side(d, &d->old, d->old_costs, 1);
    add_side(d, &d->new_, d->new_costs, 2);
}

// ---- Order and choice ----

int diff_compare(const struct diff *d, const quern_count *x, const quern_count *y)
{
    for (size_t i = 0; i < d->sorted_count; i++) {
        quern_count v = event_value(d->old.p, d->sorted[i], x);
        quern_count w = event_value(d->old.p, d->sorted[i], y);
        v = v < 0 ? -v : v;
        w = w < 0 ? -w : w;
        if (v != w)
            return v > w ? -1 : 1;
    }
    return 0;
}

int diff_matters(const struct diff *d, const quern_count *delta)
{
    quern_count total = event_value(d->old.p, d->sorted[0], d->old_totals);
    quern_count v = event_value(d->old.p, d->sorted[0], delta);
    int any = 0;

    for (size_t i = 0; i < d->shown_count; i++)
        any |= event_value(d->old.p, d->shown[i], delta) != 0;
    if (!any)
        return 0;
    v = v < 0 ? -v : v;
    total = total < 0 ? -total : total;
    return d->threshold <= 0 || 100.0 * (double)v >= d->threshold * (double)total;
}

const char *diff_noun(const struct diff *d)
{
    return d->data ? "object" : "function";
}

void diff_put_func(const struct diff *d, uint32_t func)
{
    struct quern_func f = quern_profile_func_get(d->names, func);
    const char *file = quern_profile_str(d->names, f.file);
    const char *name = quern_profile_str(d->names, f.name);

    text_put(stdout, *file ? file : "???");
    putchar_unlocked(':');
    text_put(stdout, *name ? name : "???");
    if (f.object != QUERN_NONE)
        text_print(stdout, " [%s]", quern_profile_str(d->names, f.object));
}

// ---- Functions ----

struct row {
    uint32_t func, callee;
    uint64_t old_calls, new_calls;
    size_t delta; // index in the array of differences
};

static const struct diff *sorting;
static const quern_count *sorting_delta;

static int by_delta(const void *pa, const void *pb)
{
    const struct row *x = pa, *y = pb;
    int c = diff_compare(sorting, sorting_delta + x->delta, sorting_delta + y->delta);
    struct quern_func f, g;

    if (c)
        return c;
    f = quern_profile_func_get(sorting->names, x->func);
    g = quern_profile_func_get(sorting->names, y->func);
    if ((c = strcmp(quern_profile_str(sorting->names, f.file),
                    quern_profile_str(sorting->names, g.file))))
        return c;
    if ((c = strcmp(quern_profile_str(sorting->names, f.name),
                    quern_profile_str(sorting->names, g.name))))
        return c;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void head(struct diff *d, const struct row *row, size_t n, const quern_count *delta,
                 const char *title)
{
    table_reset(&d->table);
    for (size_t i = 0; i < n; i++)
        table_fit(&d->table, delta + row[i].delta, UINT64_MAX);
    fputs(TABLE_RULE, stdout);
    table_head(&d->table);
    text_print(stdout, " %s\n" TABLE_RULE, title);
}

// The rows that matter, sorted.
static struct row *choose(const struct diff *d, size_t *n, quern_count **all)
{
    quern_count *delta = xcalloc(d->funcs * d->events + 1, sizeof(*delta));
    struct row *row = xcalloc(d->funcs + 1, sizeof(*row));

    *n = 0;
    for (uint32_t f = 0; f < d->funcs; f++) {
        quern_count *v = delta + f * d->events;
        for (size_t i = 0; i < d->events; i++)
            v[i] = d->new_costs[f * d->events + i] - d->old_costs[f * d->events + i];
        if (diff_matters(d, v))
            row[(*n)++] = (struct row){ .func = f, .delta = f * d->events };
    }
    sorting = d;
    sorting_delta = delta;
    qsort(row, *n, sizeof(*row), by_delta);
    *all = delta;
    return row;
}

size_t diff_changed(const struct diff *d, uint32_t **func, quern_count **delta)
{
    size_t n;
    struct row *row = choose(d, &n, delta);

    *func = xcalloc(n, sizeof(**func));
    for (size_t i = 0; i < n; i++)
        (*func)[i] = row[i].func;
    free(row);
    return n;
}

void diff_functions(struct diff *d)
{
    quern_count *delta;
    char *title;
    size_t n;
    struct row *row = choose(d, &n, &delta);

    title = xasprintf("file:%s (%snew - old)", diff_noun(d), d->inclusive ? "inclusive, " : "");
    head(d, row, n, delta, title);
    free(title);
    for (size_t i = 0; i < n; i++) {
        table_row(&d->table, delta + row[i].delta, UINT64_MAX);
        putchar(' ');
        diff_put_func(d, row[i].func);
        fputs(d->in[row[i].func] == 1   ? " (gone)\n"
              : d->in[row[i].func] == 2 ? " (new)\n"
                                        : "\n",
              stdout);
    }
    putchar('\n');
    free(delta);
    free(row);
}

// ---- Edges ----

static int by_ends(const void *pa, const void *pb)
{
    const struct row *x = pa, *y = pb;
    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static size_t side_edges(const struct diff *d, const struct diff_side *s, struct row *row, size_t n,
                         quern_count *delta, int sign)
{
    for (size_t i = 0; i < quern_costs_edge_count(s->costs); i++, n++) {
        struct quern_edge e = quern_costs_edge(s->costs, i);
        row[n] = (struct row){ .func = s->func[e.caller],
                               .callee = s->func[e.callee],
                               .delta = n * d->events };
        if (sign > 0)
            row[n].new_calls = e.calls;
        else
            row[n].old_calls = e.calls;
        for (size_t k = 0; k < d->events; k++)
            delta[n * d->events + k] = sign * e.counts[k];
    }
    return n;
}

void diff_edges(struct diff *d)
{
    size_t all = quern_costs_edge_count(d->old.costs) + quern_costs_edge_count(d->new_.costs);
    struct row *row = xcalloc(all + 1, sizeof(*row));
    quern_count *delta = xcalloc(all * d->events + 1, sizeof(*delta));
    size_t n, m = 0;
    char a[80], b[80];

    n = side_edges(d, &d->old, row, 0, delta, -1);
    n = side_edges(d, &d->new_, row, n, delta, 1);
    qsort(row, n, sizeof(*row), by_ends);
    for (size_t i = 0, j; i < n; i = j) {
        struct row r = row[i];
        for (j = i + 1; j < n && by_ends(&row[i], &row[j]) == 0; j++) {
            r.old_calls += row[j].old_calls;
            r.new_calls += row[j].new_calls;
            for (size_t k = 0; k < d->events; k++)
                delta[r.delta + k] += delta[row[j].delta + k];
        }
        if (diff_matters(d, delta + r.delta) || (d->threshold <= 0 && r.old_calls != r.new_calls))
            row[m++] = r;
    }
    sorting = d;
    sorting_delta = delta;
    qsort(row, m, sizeof(*row), by_delta);
    head(d, row, m, delta,
         d->data ? "function => object (misses before -> now)"
                 : "caller => callee (calls before -> now)");
    for (size_t i = 0; i < m; i++) {
        table_row(&d->table, delta + row[i].delta, UINT64_MAX);
        putchar(' ');
        diff_put_func(d, row[i].func);
        fputs(" => ", stdout);
        diff_put_func(d, row[i].callee);
        event_commas(a, row[i].old_calls, 1);
        event_commas(b, row[i].new_calls, 1);
        text_print(stdout, " (%sx -> %sx)\n", a, b);
    }
    putchar('\n');
    free(row);
    free(delta);
}
