// SPDX-License-Identifier: MIT
//
// Grows from the focus along the dearest edges: the frontier's function whose edge costs most comes
// next, as long as there is room. Without a focus the functions with the highest inclusive cost are
// taken.
#include "report/core/select.h"

#include "report/core/column.h"
#include "report/core/heap.h"

struct candidate {
    uint32_t func;
    int32_t depth;
    double cost;
};

struct chooser {
    struct core *c;
    const struct select_wish *w;
    struct select_graph *out;
    uint32_t *node_of;       // by function: node + 1
    uint8_t *waiting;        // by function: it is in the frontier
    struct candidate *front; // a heap, the dearest first
    size_t fronts, front_cap, node_cap, edge_cap;
    bool memory;
};

static double magnitude(double v)
{
    return v < 0 ? -v : v > 0 ? v : 0;
}

static double node_cost(const struct chooser *x, uint32_t f)
{
    return magnitude(values_get(x->c, x->w->formula, VALUES_INCLUSIVE, x->w->side, f).approx);
}

static double edge_cost(const struct chooser *x, uint32_t e)
{
    return magnitude(values_get(x->c, x->w->formula, VALUES_EDGE, x->w->side, e).approx);
}

// ---- The frontier ----

static void push(struct chooser *x, struct candidate v)
{
    if (!heap_room(x->front, x->fronts, x->front_cap)) {
        x->memory = true;
        return;
    }
    size_t at = x->fronts++;
    for (; at > 0 && x->front[(at - 1) / 2].cost < v.cost; at = (at - 1) / 2)
        x->front[at] = x->front[(at - 1) / 2];
    x->front[at] = v;
}

static struct candidate pop(struct chooser *x)
{
    struct candidate top = x->front[0], v = x->front[--x->fronts];
    size_t at = 0;

    for (size_t child; (child = at * 2 + 1) < x->fronts; at = child) {
        child += child + 1 < x->fronts && x->front[child + 1].cost > x->front[child].cost;
        if (x->front[child].cost <= v.cost)
            break;
        x->front[at] = x->front[child];
    }
    x->front[at] = v;
    return top;
}

static bool add_node(struct chooser *x, uint32_t func, int32_t depth)
{
    if (!heap_room(x->out->node, x->out->nodes, x->node_cap)) {
        x->memory = true;
        return false;
    }
    x->out->node[x->out->nodes++] = (struct select_node){ func, depth };
    return true;
}

static bool hidden(const struct chooser *x, uint32_t f)
{
    return x->w->mask && !x->w->mask[f];
}

static void offer(struct chooser *x, uint32_t func, int32_t depth, double cost)
{
    if (x->waiting[func] || hidden(x, func) || cost < x->w->least_edge || cost <= 0 ||
        node_cost(x, func) < x->w->least_node)
        return;
    x->waiting[func] = 1;
    push(x, (struct candidate){ func, depth, cost });
}

static void look_around(struct chooser *x, uint32_t func, int32_t depth)
{
    const struct core *c = x->c;

    if (depth >= 0 && (uint32_t)depth < x->w->down)
        for (uint32_t e = c->callee_first[func]; e < c->callee_first[func + 1]; e++)
            offer(x, c->edge_callee[e], depth + 1, edge_cost(x, e));
    if (depth <= 0 && (uint32_t)-depth < x->w->up)
        for (uint32_t k = c->caller_first[func]; k < c->caller_first[func + 1]; k++)
            offer(x, c->edge_caller[c->caller_edge[k]], depth - 1, edge_cost(x, c->caller_edge[k]));
}

static void choose(struct chooser *x)
{
    uint32_t most = core_min32(x->w->most, SELECT_NODES);

    if (x->w->focus != CORE_NONE) {
        x->waiting[x->w->focus] = 1;
        push(x, (struct candidate){ x->w->focus, 0, 0 });
    } else {
        for (uint32_t f = 0; f < x->c->funcs; f++) {
            double cost = node_cost(x, f);
            if (cost > 0 && cost >= x->w->least_node && !hidden(x, f))
                push(x, (struct candidate){ f, 0, cost });
        }
    }
    // Two places are kept for "others".
    while (x->fronts > 0 && x->out->nodes + 2 < most && !x->memory) {
        struct candidate v = pop(x);
        if (!add_node(x, v.func, v.depth))
            return;
        x->node_of[v.func] = x->out->nodes;
        if (x->w->focus != CORE_NONE)
            look_around(x, v.func, v.depth);
    }
    x->out->left_out = (uint32_t)x->fronts;
}

// ---- Edges ----

static struct value plus(struct value a, struct value b, int64_t scale)
{
    struct value v = { .exact = column_sum(a.exact, b.exact),
                       .is_exact = a.is_exact && b.is_exact };

    v.approx = v.is_exact ? (double)v.exact / (double)scale : a.approx + b.approx;
    return v;
}

