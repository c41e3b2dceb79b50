// SPDX-License-Identifier: MIT
//
// Reads TOP; a report has one. Called by costs.c and graph.c.
#include "report/core/top.h"

#include "report/core/bytes.h"
#include "report/core/column.h"

struct top {
    struct bytes b;
    uint32_t count, full;
};

// At the numbers of a side.
static bool open(const struct core *c, unsigned side, struct top *t)
{
    if (c->list[SECTION_TOP].count == 0)
        return false;
    const struct section *s = &c->list[SECTION_TOP].item[0];
    t->b = bytes_of(s->at, s->size);
    t->count = bytes_u32(&t->b);
    t->full = bytes_u32(&t->b);
    for (unsigned i = 0; i < side; i++) {
        bytes_text(&t->b);
        for (uint32_t k = 0; k < 2 * c->events + 1; k++)
            bytes_counts(&t->b);
    }
    return !t->b.bad && t->count <= c->funcs && t->full <= t->count;
}

uint32_t top_count(const struct core *c)
{
    struct top t;

    return open(c, 0, &t) ? t.count : 0;
}

uint32_t top_inclusive_count(const struct core *c)
{
    struct top t;

    return open(c, 0, &t) ? t.full : 0;
}

static int add(struct column *to, struct counts v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!column_add(to, i, counts_next(&v)))
            return CORE_MEMORY;
    return v.b.bad ? CORE_DAMAGED : 0;
}

int top_called(const struct core *c, unsigned side, struct column *to)
{
    struct top t;

    if (!open(c, side, &t))
        return 0;
    struct bytes called = bytes_text(&t.b);
    for (uint32_t i = 0; i < t.count; i++)
        if (!column_add(to, i, bytes_u(&called)))
            return CORE_MEMORY;
    return called.bad ? CORE_DAMAGED : 0;
}

int top_self(const struct core *c, unsigned side, uint32_t event, struct column *to)
{
    struct top t;

    if (!open(c, side, &t))
        return 0;
    bytes_text(&t.b);
    for (uint32_t i = 0; i < event; i++)
        bytes_counts(&t.b);
    return add(to, bytes_counts(&t.b), t.count);
}

int top_inclusive(const struct core *c, unsigned side, uint32_t event, struct column *to)
{
    struct top t;

    if (!open(c, side, &t))
        return 0;
    bytes_text(&t.b);
    for (uint32_t i = 0; i < c->events; i++)
        bytes_counts(&t.b);
    struct counts order = bytes_counts(&t.b);
    if (event == c->order)
        return add(to, order, t.count);
    for (uint32_t i = 0; i < event; i++)
        bytes_counts(&t.b);
    return add(to, bytes_counts(&t.b), t.full);
}
