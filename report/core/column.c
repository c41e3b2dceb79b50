// SPDX-License-Identifier: MIT
//
// A column has 64 bits for each number until one does not fit them.
#include "report/core/column.h"

#include "report/core/heap.h"

bool column_init(struct column *c, uint32_t count)
{
    c->count = count;
    c->wide = NULL;
    c->narrow = heap_array(count, sizeof(*c->narrow));
    return c->narrow != NULL;
}

void column_free(struct column *c)
{
    heap_put(c->narrow);
    heap_put(c->wide);
    *c = (struct column){ 0 };
}

core_count column_sum(core_count a, core_count b)
{
    core_count sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? CORE_COUNT_MIN : CORE_COUNT_MAX;
    return sum;
}

static bool widen(struct column *c)
{
    c->wide = heap_array(c->count, sizeof(*c->wide));
    if (!c->wide)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        c->wide[i] = c->narrow[i];
    heap_put(c->narrow);
    c->narrow = NULL;
    return true;
}

bool column_set(struct column *c, uint32_t i, core_count v)
{
    if (!c->wide) {
        if (v == (int64_t)v) {
            c->narrow[i] = (int64_t)v;
            return true;
        }
        if (!widen(c))
            return false;
    }
    c->wide[i] = v;
    return true;
}

bool column_add(struct column *c, uint32_t i, core_count v)
{
    int64_t sum;

    if (!c->wide && v == (int64_t)v && !__builtin_add_overflow(c->narrow[i], (int64_t)v, &sum)) {
        c->narrow[i] = sum;
        return true;
    }
    return column_set(c, i, column_sum(column_get(c, i), v));
}
