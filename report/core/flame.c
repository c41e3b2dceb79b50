// SPDX-License-Identifier: MIT
//
// Paths are followed breadth first, the widest first, until they are too narrow to be visible. The
// children of a box depend on its function or cycle only, not on the path: they are found and
// sorted once. So a picture of a million functions, with a cycle of tens of thousands that occurs
// in it a thousand times, takes only as long as its calls and its boxes.
#include "report/core/flame.h"

#include "report/core/column.h"
#include "report/core/graph.h"
#include "report/core/heap.h"

enum { DEPTH_MAX = 1000 };

// Facts about a box that its children need.
struct path {
    core_count sum, between; // of its edges, of the functions between
};

struct child {
    uint32_t func;
    core_count edge;
};

// The children of a function, or of a cycle.
struct fan {
    size_t first, count; // children, the most expensive first
    // The sum that is shared: the cost, or all edges (hidden and cut ones too) where they sum up
    // to more (odd profiles).
    double share;
    core_count cut;     // edges that are too cheap even for the widest box: their cost,
    uint32_t cut_count; // and their number
};

struct maker {
    struct core *c;
    struct formula *f;
    unsigned side;
    enum flame_kind kind;
    double least, fine, from, to; // of flame_wish
    double widest;                // of the first boxes: no box on top of them is wider
    uint32_t most;
    const uint8_t *mask; // by function: 0: hidden
    struct flame *out;
    struct path *path;
    size_t box_cap, path_cap;
    uint32_t *member, *member_first; // functions by cycle
    struct child *child;             // of all fans, consecutive
    size_t children, child_cap;
    struct fan *fan;
    size_t fans, fan_cap;
    uint32_t *fan_of; // by function, of a cycle its first: its fan + 1
    uint32_t *at;     // by function: its child in the fan at hand + 1
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

static void add_child(struct maker *m, size_t first, uint32_t func, core_count edge)
{
    if (edge <= 0)
        return;
    if (m->at[func] == 0) {
        if (!heap_room(m->child, m->children, m->child_cap)) {
            m->memory = true;
            return;
        }
        m->child[m->children++] = (struct child){ func, 0 };
        m->at[func] = (uint32_t)(m->children - first);
    }
    struct child *child = &m->child[first + m->at[func] - 1];
    child->edge = column_sum(child->edge, edge);
}

// The edges of one function that leave its cycle.
static void add_edges(struct maker *m, size_t first, uint32_t func)
{
    const struct core *c = m->c;
    bool down = m->kind == FLAME_DOWN;
    uint32_t from = down ? c->callee_first[func] : c->caller_first[func];
    uint32_t end = down ? c->callee_first[func + 1] : c->caller_first[func + 1];

    for (uint32_t k = from; k < end; k++) {
        uint32_t e = down ? k : c->caller_edge[k];
        if (!graph_inside(c, m->side, e))
            add_child(m, first, down ? c->edge_callee[e] : c->edge_caller[e],
                      whole(values_get(c, m->f, VALUES_EDGE, m->side, e)));
    }
}

static bool is_behind(const struct child *a, const struct child *b)
{
    return a->edge != b->edge ? a->edge < b->edge : a->func > b->func;
}

static void sink(struct child *a, size_t at, size_t n)
{
    for (size_t below; (below = 2 * at + 1) < n; at = below) {
        if (below + 1 < n && is_behind(&a[below + 1], &a[below]))
            below++;
        if (!is_behind(&a[below], &a[at]))
            return;
        struct child v = a[at];
        a[at] = a[below];
        a[below] = v;
    }
}

// The most expensive first, of equal ones the first function. The heap has the last one on top.
static void sort_children(struct child *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sink(a, i, n);
    while (n > 1) {
        struct child v = a[0];
        a[0] = a[--n];
        a[n] = v;
        sink(a, 0, n);
    }
}

// Of the children from `first` on keeps those that are visible and cost at least this much, sorted.
static struct fan keep_children(struct maker *m, size_t first, double least)
{
    struct fan fan = { .first = first };

