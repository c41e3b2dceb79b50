// SPDX-License-Identifier: MIT
//
// A source file: its lines with their costs, and calls below them; with a base both versions,
// aligned. The costs of a line are those of all functions with code from it, as in annotate.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/files/source.h"
#include "cli/top/top.h"
#include "report/core/detail.h"
#include "report/core/search.h"

enum { HEAT_LEVELS = 4 };

struct maker {
    struct top *t;
    struct formula *formula;
    struct detail *places, *calls;
    struct source *now, *old;
    uint64_t *past; // lines with costs past the end of the file, sorted
    size_t past_count;
};

void top_source_free(struct top *t)
{
    for (int s = 0; s < 2; s++) {
        if (t->text[s])
            source_put(t->text[s]);
        free(t->text[s]);
        t->text[s] = NULL;
    }
}

// The first row at or behind a line; d->count: none.
static size_t find(const struct detail *d, uint64_t line)
{
    return search_lower(d->row, d->count, sizeof(*d->row), offsetof(struct detail_row, line), line);
}

static struct top_values *new_values(struct top *t)
{
    static const struct value zero = { 0, 0, true };

    if (t->values == t->value_cap) {
        t->value_cap = t->value_cap * 2 + 64;
        t->value = xrealloc(t->value, t->value_cap * sizeof(*t->value));
    }
    t->value[t->values] = (struct top_values){ .cost = { zero, zero }, .calls = { zero, zero } };
    return &t->value[t->values++];
}

// The costs of a line, on each side by its number there. False: it has none.
static bool put_costs(struct maker *m, const uint64_t line[2], struct top_values *v)
{
    size_t row[2] = { SIZE_MAX, SIZE_MAX };
    bool any = false;

    for (unsigned s = 0; s < (m->t->compare ? 2u : 1u); s++) {
        size_t i = find(m->places, line[s]);
        if (line[s] == UINT64_MAX || i == m->places->count || m->places->row[i].line != line[s])
            continue;
        row[s] = i;
        v->cost[s] = detail_value(m->places, m->formula, s, i);
        // With a base, the other side may use this number for another line.
        any |= !m->t->compare || v->cost[s].approx != 0;
    }
    top_cause_line(m->t, m->places, row, &v->cause);
    return any;
}

static void add_calls(struct maker *m, const uint64_t line[2])
{
    struct top *t = m->t;
    size_t first = t->rows;

    for (unsigned s = 0; s < (t->compare ? 2u : 1u); s++)
        for (size_t i = find(m->calls, line[s]);
             line[s] != UINT64_MAX && i < m->calls->count && m->calls->row[i].line == line[s];
             i++) {
            const struct detail_row *d = &m->calls->row[i];
            struct value cost = detail_value(m->calls, m->formula, s, i);
            if (t->compare && !d->calls[s] && cost.approx == 0)
                continue;
            size_t at = first;
            while (at < t->rows && t->row[at].of != d->callee)
                at++;
            if (at == t->rows) {
                struct top_row *r = top_rows_add(t, ROW_SITE, d->callee);
                new_values(t);
                r->value = (uint32_t)t->values - 1;
            }
            struct top_values *v = &t->value[t->row[at].value];
            v->cost[s] = cost;
            v->calls[s] = (struct value){ d->calls[s], (double)d->calls[s], true };
        }
}

static void add_line(struct maker *m, uint64_t now, uint64_t old)
{
    struct top *t = m->t;
    const struct source *from = now != UINT64_MAX && now <= m->now->lines ? m->now : m->old;
    uint64_t number = from == m->now ? now : old, line[2] = { now, old };
    struct top_row *r = top_rows_add(t, ROW_LINE, CORE_NONE);
    struct top_values *v = new_values(t);

    r->line[0] = now == UINT64_MAX ? 0 : now;
    r->line[1] = old == UINT64_MAX ? 0 : old;
    r->value = put_costs(m, line, v) ? (uint32_t)t->values - 1 : CORE_NONE;
    r->text = "";
    if (number && number <= from->lines) {
        size_t n = from->start[number] - from->start[number - 1];
        r->text = from->text + from->start[number - 1];
        while (n && (r->text[n - 1] == '\n' || r->text[n - 1] == '\r'))
            n--;
        r->text_size = (uint32_t)n;
    } else if (now == 0) {
        r->text = "(no line)";
        r->text_size = (uint32_t)strlen(r->text);
    }
    add_calls(m, line);
}

// The lines of both versions, in the order of the listing.
static void add_pairs(struct maker *m)
{
    size_t *map = source_align(m->old, m->now);
    uint32_t now = 0;

    for (uint32_t old = 0; old < m->old->lines; old++) {
        if (!map[old]) {
            add_line(m, UINT64_MAX, old + 1u);
            continue;
        }
        while (now + 1 < map[old])
            add_line(m, ++now, UINT64_MAX);
        add_line(m, ++now, old + 1u);
    }
    while (now < m->now->lines)
        add_line(m, ++now, UINT64_MAX);
    free(map);
}

// Has a line of one version costs or calls?
static bool has_costs(const struct maker *m, uint64_t line, unsigned side)
{
    const struct detail *from[] = { m->places, m->calls };

    for (int k = 0; k < 2; k++)
        for (size_t i = find(from[k], line); i < from[k]->count && from[k]->row[i].line == line;
             i++)
            if (from[k]->row[i].calls[side] ||
                detail_value(from[k], m->formula, side, i).approx != 0)
                return true;
    return false;
}

