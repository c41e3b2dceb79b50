// SPDX-License-Identifier: MIT
//
// What each view shows: its rows, their order, its columns.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/top/top.h"
#include "report/core/heap.h"
#include "report/core/rows.h"

// ---- Columns ----

static void add_column(struct top *t, enum values_of of, unsigned side, bool share)
{
    t->column[t->columns++] = (struct top_column){ .of = of, .side = side, .share = share };
}

// Beside cycles. As a share it is no column to sort by.
static void add_cause(struct top *t, enum values_of of)
{
    if (!top_cause_shown(t))
        return;
    add_column(t, of, VALUES_NEW, true);
    t->column[t->columns - 1].cause = true;
}

// The columns of one kind of cost: number and share; with a base both numbers, difference and
// factor.
static void add_cost(struct top *t, enum values_of of, bool share)
{
    if (!t->compare) {
        add_column(t, of, VALUES_NEW, false);
        if (share && !formula_is_ratio(t->formula[t->event]))
            add_column(t, of, VALUES_NEW, true);
        return;
    }
    add_column(t, of, VALUES_OLD, false);
    add_column(t, of, VALUES_NEW, false);
    add_column(t, of, VALUES_DIFFERENCE, false);
    add_column(t, of, VALUES_FACTOR, false);
}

static void add_count(struct top *t, enum values_of of)
{
    if (t->compare)
        add_column(t, of, VALUES_OLD, false);
    add_column(t, of, VALUES_NEW, false);
}

static void make_columns(struct top *t)
{
    t->columns = 0;
    switch (t->here.view) {
    case TOP_FUNCTIONS:
        if (t->data) { // an object has no calls, a function that misses only these
            add_cost(t, t->inclusive ? VALUES_INCLUSIVE : VALUES_SELF, true);
            if (!t->inclusive)
                add_count(t, VALUES_CALLED);
            break;
        }
        if (t->calls && (!t->compare || t->inclusive))
            add_cost(t, VALUES_INCLUSIVE, true);
        if (!t->compare || !t->inclusive)
            add_cost(t, VALUES_SELF, true);
        if (t->group < 0)
            add_cause(t, t->compare && t->inclusive ? VALUES_INCLUSIVE : VALUES_SELF);
        if (t->calls)
            add_count(t, VALUES_CALLED);
        break;
    case TOP_FUNCTION:
        add_cost(t, VALUES_EDGE, true);
        add_cause(t, VALUES_EDGE);
        if (t->calls)
            add_count(t, VALUES_CALLS);
        break;
    case TOP_SOURCE:
        add_cost(t, VALUES_SELF, true);
        add_cause(t, VALUES_SELF);
        break;
    case TOP_EVENTS: add_cost(t, VALUES_TOTAL, false); break;
    case TOP_HELP: break;
    }
    if (t->shift >= t->columns)
        t->shift = 0;
}

// The default sort column of functions: the chosen kind of cost, with a base the difference.
static unsigned default_sort(const struct top *t)
{
    enum values_of of = t->inclusive ? VALUES_INCLUSIVE : VALUES_SELF;

    for (unsigned i = 0; i < t->columns; i++)
        if (t->column[i].of == of && t->column[i].side == (t->compare ? VALUES_DIFFERENCE : 0u))
            return i;
    return 0;
}

// ---- Functions ----

static unsigned all_sides(const struct top *t)
{
    return t->compare ? VALUES_DIFFERENCE : VALUES_NEW;
}

static void prepare(struct top *t, enum values_of of)
{
    top_data_check(values_prepare(t->core, t->formula[t->event], of, all_sides(t)));
    top_cause_prepare(t, of, all_sides(t));
}

// t->sort is TOP_COLUMNS before the first columns are made.
static void sort_funcs(struct top *t)
{
    struct rows_key key = { .descending = !t->up, .formula = t->formula[t->event] };

    if (t->sort == t->columns) {
        key.field = ROWS_NAME;
        key.descending = t->up;
    } else {
        const struct top_column *c = &t->column[t->sort];
        key.of = c->of;
        key.side = c->side;
        key.magnitude = c->side == VALUES_DIFFERENCE;
    }
    top_data_check(rows_sort(t->core, t->func, t->funcs, &key));
}

