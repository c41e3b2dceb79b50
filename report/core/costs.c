// SPDX-License-Identifier: MIT
//
// Reads one event's counts from all sections that have some. @hot: this is what a report of a
// million functions does when the user selects another event.
#include "report/core/costs.h"

#include "report/core/bytes.h"
#include "report/core/column.h"
#include "report/core/top.h"

// The counts of one event, which are consecutive at b.
static struct counts counts_of(struct bytes *b, uint32_t event)
{
    for (uint32_t i = 0; i < event; i++)
        bytes_counts(b);
    return bytes_counts(b);
}

// Adds n counts, the i-th to number first + i or (with `place`) place[first + i]. The slow path
// reads again what does not fit 64 bits.
static bool add_counts(struct column *to, struct counts *v, const uint32_t *place, uint32_t first,
                       uint32_t n)
{
    if (v->mode == COUNTS_ZERO)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = place ? place[first + i] : first + i;
        const uint8_t *before = v->b.at;
        int64_t count, sum;
        if (to->narrow && counts_narrow(v, &count)) {
            if (!__builtin_add_overflow(to->narrow[at], count, &sum)) {
                to->narrow[at] = sum;
                continue;
            }
            v->b.at = before;
        }
        if (!column_add(to, at, counts_next(v)))
            return false;
    }
    return true;
}

// ---- Self costs ----

static int add_self(struct column *to, const struct section *s, uint32_t event)
{
    struct bytes b = bytes_of(s->at, s->size);
    struct counts v = counts_of(&b, event);

    if (!add_counts(to, &v, NULL, s->first, s->count))
        return CORE_MEMORY;
    return b.bad || v.b.bad ? CORE_DAMAGED : 0;
}

static int make_self(struct core *c, struct column *to, unsigned side, uint32_t event)
{
    uint32_t parts = 0, of_side = 0;

    if (!c->linked)
        return top_self(c, side, event, to);
    for (uint32_t i = 0; i < c->parts; i++) {
        of_side += c->part[i].side == side;
        parts += c->part[i].side == side && c->part[i].selected;
    }
    if (of_side == 1 && parts == 1) {
        int rc = top_self(c, side, event, to);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < c->list[SECTION_SELF].count; i++) {
        const struct section *s = &c->list[SECTION_SELF].item[i];
        if (s->side != side || !c->part[s->part].selected)
            continue;
        int rc = add_self(to, s, event);
        if (rc < 0)
            return rc;
    }
    return 0;
}

// Times called: the sum over the edges that end in a function.
static int make_called(struct core *c, struct column *to, unsigned side)
{
    if (!c->linked)
        return top_called(c, side, to);
    int rc = costs_edge(c, side, c->events);
    for (uint32_t e = 0; rc == 0 && e < c->edges; e++)
        if (!column_add(to, c->edge_callee[e], column_get(&c->edge[side][c->events], e)))
            rc = CORE_MEMORY;
    return rc;
}

int costs_self(struct core *c, unsigned side, uint32_t event)
{
    struct column *to = &c->self[side][event];

    if (to->narrow || to->wide)
        return 0;
    if (!column_init(to, c->funcs))
        return CORE_MEMORY;
    int rc = event == c->events ? make_called(c, to, side) : make_self(c, to, side, event);
    if (rc < 0)
        column_free(to);
    return rc;
}

// ---- Edges ----

static int add_edges(const struct core *c, struct column *to, const struct section *s,
                     uint32_t event)
{
    struct bytes b = bytes_of(s->at, s->size), per = bytes_text(&b);
    uint32_t sites = 0;

    for (uint32_t i = 0; i < s->count; i++)
        sites += bytes_u32(&per);
    bytes_text(&b); // callee
    struct bytes calls = bytes_text(&b);
    if (event == c->events) {
        for (uint32_t i = 0; i < sites; i++)
            if (!column_add(to, c->site_edge[s->base + i], bytes_u(&calls)))
                return CORE_MEMORY;
        return b.bad || calls.bad ? CORE_DAMAGED : 0;
    }
    bytes_text(&b); // file
    if (s->flags & SECTION_LINE)
        bytes_text(&b);
    if (s->flags & SECTION_ADDR)
        bytes_text(&b);
    struct counts v = counts_of(&b, event);
    if (!add_counts(to, &v, c->site_edge, s->base, sites))
        return CORE_MEMORY;
    return b.bad || v.b.bad ? CORE_DAMAGED : 0;
}

int costs_edge(struct core *c, unsigned side, uint32_t event)
{
    struct column *to = &c->edge[side][event];
    int rc = 0;

    if (to->narrow || to->wide)
        return 0;
    if (!c->linked)
        return CORE_WRONG;
    if (!column_init(to, c->edges))
        return CORE_MEMORY;
    for (size_t i = 0; rc == 0 && i < c->list[SECTION_CALLS].count; i++) {
        const struct section *s = &c->list[SECTION_CALLS].item[i];
        if (s->side == side && c->part[s->part].selected)
            rc = add_edges(c, to, s, event);
    }
    if (rc < 0)
        column_free(to);
    return rc;
}

// ---- Parts ----

void costs_drop(struct core *c)
{
    for (int side = 0; side < CORE_SIDES; side++) {
        for (uint32_t e = 0; c->head && e <= c->events; e++) {
            column_free(&c->self[side][e]);
            column_free(&c->edge[side][e]);
            column_free(&c->inclusive[side][e]);
        }
        c->graph[side].ready = false;
    }
}

int costs_select(struct core *c, const uint8_t *parts)
{
    if (!c->head)
        return CORE_WRONG;
    for (uint32_t i = 0; i < c->parts; i++)
        c->part[i].selected = parts[i] != 0;
    costs_drop(c);
    return 0;
}

core_count costs_total(const struct core *c, unsigned side, uint32_t event)
{
    core_count sum = 0;

    for (uint32_t i = 0; i < c->parts && event < c->events; i++)
        if (c->part[i].side == side && c->part[i].selected)
            sum = column_sum(sum, c->total[(size_t)i * c->events + event]);
    return sum;
}
