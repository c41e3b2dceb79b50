// SPDX-License-Identifier: MIT
//
// Strongly connected components (Tarjan, with a stack of its own), and what they cost.
#include "report/core/graph.h"

#include "report/core/bytes.h"
#include "report/core/column.h"
#include "report/core/costs.h"
#include "report/core/heap.h"
#include "report/core/top.h"

// The edges that the selected parts have: a bit for each, also of those that cost nothing.
static int find_there(struct core *c, struct side_graph *g, unsigned side)
{
    if (!g->there)
        g->there = heap_array((size_t)c->edges / 8 + 1, 1);
    if (!g->there)
        return CORE_MEMORY;
    core_zero(g->there, (size_t)c->edges / 8 + 1);
    for (size_t i = 0; i < c->list[SECTION_CALLS].count; i++) {
        const struct section *s = &c->list[SECTION_CALLS].item[i];
        if (s->side != side || !c->part[s->part].selected)
            continue;
        struct bytes b = bytes_of(s->at, s->size), per = bytes_text(&b);
        uint32_t site = s->base;
        for (uint32_t f = 0; f < s->count; f++)
            for (uint32_t n = bytes_u32(&per); n > 0; n--, site++)
                g->there[c->site_edge[site] / 8] |= (uint8_t)(1u << c->site_edge[site] % 8);
    }
    return 0;
}

static inline bool is_there(const struct side_graph *g, uint32_t e)
{
    return g->there[e / 8] >> e % 8 & 1;
}

struct frame {
    uint32_t func, index, next; // `next`: the edge to look at
};

// `low` by function: 0 before the first visit; CORE_NONE once its cycle is known. In one array,
// since most of the time is the wait for the memory of the callee of each edge.
struct tarjan {
    uint32_t *low, *stack;
    struct frame *todo;
};

static void walk(const struct core *c, struct side_graph *g, struct tarjan *t)
{
    uint32_t sp = 0, tp = 0, counter = 0;

    for (uint32_t root = 0; root < c->funcs; root++) {
        uint32_t enter = t->low[root] ? CORE_NONE : root;
        while (enter != CORE_NONE || tp > 0) {
            if (enter != CORE_NONE) {
                t->todo[tp++] = (struct frame){ enter, ++counter, c->callee_first[enter] };
                t->low[enter] = counter;
                t->stack[sp++] = enter;
                enter = CORE_NONE;
            }
            struct frame *at = &t->todo[tp - 1];
            uint32_t f = at->func, e = at->next, end = c->callee_first[f + 1], low = t->low[f];
            // The edge to a callee that is entered is looked at again when that is done.
            while (e < end && enter == CORE_NONE) {
                uint32_t of = is_there(g, e) ? t->low[c->edge_callee[e]] : CORE_NONE;
                if (!of)
                    enter = c->edge_callee[e];
                else
                    e++;
                low = of ? core_min32(low, of) : low;
            }
            at->next = e;
            t->low[f] = low;
            if (enter != CORE_NONE)
                continue;
            tp--;
            if (low != at->index)
                continue;
            uint32_t number = t->stack[sp - 1] == f ? 0 : ++g->cycles, member;
            do {
                member = t->stack[--sp];
                t->low[member] = CORE_NONE;
                g->cycle[member] = number;
            } while (member != f);
        }
    }
}

// Each edge once: the look-up of each callee's cycle takes most of the time of an event's
// inclusive costs.
static int find_inside(const struct core *c, struct side_graph *g)
{
    if (!g->inside)
        g->inside = heap_array((size_t)c->edges / 8 + 1, 1);
    if (!g->inside)
        return CORE_MEMORY;
    core_zero(g->inside, (size_t)c->edges / 8 + 1);
    for (uint32_t f = 0; f < c->funcs; f++)
        for (uint32_t e = c->callee_first[f]; e < c->callee_first[f + 1]; e++) {
            uint32_t to = c->edge_callee[e];
            if (to == f || (g->cycle[f] && g->cycle[f] == g->cycle[to]))
                g->inside[e / 8] |= (uint8_t)(1u << e % 8);
        }
    return 0;
}