static void make_funcs(struct top *t)
{
    if (t->func_fresh)
        return;
    uint8_t *mask = top_filter_mask(t);
    if (!t->func)
        t->func = xcalloc(t->core->funcs + 1u, sizeof(*t->func));
    t->funcs = 0;
    for (uint32_t f = 0; f < t->core->funcs; f++)
        if ((!mask || mask[f]) && (!t->data || top_rows_misses(t, f) == t->inclusive))
            t->func[t->funcs++] = f;
    heap_put(mask);
    if (t->sort > t->columns)
        t->sort = default_sort(t);
    sort_funcs(t);
    t->func_fresh = true;
}

// ---- Rows ----

static void add_text(struct top *t, const char *text)
{
    top_rows_add(t, ROW_TEXT, CORE_NONE)->text = text;
}

static void say(struct top *t, const char *text)
{
    top_rows_add(t, ROW_SAYS, CORE_NONE)->text = text;
}

// ---- Groups ----

static struct value group_value(const struct top *t, uint32_t group, unsigned side)
{
    const struct top_values *v = &t->value[group];

    if (side < VALUES_DIFFERENCE)
        return v->cost[side];
    return side == VALUES_FACTOR
               ? values_over(v->cost[0], v->cost[1])
               : values_minus(v->cost[0], v->cost[1], formula_scale(t->formula[t->event]));
}

static struct top *sorting; // qsort() has no argument for the comparison

static int compare_names(uint32_t a, uint32_t b)
{
    char x[16], y[16];
    struct text s = top_rows_group(sorting, a, x), u = top_rows_group(sorting, b, y);
    int order = memcmp(s.at, u.at, s.size < u.size ? s.size : u.size);

    return order ? order : s.size < u.size ? -1 : s.size > u.size;
}

static int compare_groups(const void *pa, const void *pb)
{
    const struct top *t = sorting;
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    uint32_t p = t->tree.item[a].parent, q = t->tree.item[b].parent;

    if (p != q)
        return p < q ? -1 : 1;
    if (t->sort == t->columns)
        return t->up ? compare_names(b, a) : compare_names(a, b);
    struct value v = group_value(t, a, t->column[t->sort].side);
    struct value w = group_value(t, b, t->column[t->sort].side);
    // Exact values are compared as they are; groups without a value come last.
    bool magnitude = t->column[t->sort].side == VALUES_DIFFERENCE;
    double x = magnitude ? fabs(v.approx) : v.approx, y = magnitude ? fabs(w.approx) : w.approx;
    if (isnan(x) || isnan(y))
        return isnan(x) != isnan(y) ? (isnan(x) ? 1 : -1) : a < b ? -1 : 1;
    if (x == y && v.is_exact && w.is_exact && !magnitude && v.exact != w.exact)
        return (v.exact > w.exact) != t->up ? -1 : 1;
    if (x != y)
        return (x > y) != t->up ? -1 : 1;
    return a < b ? -1 : a > b;
}

struct groups {
    uint32_t *order;       // groups, by parent, then in the order shown
    uint32_t *first;       // by group: start of its functions in `func`, and the end of the last
    uint32_t *func;        // in the order of t->func
    uint32_t *child, *end; // by group: its subgroups in `order`; [count]: those without a parent
    uint32_t *funcs;       // by group: functions in it and its subgroups
};

static void add_groups(struct top *t, const struct groups *g, uint32_t parent, unsigned depth)
{
    uint32_t slot = parent == CORE_NONE ? t->tree.count : parent;

    for (uint32_t i = g->child[slot]; i < g->end[slot]; i++) {
        uint32_t group = g->order[i];
        if (!g->funcs[group])
            continue;
        struct top_row *r = top_rows_add(t, ROW_GROUP, group);
        r->depth = (uint8_t)(depth < 60 ? depth : 60);
        r->value = group;
        r->line[0] = g->funcs[group];
        if (!t->open[group])
            continue;
        add_groups(t, g, group, depth + 1);
        for (uint32_t k = g->first[group]; k < g->first[group + 1]; k++)
            top_rows_add(t, ROW_FUNC, g->func[k])->depth = (uint8_t)(depth < 60 ? depth + 1 : 60);
    }
}

