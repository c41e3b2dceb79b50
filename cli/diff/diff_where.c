// SPDX-License-Identifier: MIT
//
// Where an exceeded limit was exceeded: the functions that changed most, and in each the lines.
// Called by diff_limit.c when all limits are measured; every output shows the same.
//
// In CI the old source is seldom at hand, so lines are paired by what the profiles say of them:
// those of a function whose numbers differ by the same all along are the same lines; otherwise so
// that the changes are the smallest in all.
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/profiles/event.h"
#include "cli/profiles/read.h"

// ---- Functions ----

static quern_count size_of(quern_count v)
{
    return v < 0 ? -v : v;
}

// Places by their change, in the direction of the limit; then by number, which is their order in
// the profiles.
static int by_change(const void *pa, const void *pb)
{
    const struct diff_place *x = pa, *y = pb;
    quern_count v = size_of(x->now - x->old), w = size_of(y->now - y->old);

    if (v != w)
        return v > w ? -1 : 1;
    return x->func < y->func ? -1 : x->func > y->func;
}

void diff_where_add(struct diff_limit *l, uint32_t func, quern_count old, quern_count now)
{
    // Doubles at each power of two.
    if (!(l->places & (l->places - 1)))
        l->place = xrealloc(l->place, (l->places ? l->places * 2 : 1) * sizeof(*l->place));
    l->place[l->places++] = (struct diff_place){ .func = func, .old = old, .now = now };
}

// ---- Lines ----

struct line_cost {
    uint32_t func, file; // common numbers
    uint64_t line;
    const quern_count *counts;
};

struct lines {
    struct line_cost *line;
    size_t n;
};