    for (size_t i = first; i < m->children; i++) {
        struct child v = m->child[i];
        m->at[v.func] = 0;
        if (m->mask && !m->mask[v.func])
            continue;
        if ((double)v.edge < least) {
            fan.cut = column_sum(fan.cut, v.edge);
            fan.cut_count++;
        } else {
            m->child[first + fan.count++] = v;
        }
    }
    m->children = first + fan.count;
    if (fan.count) // else there may be no children at all, and no memory for them
        sort_children(m->child + first, fan.count);
    return fan;
}

// The function that represents a cycle.
static uint32_t first_of(const struct maker *m, uint32_t func)
{
    uint32_t cycle = m->c->graph[m->side].cycle[func];

    return cycle ? m->member[m->member_first[cycle]] : func;
}

static const struct fan *fan_from(struct maker *m, uint32_t func, core_count cost)
{
    uint32_t cycle = m->c->graph[m->side].cycle[func], key = first_of(m, func);
    size_t first = m->children;

    if (m->fan_of[key])
        return &m->fan[m->fan_of[key] - 1];
    if (!heap_room(m->fan, m->fans, m->fan_cap)) {
        m->memory = true;
        return NULL;
    }
    if (!cycle)
        add_edges(m, first, func);
    for (uint32_t i = m->member_first[cycle]; cycle && i < m->member_first[cycle + 1]; i++)
        add_edges(m, first, m->member[i]);
    core_count sum = 0;
    for (size_t i = first; i < m->children; i++)
        sum = column_sum(sum, m->child[i].edge);
    double share = (double)(sum > cost ? sum : cost);
    struct fan fan = keep_children(m, first, m->widest > 0 ? m->fine * share / m->widest : 0);
    fan.share = share;
    m->fan[m->fans++] = fan;
    m->fan_of[key] = (uint32_t)m->fans;
    return &m->fan[m->fans - 1];
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

// Is the whole box left or right of the range with fine boxes?
static bool is_outside(const struct maker *m, double x, double width)
{
    return x + width <= m->from || x >= m->to;
}

// Narrower boxes are not made.
static double least_at(const struct maker *m, double x, double width)
{
    return is_outside(m, x, width) ? m->least : m->fine;
}

static void go_on(struct maker *m, uint32_t i)
{
    struct flame_box parent = m->out->box[i];
    struct path path = m->path[i];
    core_count cost = inclusive(m, parent.func);
    double x = parent.x, least = least_at(m, parent.x, parent.width);

    if (parent.depth >= DEPTH_MAX)
        return;
    const struct fan *fan = fan_from(m, parent.func, cost);
    if (!fan)
        return;
    // A function is between others when an edge enters it, or when the path begins with its self
    // cost.
    bool between = parent.parent != CORE_NONE || m->kind == FLAME_UP_SELF, cut = fan->cut_count > 0;
    for (size_t k = 0; k < fan->count; k++) {
        struct child child = m->child[fan->first + k];
        double width = fan->share > 0 ? parent.width * ((double)child.edge / fan->share) : 0;
        if ((double)child.edge < least * fan->share / parent.width) {
            cut = true;
            break;
        }
        if (width < least_at(m, x, width)) {
            cut = true;
            x += width;
            continue;
        }
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
            cut = true;
            break;
        }
        x += width;
    }
    m->out->box[i].flags |= cut ? FLAME_CUT : 0u;
}

// ---- The first boxes ----

static void add_root(struct maker *m, uint32_t func, core_count cost, double *x)
{
    double width = m->out->total > 0 ? (double)cost / (double)m->out->total : 0;

    if (cost <= 0)
        return;
    // A path that begins with a self cost has it as its first edge.
    struct path path = { m->kind == FLAME_UP_SELF ? cost : 0, 0 };
    if (width < least_at(m, *x, width) || !add_box(m,
                                                   (struct flame_box){ .func = func,
                                                                       .parent = CORE_NONE,
                                                                       .x = *x,
                                                                       .width = width,
                                                                       .low = cost,
                                                                       .high = cost },
                                                   path)) {
        m->out->rest = column_sum(m->out->rest, cost);
        m->out->rest_count++;
    }
    m->widest = width > m->widest ? width : m->widest;
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

    if (m->kind != FLAME_DOWN) {
        for (uint32_t f = 0; f < c->funcs; f++)
            add_child(m, 0, f, self(m, f));
        return;
    }
    uint8_t *called = heap_array(c->funcs, 1); // of a cycle: its first
    m->memory = !called;
    for (uint32_t f = 0; called && f < c->funcs; f++)
        called[first_of(m, f)] |= is_called(m, f);
    for (uint32_t f = 0; called && f < c->funcs; f++)
        if (!called[f] && first_of(m, f) == f)
            add_child(m, 0, f, inclusive(m, f));
    heap_put(called);
}

static void add_roots(struct maker *m)
{
    struct fan fan = keep_children(m, 0, (double)m->out->total * m->fine);
    double x = 0;

    m->out->rest = fan.cut;
    m->out->rest_count = fan.cut_count;
    for (size_t i = 0; i < fan.count; i++)
        add_root(m, m->child[i].func, m->child[i].edge, &x);
    m->children = 0;
}

// Functions by cycle, one list for each.
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

int flame_make(struct core *c, const struct flame_wish *w, struct flame *out)
{
    struct formula *f = w->formula;
    unsigned side = w->side;
    struct maker m = { .c = c,
                       .f = f,
                       .side = side,
                       .kind = w->kind,
                       .least = w->least,
                       .fine = w->fine < w->least && w->from < w->to ? w->fine : w->least,
                       .from = w->from,
                       .to = w->to,
                       .most = w->most,
                       .mask = w->mask,
                       .out = out };
    int rc;

    *out = (struct flame){ 0 };
    if (side > VALUES_OLD || formula_is_ratio(f) || !c->linked ||
        (w->root != CORE_NONE && w->root >= c->funcs))
        return CORE_WRONG;
    if ((rc = values_prepare(c, f, VALUES_SELF, side)) < 0 ||
        (rc = values_prepare(c, f, VALUES_EDGE, side)) < 0 ||
        (rc = values_prepare(c, f, VALUES_INCLUSIVE, side)) < 0 || (rc = graph_cycles(c, side)) < 0)
        return rc;
    if (w->root == CORE_NONE && w->kind == FLAME_UP)
        m.kind = FLAME_UP_SELF;
    m.at = heap_array(c->funcs, sizeof(*m.at));
    m.fan_of = heap_array(c->funcs, sizeof(*m.fan_of));
    m.memory = !m.at || !m.fan_of || !index_cycles(&m);
    if (!m.memory && w->root != CORE_NONE) {
        double x = 0;
        out->total = m.kind == FLAME_UP_SELF ? self(&m, w->root) : inclusive(&m, w->root);
        add_root(&m, w->root, out->total, &x);
    } else if (!m.memory) {
        out->total = whole(values_get(c, f, VALUES_TOTAL, side, 0));
        find_roots(&m);
        add_roots(&m);
    }
    for (uint32_t i = 0; !m.memory && i < out->count; i++)
        go_on(&m, i);
    heap_put(m.at);
    heap_put(m.fan_of);
    heap_put(m.fan);
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
