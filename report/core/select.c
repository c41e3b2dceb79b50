// SPDX-License-Identifier: MIT
//
// Grows from the focus along the most expensive edges: the frontier's function with the most
// expensive edge comes next, until the limit. Without a focus the functions with the highest
// inclusive cost are taken. A folded cycle represents all its functions: its edges are theirs,
// summed by target.
#include "report/core/select.h"

#include "report/core/column.h"
#include "report/core/graph.h"
#include "report/core/heap.h"

struct candidate {
    uint32_t func;
    int32_t depth;
    double cost;
};

// What one node calls, or is called for, by the function at the other end.
struct link {
    uint32_t other;
    uint32_t edge; // CORE_NONE: several
    struct value value, calls;
};

struct chooser {
    struct core *c;
    const struct select_wish *w;
    struct select_graph *out;
    const uint32_t *cycle;  // by function; NULL: nothing is folded
    uint32_t *first, *next; // members: by cycle, by function; + 1
    struct link *link;      // of one node
    uint32_t *link_of;      // by function: in `link`, + 1
    size_t links, link_cap;
    uint32_t *node_of;       // by function: node + 1
    uint8_t *waiting;        // by function: it is in the frontier
    struct candidate *front; // a heap, the most expensive first
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

static bool hidden(const struct chooser *x, uint32_t f)
{
    return x->w->mask && !x->w->mask[f];
}

static struct value plus(struct value a, struct value b, int64_t scale)
{
    struct value v = { .exact = column_sum(a.exact, b.exact),
                       .is_exact = a.is_exact && b.is_exact };