static void add_past_end(struct maker *m, bool aligned)
{
    uint32_t longest = m->now->lines > m->old->lines ? m->now->lines : m->old->lines;

    for (size_t i = 0; i < m->past_count; i++) {
        uint64_t line = m->past[i];
        if (!line || (!aligned && line <= longest) ||
            (aligned && line <= m->now->lines && line <= m->old->lines))
            continue;
        if (!aligned) {
            add_line(m, line, line);
            continue;
        }
        // A separate row only where the line is past the end of the old version.
        if (line > m->old->lines && has_costs(m, line, 1))
            add_line(m, UINT64_MAX, line);
        if (line > m->now->lines && has_costs(m, line, 0))
            add_line(m, line, UINT64_MAX);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void gather_lines(struct maker *m)
{
    const struct detail *from[] = { m->places, m->calls };
    size_t n = 0;

    m->past = xcalloc(m->places->count + m->calls->count + 1, sizeof(*m->past));
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < from[i]->count; k++)
            m->past[n++] = from[i]->row[k].line;
    qsort(m->past, n, sizeof(*m->past), by_number);
    for (size_t i = 0; i < n; i++)
        if (!i || m->past[i] != m->past[i - 1])
            m->past[m->past_count++] = m->past[i];
}

// The heat of a line: the square root of its cost over that of the most expensive line.
static void warm(struct top *t)
{
    double most = 0;

    for (size_t i = 0; i < t->rows; i++)
        if (t->row[i].kind == ROW_LINE && t->row[i].value != CORE_NONE)
            most = fmax(most, t->value[t->row[i].value].cost[0].approx);
    for (size_t i = 0; i < t->rows && most > 0; i++) {
        struct top_row *r = &t->row[i];
        double v =
            r->kind == ROW_LINE && r->value != CORE_NONE ? t->value[r->value].cost[0].approx : 0;
        if (v > 0)
            r->heat = (uint8_t)fmin(HEAT_LEVELS, 1 + floor(sqrt(v / most) * HEAT_LEVELS));
    }
}

static void say_state(struct top *t, const char *name)
{
    bool missing = !t->text[0]->path || (t->compare && !t->text[1]->path);

    if (*t->say)
        return;
    if (t->text[0]->refused || t->text[1]->refused)
        snprintf(t->say, sizeof(t->say),
                 "%s: not read, since the profile was not recorded here; -I DIR allows what is "
                 "below DIR",
                 name);
    else if (missing)
        snprintf(t->say, sizeof(t->say), "%s: not found; -I DIR names a folder to look below",
                 name);
    else if (t->text[0]->changed || t->text[1]->changed)
        snprintf(t->say, sizeof(t->say),
                 "%s: changed after the profile was written: lines may differ",
                 t->text[0]->changed ? t->text[0]->path : t->text[1]->path);
}

static char *file_name(const struct top *t)
{
    struct text s = core_string(t->core, t->here.file);
    char *name = xmalloc(s.size + 1);

    if (s.size)
        memcpy(name, s.at, s.size);
    name[s.size] = 0;
    return name;
}

void top_source_make(struct top *t)
{
    struct core *c = t->core;
    struct maker m = { .t = t, .formula = t->formula[t->event] };

    if (t->here.file == CORE_NONE) {
        top_rows_add(t, ROW_SAYS, CORE_NONE)->text =
            c->has & CORE_HAS_LINE ? "The source file of this function is unknown."
                                   : "The profile has no lines: they come from debug information "
                                     "(-g).";
        return;
    }
    char *name = file_name(t);
    for (int s = 0; s < 2; s++) {
        t->text[s] = xcalloc(1, sizeof(*t->text[s]));
        if (*name && (s == 0 || t->compare))
            *t->text[s] = source_get(&t->side[s].include, t->side[s].mtime, name);
    }
    m.now = t->text[0];
    m.old = t->text[1];
    const struct formula *wanted = top_cause_shown(t) ? NULL : m.formula;
    top_data_check(detail_places(c, CORE_NONE, t->here.file, DETAIL_LINE, wanted, &m.places));
    top_data_check(detail_calls(c, CORE_NONE, t->here.file, DETAIL_LINE, m.formula, &m.calls));
    gather_lines(&m);
    if (m.past_count && m.past[0] == 0)
        add_line(&m, 0, 0);
    bool aligned = m.now->path && m.old->path;
    uint32_t lines = m.now->lines > m.old->lines ? m.now->lines : m.old->lines;
    if (aligned)
        add_pairs(&m);
    else
        for (uint32_t i = 1; i <= lines; i++)
            add_line(&m, i, i);
    add_past_end(&m, aligned);
    warm(t);
    say_state(t, name);
    if (!t->rows)
        top_rows_add(t, ROW_SAYS, CORE_NONE)->text = "No line of this file has a cost.";
    for (size_t i = 0; t->here.line && i < t->rows; i++)
        if (t->row[i].kind == ROW_LINE && t->row[i].line[0] == t->here.line) {
            t->here.at = i;
            break;
        }
    t->here.line = 0;
    free(name);
    free(m.past);
    detail_free(m.places);
    detail_free(m.calls);
}
