// SPDX-License-Identifier: MIT
//
// Paths are followed in breadth, the widest first, until they are too narrow to be seen.
#include "report/core/flame.h"

#include "report/core/column.h"
#include "report/core/graph.h"
#include "report/core/heap.h"

enum { DEPTH_MAX = 1000 };

// What must be known of a box to go on from it.
struct path {
    core_count sum, between; // of its edges, of the functions between
};

struct child {
    uint32_t func;
    core_count edge;
};

struct maker {
    struct core *c;
    struct formula *f;
    unsigned side;
    enum flame_kind kind;
    double least;
    uint32_t most;
    const uint8_t *mask; // by function: 0: hidden
    struct flame *out;
    struct path *path;
    size_t box_cap, path_cap;
    uint32_t *member, *member_first; // functions by cycle
    struct child *child;             // of the box at hand
    size_t children, child_cap;
    uint32_t *at; // by function: its child + 1
    bool memory;
};

static core_count whole(struct value v)
{
    core_count n = v.is_exact ? v.exact : (core_count)v.approx;

    return n > 0 ? n : 0;
}

static core_count inclusive(struct maker *m, uint32_t func)
{
    return whole(values_get(m->c, m->f, VALUES_INCLUSIVE, m->side, func));
}

static core_count self(struct maker *m, uint32_t func)
{
    return whole(values_get(m->c, m->f, VALUES_SELF, m->side, func));
}

// ---- Children ----

static void add_child(struct maker *m, uint32_t func, core_count edge)
{
    if (edge <= 0)
        return;
    if (m->at[func] == 0) {
        if (!heap_room(m->child, m->children, m->child_cap)) {
            m->memory = true;
            return;
        }
        m->child[m->children] = (struct child){ func, 0 };
        m->at[func] = (uint32_t)++m->children;
    }
    struct child *child = &m->child[m->at[func] - 1];
    child->edge = column_sum(child->edge, edge);
}

// The edges of one function that leave its cycle.
static void add_edges(struct maker *m, uint32_t func)
{
    const struct core *c = m->c;
    bool down = m->kind == FLAME_DOWN;
    uint32_t first = down ? c->callee_first[func] : c->caller_first[func];
    uint32_t end = down ? c->callee_first[func + 1] : c->caller_first[func + 1];

    for (uint32_t k = first; k < end; k++) {
        uint32_t e = down ? k : c->caller_edge[k];
        if (!graph_inside(c, m->side, e))
            add_child(m, down ? c->edge_callee[e] : c->edge_caller[e],
                      whole(values_get(c, m->f, VALUES_EDGE, m->side, e)));
    }
}

static void find_children(struct maker *m, uint32_t func)
{
    uint32_t cycle = m->c->graph[m->side].cycle[func];

    m->children = 0;
    if (!cycle) {
        add_edges(m, func);
    } else {
        for (uint32_t i = m->member_first[cycle]; i < m->member_first[cycle + 1]; i++)
            add_edges(m, m->member[i]);
    }
    for (size_t i = 0; i < m->children; i++)
        m->at[m->child[i].func] = 0;
}

// Keeps the children that are shown and cost at least so much, the dearest first; is any too cheap?
// A box of the whole has room for
// 1/least of them, so insertion is quick.
static bool keep_children(struct maker *m, double least)
{
    size_t n = 0, all = m->children;
    bool cut = false;

    for (size_t i = 0; i < all; i++) {
        struct child v = m->child[i];
        if (m->mask && !m->mask[v.func])
            continue;
        cut |= (double)v.edge < least;
        if ((double)v.edge < least)
            continue;
        size_t k = n++;
        for (; k > 0 && m->child[k - 1].edge < v.edge; k--)
            m->child[k] = m->child[k - 1];
        m->child[k] = v;
    }
    m->children = n;
    return cut;
}

static bool add_box(struct maker *m, struct flame_box box, struct path path)
{
    size_t n = m->out->count;

    if (n >= m->most)
        return false;
    if (!heap_room(m->out->box, n, m->box_cap) || !heap_room(m->path, n, m->path_cap)) {
        m->memory = true;
        return false;
    }
    if (m->c->graph[m->side].cycle[box.func])
        box.flags |= FLAME_CYCLE;
    m->out->box[n] = box;
    m->path[n] = path;
    m->out->count++;
    return true;
}

static void go_on(struct maker *m, uint32_t i)
{
    struct flame_box parent = m->out->box[i];
    struct path path = m->path[i];
    core_count cost = inclusive(m, parent.func), sum = 0;
    double x = parent.x;

    if (parent.depth >= DEPTH_MAX)
        return;
    find_children(m, parent.func);
    for (size_t k = 0; k < m->children; k++)
        sum = column_sum(sum, m->child[k].edge);
    // Edges may sum up to more than the function cost (odd profiles): then they share it.
    double share = (double)(sum > cost ? sum : cost);
    // A function is between others when an edge enters it, or when the path begins with its self
    // cost.
    bool between = parent.parent != CORE_NONE || m->kind == FLAME_UP_SELF;
    bool cut = keep_children(m, m->least * share / parent.width);
    m->out->box[i].flags |= cut ? FLAME_CUT : 0u;
    for (size_t k = 0; k < m->children; k++) {
        struct child child = m->child[k];
        double width = share > 0 ? parent.width * ((double)child.edge / share) : 0;
        struct path next = { column_sum(path.sum, child.edge),
                             between ? column_sum(path.between, cost) : 0 };
        core_count high = child.edge < parent.high ? child.edge : parent.high;
        core_count low = flame_low(next.sum, next.between);
        if (!add_box(m,
                     (struct flame_box){ .func = child.func,
                                         .parent = i,
                                         .depth = parent.depth + 1,
                                         .x = x,
                                         .width = width,
                                         .low = low < high ? low : high,
                                         .high = high },
                     next)) {
            m->out->box[i].flags |= FLAME_CUT;
            break;
        }
        x += width;
    }
}