int graph_cycles(struct core *c, unsigned side)
{
    struct side_graph *g = &c->graph[side];

    if (!c->linked)
        return CORE_WRONG;
    if (g->ready)
        return 0;
    int rc = find_there(c, g, side);
    if (rc < 0)
        return rc;
    if (!g->cycle)
        g->cycle = heap_array(c->funcs, sizeof(*g->cycle));
    if (!g->cycle)
        return CORE_MEMORY;
    core_zero(g->cycle, c->funcs * sizeof(*g->cycle));
    g->cycles = 0;
    if (!c->no_cycles) {
        struct tarjan t = {
            .low = heap_array(c->funcs, sizeof(*t.low)),
            .stack = heap_array(c->funcs, sizeof(*t.stack)),
            .todo = heap_array(c->funcs, sizeof(*t.todo)),
        };
        if (t.low && t.stack && t.todo)
            walk(c, g, &t);
        else
            rc = CORE_MEMORY;
        heap_put(t.low);
        heap_put(t.stack);
        heap_put(t.todo);
    }
    if (rc == 0)
        rc = find_inside(c, g);
    g->ready = rc == 0;
    return rc;
}

bool graph_inside(const struct core *c, unsigned side, uint32_t edge)
{
    return c->graph[side].inside[edge / 8] >> edge % 8 & 1;
}

// The same in 64 bits, if all of it fits. False: it does not, and the result must be
// computed again.
static bool sum_narrow(struct core *c, unsigned side, uint32_t event, struct column *of_cycle)
{
    const struct side_graph *g = &c->graph[side];
    const int64_t *self = c->self[side][event].narrow, *edge = c->edge[side][event].narrow;
    int64_t *to = c->inclusive[side][event].narrow, *sum_of = of_cycle->narrow;

    if (!self || !edge || !to || !sum_of)
        return false;
    for (uint32_t f = 0; f < c->funcs; f++) {
        uint32_t cycle = g->cycle[f];
        int64_t sum = self[f];
        bool bad = false;
        for (uint32_t e = c->callee_first[f]; e < c->callee_first[f + 1]; e++)
            if (!(g->inside[e / 8] >> e % 8 & 1))
                bad |= __builtin_add_overflow(sum, edge[e], &sum);
        if (cycle)
            bad |= __builtin_add_overflow(sum_of[cycle], sum, &sum_of[cycle]);
        else
            to[f] = sum;
        if (bad)
            return false;
    }
    for (uint32_t f = 0; f < c->funcs; f++)
        if (g->cycle[f])
            to[f] = sum_of[g->cycle[f]];
    return true;
}

static bool sum_up(struct core *c, unsigned side, uint32_t event, struct column *of_cycle)
{
    const struct side_graph *g = &c->graph[side];
    const struct column *self = &c->self[side][event], *edge = &c->edge[side][event];
    struct column *to = &c->inclusive[side][event];

    if (sum_narrow(c, side, event, of_cycle))
        return true;
    if (of_cycle->narrow)
        core_zero(of_cycle->narrow, of_cycle->count * sizeof(*of_cycle->narrow));
    for (uint32_t f = 0; f < c->funcs; f++) {
        core_count sum = column_get(self, f);
        for (uint32_t e = c->callee_first[f]; e < c->callee_first[f + 1]; e++)
            if (!graph_inside(c, side, e))
                sum = column_sum(sum, column_get(edge, e));
        if (!(g->cycle[f] ? column_add(of_cycle, g->cycle[f], sum) : column_set(to, f, sum)))
            return false;
    }
    for (uint32_t f = 0; f < c->funcs; f++)
        if (g->cycle[f] && !column_set(to, f, column_get(of_cycle, g->cycle[f])))
            return false;
    return true;
}

int graph_inclusive(struct core *c, unsigned side, uint32_t event)
{
    struct column *to = &c->inclusive[side][event], of_cycle = { 0 };
    int rc;

    if (to->narrow || to->wide)
        return 0;
    if (!c->linked) {
        if (!column_init(to, c->funcs))
            return CORE_MEMORY;
        if ((rc = top_inclusive(c, side, event, to)) < 0)
            column_free(to);
        return rc;
    }
    if ((rc = graph_cycles(c, side)) < 0 || (rc = costs_self(c, side, event)) < 0 ||
        (rc = costs_edge(c, side, event)) < 0)
        return rc;
    if (!column_init(to, c->funcs) || !column_init(&of_cycle, c->graph[side].cycles + 1) ||
        !sum_up(c, side, event, &of_cycle)) {
        column_free(to);
        rc = CORE_MEMORY;
    }
    column_free(&of_cycle);
    return rc;
}

void graph_detect(struct core *c, bool cycles)
{
    if (c->no_cycles == !cycles)
        return;
    c->no_cycles = !cycles;
    for (int side = 0; side < CORE_SIDES; side++) {
        c->graph[side].ready = false;
        for (uint32_t e = 0; c->head && e <= c->events; e++)
            column_free(&c->inclusive[side][e]);
    }
}
