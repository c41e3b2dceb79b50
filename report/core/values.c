// SPDX-License-Identifier: MIT
//
// Combines columns and formulas. @hot: sorting a million functions computes as many values.
#include "report/core/values.h"

#include "report/core/column.h"
#include "report/core/costs.h"
#include "report/core/graph.h"
#include "report/core/heap.h"

enum { NARROW_NEEDS = 32 }; // events of a formula, for values_narrow()

static int prepare(struct core *c, enum values_of of, unsigned side, uint32_t event)
{
    switch (of) {
    case VALUES_SELF: return costs_self(c, side, event);
    case VALUES_INCLUSIVE: return graph_inclusive(c, side, event);
    case VALUES_EDGE: return costs_edge(c, side, event);
    case VALUES_CALLED: return costs_self(c, side, c->events);
    case VALUES_CALLS: return costs_edge(c, side, c->events);
    case VALUES_PER_CALL: return graph_inclusive(c, side, event);
    case VALUES_TOTAL: break;
    }
    return 0;
}

int values_prepare(struct core *c, const struct formula *f, enum values_of of, unsigned side)
{
    unsigned from = side == VALUES_OLD, to = side == VALUES_NEW ? 0 : 1;
    int rc = 0;

    if (!c->head)
        return CORE_WRONG;
    for (unsigned s = from; rc == 0 && s <= to; s++) {
        if (of == VALUES_CALLED || of == VALUES_CALLS)
            rc = prepare(c, of, s, 0);
        if (of == VALUES_PER_CALL) // also where the formula needs no event
            rc = prepare(c, VALUES_CALLED, s, 0);
        for (uint32_t i = 0; rc == 0 && f && formula_needs(f, i) != CORE_NONE; i++)
            rc = prepare(c, of, s, formula_needs(f, i));
    }
    return rc;
}

static const struct column *column_of(const struct core *c, enum values_of of, unsigned side,
                                      uint32_t event)
{
    switch (of) {
    case VALUES_SELF: return &c->self[side][event];
    case VALUES_INCLUSIVE: return &c->inclusive[side][event];
    case VALUES_EDGE: return &c->edge[side][event];
    case VALUES_CALLED: return &c->self[side][c->events];
    case VALUES_CALLS: return &c->edge[side][c->events];
    case VALUES_PER_CALL:
    case VALUES_TOTAL: break;
    }
    return NULL;
}

static bool narrow_of(const struct core *c, const struct formula *f, enum values_of of,
                      unsigned side, const uint32_t *row, uint32_t n, int64_t *out)
{
    const int64_t *column[NARROW_NEEDS];
    const struct column *from = column_of(c, of, side, 0);
    uint32_t needs = 0, event;

    if (!from)
        return false;
    if (of == VALUES_CALLED || of == VALUES_CALLS) {
        for (uint32_t i = 0; from->narrow && i < n; i++)
            out[i] = from->narrow[row[i]];
        return from->narrow != NULL;
    }
    for (; (event = formula_needs(f, needs)) != CORE_NONE; needs++)
        if (needs == NARROW_NEEDS || !(column[needs] = column_of(c, of, side, event)->narrow))
            return false;
    for (uint32_t at = 0, some; at < n; at += some) {
        some = core_min32(n - at, FORMULA_CHUNK);
        if (!formula_narrow(f, column, row + at, some, out + at))
            return false;
    }
    return true;
}

bool values_narrow(const struct core *c, const struct formula *f, enum values_of of, unsigned side,
                   const uint32_t *row, uint32_t n, int64_t *out)
{
    int64_t old[FORMULA_CHUNK];
    bool bad = side == VALUES_FACTOR;

    if (bad || !narrow_of(c, f, of, side == VALUES_OLD, row, n, out))
        return false;
    for (uint32_t at = 0, some; side == VALUES_DIFFERENCE && !bad && at < n; at += some) {
        some = core_min32(n - at, FORMULA_CHUNK);
        bad = !narrow_of(c, f, of, VALUES_OLD, row + at, some, old);
        for (uint32_t i = 0; !bad && i < some; i++)
            bad = __builtin_sub_overflow(out[at + i], old[i], &out[at + i]);
    }
    return !bad;
}