static int by_line(const void *pa, const void *pb)
{
    const struct line_cost *x = pa, *y = pb;

    if (x->func != y->func)
        return x->func < y->func ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

// Inclusive costs are those of calls, too; inside a cycle they add nothing.
static bool is_wanted(const struct diff *d, const struct diff_side *s,
                      const struct quern_record *rec, const uint8_t *wanted)
{
    if (!rec->at.line || !wanted[s->func[rec->at.func]])
        return false;
    if (rec->kind == QUERN_REC_CALL && d->inclusive && rec->to.func != rec->at.func) {
        uint32_t cycle = quern_costs_cycle(s->costs, rec->at.func);

        return !cycle || cycle != quern_costs_cycle(s->costs, rec->to.func);
    }
    return rec->kind == QUERN_REC_COST;
}

// The lines of the wanted functions, sorted, each once.
static struct lines collect(const struct diff *d, const struct diff_side *s, const uint8_t *wanted)
{
    struct quern_cursor *c = read_cursor(s->p);
    struct quern_record rec;
    struct lines out = { 0 };
    size_t m = 0;

    while (quern_cursor_next(c, &rec)) {
        quern_count *counts;
        uint32_t func, file;

        if (!is_wanted(d, s, &rec, wanted))
            continue;
        func = s->func[rec.at.func];
        file = rec.at.file != QUERN_NONE ? s->file[rec.at.file]
                                         : quern_profile_func_get(d->names, func).file;
        if (!(out.n & (out.n - 1)))
            out.line = xrealloc(out.line, (out.n ? out.n * 2 : 1) * sizeof(*out.line));
        counts = xcalloc(d->events + 1, sizeof(*counts));
        memcpy(counts, rec.counts, d->events * sizeof(*counts));
        out.line[out.n++] = (struct line_cost){ func, file, rec.at.line, counts };
    }
    quern_cursor_free(c);
    if (!out.n)
        return out;
    qsort(out.line, out.n, sizeof(*out.line), by_line);
    for (size_t i = 1; i < out.n; i++) {
        if (by_line(&out.line[m], &out.line[i]) != 0) {
            out.line[++m] = out.line[i];
            continue;
        }
        for (size_t k = 0; k < d->events; k++)
            ((quern_count *)out.line[m].counts)[k] += out.line[i].counts[k];
        free((void *)out.line[i].counts);
    }
    out.n = m + 1;
    return out;
}

static void drop(struct lines *s)
{
    for (size_t i = 0; i < s->n; i++)
        free((void *)s->line[i].counts);
    free(s->line);
}

// The lines of a function in one file, or, without a file (QUERN_NONE), in all.
static struct lines part_of(const struct lines *all, uint32_t func, uint32_t file)
{
    struct lines out = { all->line, 0 };

    for (size_t i = 0; i < all->n; i++)
        if (all->line[i].func == func && (file == QUERN_NONE || all->line[i].file == file)) {
            if (!out.n)
                out.line = &all->line[i];
            out.n++;
        }
    return out;
}

// The values of one event.
static quern_count *values_of(const struct diff *d, const struct diff_limit *l,
                              const struct lines *s)
{
    quern_count *v = xcalloc(s->n + 1, sizeof(*v));

    for (size_t i = 0; i < s->n; i++)
        v[i] = event_value(d->new_.p, l->event_number, s->line[i].counts);
    return v;
}

static bool is_moved(const struct lines *a, const struct lines *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (b->line[i].line - a->line[i].line != b->line[0].line - a->line[0].line)
            return false;
    return true;
}

enum step { STEP_PAIR, STEP_OLD, STEP_NEW }; // to both next lines, the next old one, the new one

static quern_count least(quern_count a, quern_count b)
{
    return a < b ? a : b;
}

// Which lines are the same ones, in their order, so that the changes are the smallest in all. A
// line without a partner costs its whole value. from[j] becomes the old line of the new line j, +
// 1, or 0.
static void pair_smallest(const quern_count *a, size_t n, const quern_count *b, size_t m,
                          size_t *from)
{
    uint8_t *step = xmalloc((n + 1) * (m + 1));
    quern_count *cost = xcalloc(m + 1, sizeof(*cost)); // of the rest, from the line i and j on
    size_t i = n + 1, j;

    while (i-- > 0) {
        quern_count corner = 0;

        for (j = m + 1; j-- > 0;) {
            quern_count skip_old = i < n ? cost[j] + size_of(a[i]) : 0;
            quern_count skip_new = j < m ? cost[j + 1] + size_of(b[j]) : 0;
            quern_count both = i < n && j < m ? corner + size_of(b[j] - a[i]) : 0, best;
            uint8_t *at = &step[i * (m + 1) + j];

            *at = i < n && j < m ? STEP_PAIR : i < n ? STEP_OLD : STEP_NEW;
            best = *at == STEP_PAIR ? least(both, least(skip_old, skip_new))
                                    : skip_old + skip_new; // one of them is 0
            if (*at == STEP_PAIR && best != both)
                *at = best == skip_old ? STEP_OLD : STEP_NEW;
            corner = cost[j];
            cost[j] = best;
        }
    }
    for (i = j = 0; i < n || j < m;) {
        enum step next = step[i * (m + 1) + j];

        if (next == STEP_PAIR)
            from[j] = i + 1;
        i += next != STEP_NEW;
        j += next != STEP_OLD;
    }
    free(step);
    free(cost);
}

// The same for all lines. Equal values at both ends are pairs in the best pairing, too.
static void pair(const struct lines *a, const quern_count *va, const struct lines *b,
                 const quern_count *vb, size_t *from)
{
    enum { STEPS_MAX = 4 << 20 }; // bytes; a function of 2,000 lines has so many
    size_t first = 0, n = a->n, m = b->n;

    for (; first < n && first < m && va[first] == vb[first]; first++)
        from[first] = first + 1;
    for (; n > first && m > first && va[n - 1] == vb[m - 1]; n--, m--)
        from[m - 1] = n;
    if (is_moved(a, b) || (n - first + 1) * (m - first + 1) > STEPS_MAX) {
        for (size_t j = first; j < m; j++)
            from[j] = j < n ? j + 1 : 0;
        return;
    }
    pair_smallest(va + first, n - first, vb + first, m - first, from + first);
    for (size_t j = first; j < m; j++)
        from[j] += from[j] ? first : 0;
}

// Keeps the largest changes.
static void put_line(struct diff_place *p, struct diff_line line)
{
    quern_count size = size_of(line.now - line.old);
    size_t at = p->lines;

    while (at > 0 && size > size_of(p->line[at - 1].now - p->line[at - 1].old))
        at--;
    if (p->lines < DIFF_LINES)
        p->lines++;
    for (size_t i = p->lines; i-- > at + 1;)
        p->line[i] = p->line[i - 1];
    if (at < p->lines)
        p->line[at] = line;
}

static void compare_file(const struct diff *d, const struct diff_limit *l, struct diff_place *p,
                         const struct lines *a, const struct lines *b)
{
    quern_count *va = values_of(d, l, a), *vb = values_of(d, l, b);
    size_t *from = xcalloc(b->n + 1, sizeof(*from));

    pair(a, va, b, vb, from);
    for (size_t j = 0; j < b->n; j++) {
        quern_count old = from[j] ? va[from[j] - 1] : 0;
        const quern_count *counts = from[j] ? a->line[from[j] - 1].counts : NULL;

        if (l->falls ? vb[j] < old : vb[j] > old)
            put_line(p, (struct diff_line){ b->line[j].file, b->line[j].line, old, vb[j],
                                            diff_cause_of(d, l, counts, b->line[j].counts) });
    }
    free(va);
    free(vb);
    free(from);
}

static void find_lines(const struct diff *d, const struct diff_limit *l, struct diff_place *p,
                       const struct lines *old, const struct lines *now)
{
    struct lines all = part_of(now, p->func, QUERN_NONE), b;

    for (size_t i = 0; i < all.n; i += b.n) {
        struct lines a = part_of(old, p->func, all.line[i].file);

        b = part_of(&all, p->func, all.line[i].file);
        compare_file(d, l, p, &a, &b);
    }
}

void diff_where(struct diff *d)
{
    uint8_t *wanted = xcalloc(d->funcs + 1, 1);
    struct lines old, now;

    for (size_t i = 0; i < d->fail_if.count; i++) {
        struct diff_limit *l = &d->limit[i];

        if (l->places)
            qsort(l->place, l->places, sizeof(*l->place), by_change);
        l->shown = l->places < DIFF_PLACES ? l->places : DIFF_PLACES;
        for (size_t k = 0; k < l->shown; k++) {
            uint32_t f = l->place[k].func;

            wanted[f] = 1;
            l->place[k].cause =
                diff_cause_of(d, l, d->old_costs + f * d->events, d->new_costs + f * d->events);
        }
    }
    old = collect(d, &d->old, wanted);
    now = collect(d, &d->new_, wanted);
    for (size_t i = 0; i < d->fail_if.count; i++)
        for (size_t k = 0; k < d->limit[i].shown; k++)
            find_lines(d, &d->limit[i], &d->limit[i].place[k], &old, &now);
    drop(&old);
    drop(&now);
    free(wanted);
}