static void group_funcs(struct top *t, struct groups *g)
{
    uint32_t n = t->tree.count, *at = xcalloc(n + 1u, sizeof(*at));

    g->first = xcalloc(n + 2u, sizeof(*g->first));
    g->func = xcalloc(t->funcs + 1u, sizeof(*g->func));
    g->funcs = xcalloc(n + 1u, sizeof(*g->funcs));
    for (uint32_t i = 0; i < t->funcs; i++)
        if (t->tree.of[t->func[i]] < n)
            g->funcs[t->tree.of[t->func[i]]]++;
    for (uint32_t i = 0; i < n; i++)
        at[i + 1 < n ? i + 1 : n] = g->first[i + 1] = g->first[i] + g->funcs[i];
    if (n)
        at[0] = 0;
    for (uint32_t i = 0; i < t->funcs; i++)
        if (t->tree.of[t->func[i]] < n)
            g->func[at[t->tree.of[t->func[i]]]++] = t->func[i];
    for (uint32_t i = n; i-- > 0;)
        if (t->tree.item[i].parent < i)
            g->funcs[t->tree.item[i].parent] += g->funcs[i];
    free(at);
}

static void order_groups(struct top *t, struct groups *g)
{
    uint32_t n = t->tree.count;

    g->order = xcalloc(n + 1u, sizeof(*g->order));
    g->child = xcalloc(n + 1u, sizeof(*g->child));
    g->end = xcalloc(n + 1u, sizeof(*g->end));
    for (uint32_t i = 0; i < n; i++)
        g->order[i] = i;
    sorting = t;
    qsort(g->order, n, sizeof(*g->order), compare_groups);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = t->tree.item[g->order[i]].parent, slot = parent < n ? parent : n;
        if (g->end[slot] == 0)
            g->child[slot] = i;
        g->end[slot] = i + 1;
    }
}

static void make_groups(struct top *t)
{
    struct core *c = t->core;
    struct groups g = { 0 };

    top_data_check(group_make(c, (enum group_by)t->group, &t->tree));
    uint32_t n = t->tree.count;
    uint32_t *parent = xcalloc(n + 1u, sizeof(*parent)), *of = xcalloc(c->funcs + 1u, sizeof(*of));
    struct value *out = xcalloc(n + 1u, sizeof(*out));
    memset(of, 0xff, c->funcs * sizeof(*of));
    for (uint32_t i = 0; i < t->funcs; i++)
        of[t->func[i]] = t->tree.of[t->func[i]];
    for (uint32_t i = 0; i < n; i++)
        parent[i] = t->tree.item[i].parent;
    t->value = xcalloc(n + 1u, sizeof(*t->value));
    t->values = n;
    for (unsigned side = 0; side <= (t->compare ? 1u : 0u); side++) {
        top_data_check(values_groups(c, t->formula[t->event], side, of, parent, n, out));
        for (uint32_t i = 0; i < n; i++)
            t->value[i].cost[side] = out[i];
    }
    if (!t->open)
        t->open = xcalloc(n + 1u, 1);
    group_funcs(t, &g);
    order_groups(t, &g);
    add_groups(t, &g, CORE_NONE, 0);
    if (!t->rows)
        say(t, t->group == GROUP_CYCLE ? "No function calls itself through others."
                                       : "No function is left by the filter.");
    free(g.order);
    free(g.first);
    free(g.func);
    free(g.child);
    free(g.end);
    free(g.funcs);
    free(parent);
    free(of);
    free(out);
}

static void make_functions(struct top *t)
{
    for (unsigned i = 0; i < t->columns; i++)
        prepare(t, t->column[i].of);
    prepare(t, VALUES_SELF);
    make_funcs(t);
    if (t->group >= 0)
        make_groups(t);
    else if (t->funcs)
        t->rows = t->funcs;
    else
        say(t, t->core->funcs ? "No function is left by the filter."
                              : "The profile has no functions.");
}

// ---- One function ----

static void add_edges(struct top *t, uint32_t *edge, uint32_t n, bool caller)
{
    struct rows_key key = { .of = VALUES_EDGE,
                            .side = all_sides(t),
                            .formula = t->formula[t->event],
                            .descending = !t->up,
                            .magnitude = t->compare };

    top_data_check(rows_sort(t->core, edge, n, &key));
    for (uint32_t i = 0; i < n; i++)
        top_rows_add(t, ROW_EDGE, edge[i])->caller = caller;
    if (!n)
        add_text(t, caller ? "  nobody" : "  none");
}

#define SHARED_SHOWN 10 // pairs of an object