static core_count count_of(const struct core *c, enum values_of of, unsigned side, uint32_t event,
                           uint32_t index)
{
    switch (of) {
    case VALUES_SELF: return column_get(&c->self[side][event], index);
    case VALUES_INCLUSIVE: return column_get(&c->inclusive[side][event], index);
    case VALUES_EDGE: return column_get(&c->edge[side][event], index);
    case VALUES_CALLED: return column_get(&c->self[side][c->events], index);
    case VALUES_CALLS: return column_get(&c->edge[side][c->events], index);
    case VALUES_PER_CALL: return column_get(&c->inclusive[side][event], index);
    case VALUES_TOTAL: break;
    }
    return costs_total(c, side, event);
}

struct value values_minus(struct value a, struct value b, int64_t scale)
{
    struct value v = { .approx = a.approx - b.approx };

    if (a.is_exact && b.is_exact && !__builtin_sub_overflow(a.exact, b.exact, &v.exact)) {
        v.is_exact = true;
        v.approx = (double)v.exact / (double)scale;
    }
    return v;
}

struct value values_over(struct value a, struct value b)
{
    return (struct value){ .approx = b.approx != 0 ? a.approx / b.approx : __builtin_nan("") };
}

struct value values_get(const struct core *c, struct formula *f, enum values_of of, unsigned side,
                        uint32_t index)
{
    if (side >= VALUES_DIFFERENCE) {
        struct value new = values_get(c, f, of, VALUES_NEW, index);
        struct value old = values_get(c, f, of, VALUES_OLD, index);
        return side == VALUES_FACTOR ? values_over(new, old)
                                     : values_minus(new, old, f ? formula_scale(f) : 1);
    }
    if (of == VALUES_CALLED || of == VALUES_CALLS) {
        core_count n = count_of(c, of, side, 0, index);
        return (struct value){ n, (double)n, true };
    }
    core_count *counts = formula_counts(f);
    uint32_t event;
    for (uint32_t i = 0; (event = formula_needs(f, i)) != CORE_NONE; i++)
        counts[i] = count_of(c, of, side, event, index);
    if (of == VALUES_PER_CALL)
        return values_over(formula_value(f), values_get(c, NULL, VALUES_CALLED, side, index));
    return formula_value(f);
}

static void add_group(const struct core *c, const struct formula *f, unsigned side, uint32_t func,
                      core_count *sum)
{
    uint32_t event;

    for (uint32_t i = 0; (event = formula_needs(f, i)) != CORE_NONE; i++)
        sum[i] = column_sum(sum[i], column_get(&c->self[side][event], func));
}

static int groups_of(struct core *c, struct formula *f, unsigned side, const uint32_t *group,
                     const uint32_t *parent, uint32_t groups, struct value *out)
{
    uint32_t needs = 0;

    while (formula_needs(f, needs) != CORE_NONE)
        needs++;
    core_count *sum = heap_array((size_t)groups * needs, sizeof(*sum));
    if (!sum)
        return CORE_MEMORY;
    for (uint32_t i = 0; i < c->funcs; i++)
        if (group[i] < groups)
            add_group(c, f, side, i, sum + (size_t)group[i] * needs);
    for (uint32_t g = groups; parent && g-- > 0;)
        for (uint32_t i = 0; parent[g] < g && i < needs; i++) {
            core_count *to = sum + (size_t)parent[g] * needs + i;
            *to = column_sum(*to, sum[(size_t)g * needs + i]);
        }
    for (uint32_t g = 0; g < groups; g++) {
        if (needs)
            core_copy(formula_counts(f), sum + (size_t)g * needs, needs * sizeof(*sum));
        out[g] = formula_value(f);
    }
    heap_put(sum);
    return 0;
}

int values_groups(struct core *c, struct formula *f, unsigned side, const uint32_t *group,
                  const uint32_t *parent, uint32_t groups, struct value *out)
{
    int rc = values_prepare(c, f, VALUES_SELF, side);

    if (rc < 0 || side < VALUES_DIFFERENCE)
        return rc < 0 ? rc : groups_of(c, f, side, group, parent, groups, out);
    struct value *old = heap_array(groups, sizeof(*old));
    if (!old)
        return CORE_MEMORY;
    rc = groups_of(c, f, VALUES_NEW, group, parent, groups, out);
    if (rc == 0)
        rc = groups_of(c, f, VALUES_OLD, group, parent, groups, old);
    for (uint32_t g = 0; rc == 0 && g < groups; g++)
        out[g] = side == VALUES_FACTOR ? values_over(out[g], old[g])
                                       : values_minus(out[g], old[g], formula_scale(f));
    heap_put(old);
    return rc;
}
