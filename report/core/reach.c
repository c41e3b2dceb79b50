// SPDX-License-Identifier: MIT
//
// Walks along edges, in breadth.
#include "report/core/reach.h"

#include "report/core/graph.h"
#include "report/core/heap.h"

static bool there(const struct core *c, unsigned side, uint32_t e)
{
    bool is_new = c->graph[0].there[e / 8] >> e % 8 & 1,
         is_old = c->graph[1].there[e / 8] >> e % 8 & 1;

    return side == VALUES_NEW ? is_new : side == VALUES_OLD ? is_old : is_new || is_old;
}

// From the n functions that are in func_out and seen, to all that are not seen yet. Their number.
static uint32_t walk(const struct core *c, enum reach_direction direction, unsigned side,
                     uint32_t n, uint8_t *seen, uint32_t *func_out, uint32_t *distance)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t f = func_out[i];
        bool down = direction == REACH_CALLEES;
        uint32_t first = down ? c->callee_first[f] : c->caller_first[f];
        uint32_t end = down ? c->callee_first[f + 1] : c->caller_first[f + 1];
        for (uint32_t k = first; k < end; k++) {
            uint32_t e = down ? k : c->caller_edge[k];
            uint32_t to = down ? c->edge_callee[e] : c->edge_caller[e];
            if (seen[to] || !there(c, side, e))
                continue;
            seen[to] = 1;
            func_out[n] = to;
            distance[n++] = distance[i] + 1;
        }
    }
    return n;
}

int64_t reach_all(struct core *c, uint32_t func, enum reach_direction direction, unsigned side,
                  uint32_t *func_out, uint32_t *distance)
{
    int rc = graph_cycles(c, 0);

    if (rc == 0)
        rc = graph_cycles(c, 1);
    if (rc < 0 || func >= c->funcs)
        return rc < 0 ? rc : CORE_WRONG;
    uint8_t *seen = heap_get(c->funcs);
    if (!seen)
        return CORE_MEMORY;
    func_out[0] = func;
    distance[0] = 0;
    seen[func] = 1;
    uint32_t n = walk(c, direction, side, 1, seen, func_out, distance);
    heap_put(seen);
    return n;
}

int reach_both(struct core *c, unsigned side, uint8_t *mask)
{
    int rc = graph_cycles(c, 0);

    if (rc == 0)
        rc = graph_cycles(c, 1);
    if (rc < 0)
        return rc;
    uint8_t *seen = heap_get(c->funcs);
    uint32_t *func = heap_array(c->funcs, sizeof(*func));
    uint32_t *distance = heap_array(c->funcs, sizeof(*distance)), n = 0;
    rc = seen && func && distance ? 0 : CORE_MEMORY;
    for (uint32_t f = 0; rc == 0 && f < c->funcs; f++)
        if (mask[f])
            func[n++] = f;
    uint32_t first = n;
    for (int way = 0; rc == 0 && way < 2; way++) {
        for (uint32_t f = 0; f < c->funcs; f++)
            seen[f] = 0;
        for (uint32_t i = 0; i < first; i++)
            seen[func[i]] = 1;
        n = walk(c, way ? REACH_CALLERS : REACH_CALLEES, side, first, seen, func, distance);
        for (uint32_t i = first; i < n; i++)
            mask[func[i]] = 1;
    }
    heap_put(seen);
    heap_put(func);
    heap_put(distance);
    return rc;
}

int64_t reach_path(struct core *c, uint32_t func, struct formula *f, unsigned side, uint32_t *edge,
                   uint32_t max)
{
    // a formula of no event does not ask for edges
    int rc = c->linked ? values_prepare(c, f, VALUES_EDGE, side) : CORE_WRONG;

    if (rc < 0 || func >= c->funcs)
        return rc < 0 ? rc : CORE_WRONG;
    uint8_t *seen = heap_get(c->funcs);
    if (!seen)
        return CORE_MEMORY;
    uint32_t n = 0;
    while (n < max) {
        uint32_t best = CORE_NONE;
        double cost = 0;
        seen[func] = 1;
        for (uint32_t k = c->caller_first[func]; k < c->caller_first[func + 1]; k++) {
            uint32_t e = c->caller_edge[k];
            double v = values_get(c, f, VALUES_EDGE, side, e).approx;
            if (!seen[c->edge_caller[e]] && v > cost) {
                best = e;
                cost = v;
            }
        }
        if (best == CORE_NONE)
            break;
        edge[n++] = best;
        func = c->edge_caller[best];
    }
    heap_put(seen);
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t swap = edge[i];
        edge[i] = edge[n - 1 - i];
        edge[n - 1 - i] = swap;
    }
    return n;
}