static void add_edge(struct chooser *x, struct select_edge e)
{
    if (!heap_room(x->out->edge, x->out->edges, x->edge_cap)) {
        x->memory = true;
        return;
    }
    x->out->edge[x->out->edges++] = e;
}

static struct select_edge edge_of(const struct chooser *x, uint32_t e)
{
    return (struct select_edge){
        .edge = e,
        .value = values_get(x->c, x->w->formula, VALUES_EDGE, x->w->side, e),
        .calls = values_get(x->c, NULL, VALUES_CALLS, x->w->side, e),
    };
}

static void add_to(struct select_edge *sum, const struct select_edge *e, int64_t scale)
{
    if (sum->edge != CORE_NONE) {
        *sum = *e;
        sum->edge = CORE_NONE;
    } else {
        sum->value = plus(sum->value, e->value, scale);
        sum->calls = plus(sum->calls, e->calls, 1);
    }
}

// The edges of a node to other nodes; those from and to functions that are no nodes are summed.
static void connect(struct chooser *x, uint32_t node, struct select_edge *above,
                    struct select_edge *below)
{
    const struct core *c = x->c;
    uint32_t f = x->out->node[node].func;
    int64_t scale = formula_scale(x->w->formula);

    for (uint32_t e = c->callee_first[f]; e < c->callee_first[f + 1]; e++) {
        struct select_edge edge = edge_of(x, e);
        if (edge.value.approx == 0 && edge.calls.approx == 0)
            continue;
        uint32_t to = x->node_of[c->edge_callee[e]];
        if (to && magnitude(edge.value.approx) >= x->w->least_edge) {
            edge.from = node;
            edge.to = to - 1;
            add_edge(x, edge);
        } else if (!to) {
            add_to(below, &edge, scale);
        }
    }
    for (uint32_t k = c->caller_first[f]; k < c->caller_first[f + 1]; k++) {
        struct select_edge edge = edge_of(x, c->caller_edge[k]);
        if (!x->node_of[c->edge_caller[c->caller_edge[k]]] &&
            (edge.value.approx != 0 || edge.calls.approx != 0))
            add_to(above, &edge, scale);
    }
}

static void connect_all(struct chooser *x)
{
    uint32_t nodes = x->out->nodes, above_node = CORE_NONE, below_node = CORE_NONE;

    for (uint32_t n = 0; n < nodes && !x->memory; n++) {
        struct select_edge above = { 0 }, below = { 0 };
        connect(x, n, &above, &below);
        if (above.edge == CORE_NONE) {
            if (above_node == CORE_NONE && add_node(x, SELECT_ABOVE, 0))
                above_node = x->out->nodes - 1;
            above.from = above_node;
            above.to = n;
            add_edge(x, above);
        }
        if (below.edge == CORE_NONE) {
            if (below_node == CORE_NONE && add_node(x, SELECT_BELOW, 0))
                below_node = x->out->nodes - 1;
            below.from = n;
            below.to = below_node;
            add_edge(x, below);
        }
    }
}

// The dearest edges first, and no more than fit.
static void cut_edges(struct select_graph *g)
{
    for (uint32_t gap = g->edges / 2; gap > 0; gap /= 2) // shell sort: at most some ten thousands
        for (uint32_t i = gap; i < g->edges; i++) {
            struct select_edge v = g->edge[i];
            uint32_t k = i;
            for (; k >= gap && magnitude(g->edge[k - gap].value.approx) < magnitude(v.value.approx);
                 k -= gap)
                g->edge[k] = g->edge[k - gap];
            g->edge[k] = v;
        }
    g->edges = core_min32(g->edges, SELECT_EDGES);
}

int select_make(struct core *c, const struct select_wish *w, struct select_graph *out)
{
    struct chooser x = { .c = c, .w = w, .out = out };
    int rc;

    *out = (struct select_graph){ 0 };
    if (!c->linked || formula_is_ratio(w->formula) ||
        (w->focus != CORE_NONE && w->focus >= c->funcs))
        return CORE_WRONG;
    if ((rc = values_prepare(c, w->formula, VALUES_INCLUSIVE, w->side)) < 0 ||
        (rc = values_prepare(c, w->formula, VALUES_EDGE, w->side)) < 0 ||
        (rc = values_prepare(c, NULL, VALUES_CALLS, w->side)) < 0)
        return rc;
    x.node_of = heap_array(c->funcs, sizeof(*x.node_of));
    x.waiting = heap_get(c->funcs);
    x.memory = !x.node_of || !x.waiting;
    if (!x.memory)
        choose(&x);
    if (!x.memory)
        connect_all(&x);
    if (!x.memory)
        cut_edges(out);
    heap_put(x.node_of);
    heap_put(x.waiting);
    heap_put(x.front);
    if (x.memory) {
        select_free(out);
        return CORE_MEMORY;
    }
    return 0;
}

void select_free(struct select_graph *g)
{
    heap_put(g->node);
    heap_put(g->edge);
    *g = (struct select_graph){ 0 };
}