// Lines of an object that threads share, those with most invalidations first, as `quern annotate`
// prints them.
static void add_shared(struct top *t, uint32_t f)
{
    size_t shown = 0;

    for (size_t i = 0; i < t->sharing.count && shown < SHARED_SHOWN; i++) {
        if (!top_data_shares(t, i, f))
            continue;
        if (!shown++)
            add_text(t, "Lines that threads share");
        for (size_t k = 0; k < TOP_PAIR_LINES; k++)
            add_text(t, t->shared[i * TOP_PAIR_LINES + k]);
    }
}

static void make_function(struct top *t)
{
    struct core *c = t->core;
    uint32_t f = t->here.func;
    static const enum values_of of[] = { VALUES_SELF, VALUES_INCLUSIVE, VALUES_EDGE, VALUES_CALLED,
                                         VALUES_CALLS };

    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
        prepare(t, of[i]);
    if (f == CORE_NONE) {
        say(t, "The profile has no functions.");
        return;
    }
    bool misses = t->data && top_rows_misses(t, f);
    if (t->calls && !formula_is_ratio(t->formula[t->event]))
        t->whole = values_get(c, t->formula[t->event], VALUES_INCLUSIVE, VALUES_NEW, f);
    if (!t->calls) {
        top_rows_add(t, ROW_SELF, f);
        say(t, "The profile has no calls: `quern run --calls=yes` records who calls whom.");
        return;
    }
    uint32_t callers = c->caller_first[f + 1] - c->caller_first[f];
    uint32_t callees = c->callee_first[f + 1] - c->callee_first[f];
    uint32_t *edge = xcalloc((size_t)callers + callees + 1, sizeof(*edge));
    if (!misses) {
        add_text(t, t->data ? "Functions that miss in it" : "Callers");
        memcpy(edge, c->caller_edge + c->caller_first[f], callers * sizeof(*edge));
        add_edges(t, edge, callers, true);
    }
    add_text(t, t->data && !misses ? "Object" : "Function");
    top_rows_add(t, ROW_FUNC, f)->depth = 1;
    if (!t->data)
        top_rows_add(t, ROW_SELF, f)->depth = 1;
    if (t->data && !misses)
        add_shared(t, f);
    if (!t->data || misses) {
        add_text(t, misses ? "Objects that it misses in" : "Callees");
        for (uint32_t i = 0; i < callees; i++)
            edge[i] = c->callee_first[f] + i;
        add_edges(t, edge, callees, false);
    }
    free(edge);
}

uint32_t top_views_caller(struct top *t, uint32_t func)
{
    struct core *c = t->core;
    uint32_t best = CORE_NONE;
    double most = -INFINITY;

    prepare(t, VALUES_EDGE);
    for (uint32_t i = c->caller_first[func]; i < c->caller_first[func + 1]; i++) {
        uint32_t e = c->caller_edge[i];
        struct value v = values_get(c, t->formula[t->event], VALUES_EDGE, VALUES_NEW, e);
        if (c->edge_caller[e] != func && v.approx > most) {
            most = v.approx;
            best = c->edge_caller[e];
        }
    }
    return best;
}

// ---- Events and keys ----

static void make_events(struct top *t)
{
    for (uint32_t e = 0; e < t->core->event_count; e++)
        if (t->formula[e])
            top_rows_add(t, ROW_EVENT, e);
}

static void make_help(struct top *t)
{
    const char *key, *text;

    for (size_t i = 0; top_help(i, &key, &text); i++) {
        struct top_row *r = top_rows_add(t, ROW_TEXT, (uint32_t)i);
        r->text = text;
    }
}

// ---- All ----

void top_views_free(struct top *t)
{
    top_source_free(t);
    top_rows_free(t);
}

void top_views_make(struct top *t)
{
    top_views_free(t);
    make_columns(t);
    t->whole = top_rows_total(t, VALUES_NEW);
    switch (t->here.view) {
    case TOP_FUNCTIONS: make_functions(t); break;
    case TOP_FUNCTION: make_function(t); break;
    case TOP_SOURCE: top_source_make(t); break;
    case TOP_EVENTS: make_events(t); break;
    case TOP_HELP: make_help(t); break;
    }
    if (t->here.at >= t->rows)
        t->here.at = t->rows ? t->rows - 1 : 0;
}