    v.approx = v.is_exact ? (double)v.exact / (double)scale : a.approx + b.approx;
    return v;
}

// ---- Cycles ----

static bool is_folded(const struct chooser *x, uint32_t f)
{
    return x->cycle && x->cycle[f] && x->first[x->cycle[f]] && !hidden(x, f);
}

// The function that represents another: of a folded cycle its first one that is not hidden.
static uint32_t stands_for(const struct chooser *x, uint32_t f)
{
    return is_folded(x, f) ? x->first[x->cycle[f]] - 1 : f;
}

static int fold(struct chooser *x)
{
    const struct side_graph *g = &x->c->graph[x->w->side];
    int rc = graph_cycles(x->c, x->w->side);

    if (rc < 0 || g->cycles == 0)
        return rc;
    x->first = heap_array((size_t)g->cycles + 1, sizeof(*x->first));
    x->next = heap_array(x->c->funcs, sizeof(*x->next));
    if (!x->first || !x->next)
        return CORE_MEMORY;
    // First their number: a cycle that is too large gets no links.
    for (uint32_t f = 0; f < x->c->funcs; f++)
        if (g->cycle[f])
            x->first[g->cycle[f]]++;
    for (uint32_t i = 1; i <= g->cycles; i++)
        x->first[i] = x->first[i] > x->w->fold ? CORE_NONE : 0;
    for (uint32_t f = x->c->funcs; f-- > 0;) {
        uint32_t cycle = g->cycle[f];
        if (cycle && x->first[cycle] != CORE_NONE && !hidden(x, f)) {
            x->next[f] = x->first[cycle];
            x->first[cycle] = f + 1;
        }
    }
    for (uint32_t i = 1; i <= g->cycles; i++)
        x->first[i] = x->first[i] == CORE_NONE ? 0 : x->first[i];
    x->cycle = g->cycle;
    return 0;
}

static void add_link(struct chooser *x, uint32_t other, uint32_t edge)
{
    struct link l = {
        .other = other,
        .edge = edge,
        .value = values_get(x->c, x->w->formula, VALUES_EDGE, x->w->side, edge),
        .calls = values_get(x->c, NULL, VALUES_CALLS, x->w->side, edge),
    };

    if (x->link_of[other]) {
        struct link *at = &x->link[x->link_of[other] - 1];
        at->edge = CORE_NONE;
        at->value = plus(at->value, l.value, formula_scale(x->w->formula));
        at->calls = plus(at->calls, l.calls, 1);
    } else if (!heap_room(x->link, x->links, x->link_cap)) {
        x->memory = true;
    } else {
        x->link[x->links++] = l;
        x->link_of[other] = (uint32_t)x->links;
    }
}

// All calls from a node, or to it. Calls within a folded cycle are neither.
static void gather(struct chooser *x, uint32_t node, bool callees)
{
    const struct core *c = x->c;
    bool folded = is_folded(x, node);
    uint32_t member = folded ? x->first[x->cycle[node]] : node + 1;

    x->links = 0;
    for (; member; member = folded ? x->next[member - 1] : 0) {
        const uint32_t *first = callees ? c->callee_first : c->caller_first;
        for (uint32_t k = first[member - 1]; k < first[member]; k++) {
            uint32_t edge = callees ? k : c->caller_edge[k];
            uint32_t other = stands_for(x, callees ? c->edge_callee[edge] : c->edge_caller[edge]);
            if (!folded || other != node)
                add_link(x, other, edge);
        }
    }
    for (size_t i = 0; i < x->links; i++)
        x->link_of[x->link[i].other] = 0;
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
    x->out->node[x->out->nodes++] =
        (struct select_node){ func, depth,
                              func < x->c->funcs && is_folded(x, func) ? x->cycle[func] : 0 };
    return true;
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
    if (depth >= 0 && (uint32_t)depth < x->w->down) {
        gather(x, func, true);
        for (size_t i = 0; i < x->links; i++)
            offer(x, x->link[i].other, depth + 1, magnitude(x->link[i].value.approx));
    }
    if (depth <= 0 && (uint32_t)-depth < x->w->up) {
        gather(x, func, false);
        for (size_t i = 0; i < x->links; i++)
            offer(x, x->link[i].other, depth - 1, magnitude(x->link[i].value.approx));
    }
}

static void choose(struct chooser *x)
{
    uint32_t most = core_min32(x->w->most, SELECT_NODES);

    if (x->w->focus != CORE_NONE) {
        uint32_t focus = stands_for(x, x->w->focus);
        x->waiting[focus] = 1;
        push(x, (struct candidate){ focus, 0, 0 });
    } else {
        for (uint32_t f = 0; f < x->c->funcs; f++) {
            double cost = node_cost(x, f);
            if (cost > 0 && cost >= x->w->least_node && !hidden(x, f) && stands_for(x, f) == f)
                push(x, (struct candidate){ f, 0, cost });
        }
    }
    // Two nodes are reserved for "others".
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

static void add_edge(struct chooser *x, struct select_edge e)
{
    if (!heap_room(x->out->edge, x->out->edges, x->edge_cap)) {
        x->memory = true;
        return;
    }
    x->out->edge[x->out->edges++] = e;
}

static struct select_edge edge_of(const struct link *l)
{
    return (struct select_edge){ .edge = l->edge, .value = l->value, .calls = l->calls };
}

static void add_to(struct select_edge *sum, bool *any, const struct select_edge *e, int64_t scale)
{
    if (!*any) {
        *sum = *e;
        sum->edge = CORE_NONE;
        *any = true;
    } else {
        sum->value = plus(sum->value, e->value, scale);
        sum->calls = plus(sum->calls, e->calls, 1);
    }
}

// The edges of a node to other nodes; those from and to functions that are no nodes are summed.
static void connect(struct chooser *x, uint32_t node, struct select_edge sum[2], bool any[2])
{
    uint32_t f = x->out->node[node].func;
    int64_t scale = formula_scale(x->w->formula);

    for (int callees = 1; callees >= 0; callees--) {
        gather(x, f, callees);
        for (size_t i = 0; i < x->links; i++) {
            struct select_edge edge = edge_of(&x->link[i]);
            if (edge.value.approx == 0 && edge.calls.approx == 0)
                continue;
            uint32_t to = x->node_of[x->link[i].other];
            if (to && callees && magnitude(edge.value.approx) >= x->w->least_edge) {
                edge.from = node;
                edge.to = to - 1;
                add_edge(x, edge);
            } else if (!to) {
                add_to(&sum[callees], &any[callees], &edge, scale);
            }
        }
    }
}

static void connect_all(struct chooser *x)
{
    uint32_t nodes = x->out->nodes, above_node = CORE_NONE, below_node = CORE_NONE;

    for (uint32_t n = 0; n < nodes && !x->memory; n++) {
        struct select_edge sum[2] = { { 0 }, { 0 } }; // of callers, of callees
        bool any[2] = { false, false };
        connect(x, n, sum, any);
        if (any[0]) {
            if (above_node == CORE_NONE && add_node(x, SELECT_ABOVE, 0))
                above_node = x->out->nodes - 1;
            sum[0].from = above_node;
            sum[0].to = n;
            add_edge(x, sum[0]);
        }
        if (any[1]) {
            if (below_node == CORE_NONE && add_node(x, SELECT_BELOW, 0))
                below_node = x->out->nodes - 1;
            sum[1].from = n;
            sum[1].to = below_node;
            add_edge(x, sum[1]);
        }
    }
}

// The most expensive edges, up to the limit.
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
    // Of a difference there are cycles of two sides, which need not be the same.
    rc = w->fold && w->side < VALUES_DIFFERENCE ? fold(&x) : 0;
    x.node_of = heap_array(c->funcs, sizeof(*x.node_of));
    x.link_of = heap_array(c->funcs, sizeof(*x.link_of));
    x.waiting = heap_get(c->funcs);
    x.memory = rc < 0 || !x.node_of || !x.link_of || !x.waiting;
    if (!x.memory)
        choose(&x);
    if (!x.memory)
        connect_all(&x);
    if (!x.memory)
        cut_edges(out);
    void *all[] = { x.node_of, x.waiting, x.front, x.first, x.next, x.link, x.link_of };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        heap_put(all[i]);
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
