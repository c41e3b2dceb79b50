// SPDX-License-Identifier: MIT
//
// The rows on the screen, and their values in each column. The rows of all functions are not stored
// (there may be a million): t->func has them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"
#include "cli/top/top.h"
#include "report/core/heap.h"

struct top_row *top_rows_add(struct top *t, enum top_row_kind kind, uint32_t of)
{
    if (t->rows == t->row_cap) {
        t->row_cap = t->row_cap * 2 + 64;
        t->row = xrealloc(t->row, t->row_cap * sizeof(*t->row));
    }
    t->row[t->rows] = (struct top_row){ .kind = (uint8_t)kind, .of = of, .value = CORE_NONE };
    return &t->row[t->rows++];
}

struct top_row top_rows_get(const struct top *t, size_t i)
{
    if (t->row)
        return t->row[i];
    return (struct top_row){ .kind = ROW_FUNC, .of = t->func[i], .value = CORE_NONE };
}

void top_rows_free(struct top *t)
{
    free(t->row);
    t->row = NULL;
    t->rows = t->row_cap = 0;
    free(t->value);
    t->value = NULL;
    t->values = t->value_cap = 0;
    heap_put(t->tree.item);
    heap_put(t->tree.of);
    t->tree = (struct group_tree){ 0 };
}

bool top_rows_misses(const struct top *t, uint32_t func)
{
    return t->calls && t->core->callee_first[func + 1] > t->core->callee_first[func];
}

uint32_t top_rows_func(const struct top *t, const struct top_row *r)
{
    switch ((enum top_row_kind)r->kind) {
    case ROW_FUNC:
    case ROW_SELF:
    case ROW_SITE: return r->of;
    case ROW_EDGE: return r->caller ? t->core->edge_caller[r->of] : t->core->edge_callee[r->of];
    case ROW_TEXT:
    case ROW_SAYS:
    case ROW_GROUP:
    case ROW_EVENT:
    case ROW_LINE: break;
    }
    return CORE_NONE;
}

// ---- Names ----

struct text top_rows_group(const struct top *t, uint32_t group, char number[16])
{
    const struct group_item *g = &t->tree.item[group];

    if (t->group == GROUP_CYCLE) {
        snprintf(number, 16, "cycle %u", g->string);
        return (struct text){ (const uint8_t *)number, strlen(number) };
    }
    struct text s = core_string(t->core, g->string);
    if (!s.at)
        return (struct text){ (const uint8_t *)"???", 3 };
    return (struct text){ s.at + g->from, g->size };
}

void top_rows_title(const struct top *t, const struct top_column *c, char *out, size_t size)
{
    static const char *const side[] = { "", " old", " +-", " factor" };
    static const char *const of[] = {
        [VALUES_SELF] = "self",     [VALUES_INCLUSIVE] = "incl.", [VALUES_EDGE] = "cost",
        [VALUES_CALLED] = "called", [VALUES_CALLS] = "calls",     [VALUES_TOTAL] = "total",
    };

    static const char *const of_data[] = {
        [VALUES_SELF] = "misses",      [VALUES_INCLUSIVE] = "misses", [VALUES_EDGE] = "misses",
        [VALUES_CALLED] = "D1 misses", [VALUES_CALLS] = "D1 misses",  [VALUES_TOTAL] = "total",
    };

    if (c->cause) {
        snprintf(out, size, "%s%s", of[c->of], t->compare ? " changed" : " cause");
        return;
    }
    snprintf(out, size, "%s%s",
             c->share  ? "%"
             : t->data ? of_data[c->of]
                       : of[c->of],
             t->compare && c->side == VALUES_NEW ? " new" : side[c->side]);
}

// ---- Values ----

struct value top_rows_total(struct top *t, unsigned side)
{
    return values_get(t->core, t->formula[t->event], VALUES_TOTAL, side, 0);
}

static bool made_value(struct top *t, const struct top_row *r, const struct value side_value[2],
                       unsigned side, int64_t scale, struct value *v)
{
    if (r->value == CORE_NONE)
        return false;
    *v = side < VALUES_DIFFERENCE ? side_value[side]
         : side == VALUES_FACTOR  ? values_over(side_value[0], side_value[1])
                                  : values_minus(side_value[0], side_value[1], scale);
    (void)t;
    return true;
}

bool top_rows_value(struct top *t, const struct top_row *r, enum values_of of, unsigned side,
                    struct value *v)
{
    struct formula *f = t->formula[t->event];
    bool counts = of == VALUES_CALLS || of == VALUES_CALLED;
    const struct top_values *made = r->value == CORE_NONE ? NULL : &t->value[r->value];

    switch ((enum top_row_kind)r->kind) {
    case ROW_TEXT:
    case ROW_SAYS: return false;
    case ROW_FUNC:
        if (counts && t->data && top_rows_misses(t, r->of))
            return false; // nobody calls it
        if (of == VALUES_EDGE)
            of = VALUES_INCLUSIVE;
        *v = values_get(t->core, f, counts ? VALUES_CALLED : of, side, r->of);
        return true;
    case ROW_SELF:
        if (counts)
            return false;
        *v = values_get(t->core, f, VALUES_SELF, side, r->of);
        return true;
    case ROW_EDGE: *v = values_get(t->core, f, of, side, r->of); return true;
    case ROW_EVENT: *v = values_get(t->core, t->formula[r->of], of, side, 0); return true;
    case ROW_GROUP:
        // A sum of inclusive costs would count functions that call each other twice.
        return of == VALUES_SELF && made_value(t, r, made->cost, side, formula_scale(f), v);
    case ROW_LINE:
    case ROW_SITE:
        return made && made_value(t, r, counts ? made->calls : made->cost, side,
                                  counts ? 1 : formula_scale(f), v);
    }
    return false;
}

struct top_cause top_rows_cause(struct top *t, const struct top_row *r, enum values_of of)
{
    switch ((enum top_row_kind)r->kind) {
    case ROW_FUNC: return top_cause_of(t, of == VALUES_EDGE ? VALUES_INCLUSIVE : of, r->of);
    case ROW_SELF: return top_cause_of(t, VALUES_SELF, r->of);
    case ROW_EDGE: return top_cause_of(t, of, r->of);
    case ROW_LINE:
    case ROW_SITE:
        if (r->value != CORE_NONE)
            return t->value[r->value].cause;
        break;
    case ROW_TEXT:
    case ROW_SAYS:
    case ROW_GROUP:
    case ROW_EVENT: break;
    }
    return (struct top_cause){ 0 };
}