// ---- The first boxes ----

static void add_root(struct maker *m, uint32_t func, core_count cost, double *x)
{
    double width = m->out->total > 0 ? (double)cost / (double)m->out->total : 0;

    if (cost <= 0 || width < m->least)
        return;
    // A path that begins with a self cost has it as its first edge.
    struct path path = { m->kind == FLAME_UP_SELF ? cost : 0, 0 };
    add_box(
        m,
        (struct flame_box){
            .func = func, .parent = CORE_NONE, .x = *x, .width = width, .low = cost, .high = cost },
        path);
    *x += width;
}

static bool is_called(const struct maker *m, uint32_t func)
{
    const struct core *c = m->c;

    for (uint32_t k = c->caller_first[func]; k < c->caller_first[func + 1]; k++)
        if (!graph_inside(c, m->side, c->caller_edge[k]) &&
            c->graph[m->side].there[c->caller_edge[k] / 8] >> c->caller_edge[k] % 8 & 1)
            return true;
    return false;
}

// Functions that nobody calls; of a cycle that nobody calls, the first.
static void find_roots(struct maker *m)
{
    const struct core *c = m->c;

    m->children = 0;
    for (uint32_t f = 0; f < c->funcs; f++) {
        uint32_t cycle = c->graph[m->side].cycle[f];
        if (m->kind != FLAME_DOWN) {
            add_child(m, f, self(m, f));
            continue;
        }
        bool called = is_called(m, f);
        if (cycle) {
            called = f != m->member[m->member_first[cycle]];
            for (uint32_t i = m->member_first[cycle]; i < m->member_first[cycle + 1]; i++)
                called |= is_called(m, m->member[i]);
        }
        if (!called)
            add_child(m, f, inclusive(m, f));
    }
    for (size_t i = 0; i < m->children; i++)
        m->at[m->child[i].func] = 0;
}

static void add_roots(struct maker *m)
{
    double x = 0;

    keep_children(m, (double)m->out->total * m->least);
    for (size_t i = 0; i < m->children; i++)
        add_root(m, m->child[i].func, m->child[i].edge, &x);
}

// Functions of each cycle, one cycle behind another.
static bool index_cycles(struct maker *m)
{
    const struct side_graph *g = &m->c->graph[m->side];

    m->member_first = heap_array((size_t)g->cycles + 3, sizeof(*m->member_first));
    m->member = heap_array(m->c->funcs, sizeof(*m->member));
    if (!m->member_first || !m->member)
        return false;
    for (uint32_t f = 0; f < m->c->funcs; f++)
        m->member_first[g->cycle[f] + 2]++;
    for (uint32_t i = 2; i < g->cycles + 3; i++)
        m->member_first[i] += m->member_first[i - 1];
    for (uint32_t f = 0; f < m->c->funcs; f++)
        m->member[m->member_first[g->cycle[f] + 1]++] = f;
    return true;
}

int flame_make(struct core *c, struct formula *f, unsigned side, uint32_t root,
               enum flame_kind kind, double least, uint32_t most, const uint8_t *mask,
               struct flame *out)
{
    struct maker m = { .c = c,
                       .f = f,
                       .side = side,
                       .kind = kind,
                       .least = least,
                       .most = most,
                       .mask = mask,
                       .out = out };
    int rc;

    *out = (struct flame){ 0 };
    if (side > VALUES_OLD || formula_is_ratio(f) || !c->linked ||
        (root != CORE_NONE && root >= c->funcs))
        return CORE_WRONG;
    if ((rc = values_prepare(c, f, VALUES_SELF, side)) < 0 ||
        (rc = values_prepare(c, f, VALUES_EDGE, side)) < 0 ||
        (rc = values_prepare(c, f, VALUES_INCLUSIVE, side)) < 0 || (rc = graph_cycles(c, side)) < 0)
        return rc;
    if (root == CORE_NONE && kind == FLAME_UP)
        m.kind = FLAME_UP_SELF;
    m.at = heap_array(c->funcs, sizeof(*m.at));
    m.memory = !m.at || !index_cycles(&m);
    if (!m.memory && root != CORE_NONE) {
        double x = 0;
        out->total = m.kind == FLAME_UP_SELF ? self(&m, root) : inclusive(&m, root);
        add_root(&m, root, out->total, &x);
    } else if (!m.memory) {
        out->total = whole(values_get(c, f, VALUES_TOTAL, side, 0));
        find_roots(&m);
        add_roots(&m);
    }
    for (uint32_t i = 0; !m.memory && i < out->count; i++)
        go_on(&m, i);
    heap_put(m.at);
    heap_put(m.member);
    heap_put(m.member_first);
    heap_put(m.child);
    heap_put(m.path);
    if (m.memory) {
        heap_put(out->box);
        *out = (struct flame){ 0 };
        return CORE_MEMORY;
    }
    return 0;
}
