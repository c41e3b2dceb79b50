// SPDX-License-Identifier: MIT
//
// Costs of functions: self, inclusive, the edges between them, and the cycles. Built in one walk
// over the records; used by the annotator, the differ and the converters.
//
// Inclusive cost. A call record has the total cost of the call, so the inclusive cost of a function
// is its self cost plus its calls - unless a function that it calls calls it back: then the same
// cost would be counted once for each round. Functions that reach each other are a cycle, which is
// treated as one function: the self costs of its members plus the calls that leave it. A function
// that calls only itself is not a cycle of two, but its calls to itself are left out in the same
// way.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/grow.h"
#include "profile/model/walk.h"

struct edge {
    uint32_t caller, callee;
    uint64_t calls;
    size_t at; // its counts, in units of `events`; edges are sorted, counts are not
};

struct quern_costs {
    size_t funcs, events, edges;
    quern_count *self, *inclusive; // by function, `events` each
    uint64_t *present, *called;
    uint32_t *cycle;
    struct edge *edge; // sorted by caller, callee
    quern_count *edge_counts;
    size_t *first;     // by caller: first edge; funcs + 1 of them
    uint32_t *callers; // edge numbers, by callee
    size_t *first_caller;
};

void quern_costs_free(struct quern_costs *c)
{
    if (!c)
        return;
    free(c->self);
    free(c->inclusive);
    free(c->present);
    free(c->called);
    free(c->cycle);
    free(c->edge);
    free(c->edge_counts);
    free(c->first);
    free(c->callers);
    free(c->first_caller);
    free(c);
}

// ---- Edges: every caller-callee pair once ----

struct edge_table {
    struct edge *edge;
    quern_count *counts; // `events` for each edge
    struct table table;
    size_t count, cap, events;
};

static uint64_t edge_hash(uint32_t caller, uint32_t callee)
{
    return ((uint64_t)caller << 32 | callee) * 0x9e3779b97f4a7c15u >> 24;
}

static bool edge_grow(struct edge_table *t)
{
    size_t cap = t->cap ? t->cap * 2 : 256;

    if (cap > UINT32_MAX / 4)
        return false;
    if (!grow_array(&t->edge, cap, sizeof(*t->edge)) ||
        !grow_array(&t->counts, cap * t->events + 1, sizeof(*t->counts)) ||
        !grow_table(&t->table, cap))
        return false;
    for (size_t i = 0; i < t->count; i++)
        table_add(&t->table, edge_hash(t->edge[i].caller, t->edge[i].callee), (uint32_t)i);
    t->cap = cap;
    return true;
}

// The edge; a new one has no calls. QUERN_NONE: no memory.
static uint32_t edge_find(struct edge_table *t, uint32_t caller, uint32_t callee)
{
    if (t->count == t->cap && !edge_grow(t))
        return QUERN_NONE;
    size_t at = table_first(&t->table, edge_hash(caller, callee));
    for (; table_used(&t->table, at); at = table_next(&t->table, at)) {
        uint32_t i = table_number(&t->table, at);
        if (t->edge[i].caller == caller && t->edge[i].callee == callee)
            return i;
    }
    t->edge[t->count] = (struct edge){ caller, callee, 0, t->count };
    memset(t->counts + t->count * t->events, 0, t->events * sizeof(*t->counts));
    table_put(&t->table, at, (uint32_t)t->count);
    return (uint32_t)t->count++;
}

static int cmp_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

// ---- Cycles: Tarjan's strongly connected components, without recursion ----

static int find_cycles(struct quern_costs *c)
{
    size_t n = c->funcs, sp = 0, tp = 0;
    uint32_t *index = calloc(n + 1, sizeof(*index)), *low = calloc(n + 1, sizeof(*low));
    uint32_t *stack = calloc(n + 1, sizeof(*stack)), *todo = calloc(n + 1, sizeof(*todo));
    size_t *next = calloc(n + 1, sizeof(*next));
    bool *on = calloc(n + 1, sizeof(*on));
    uint32_t counter = 0, cycles = 0;
    int rc = -ENOMEM;

    if (!index || !low || !stack || !todo || !next || !on)
        goto out;
    for (size_t root = 0; root < n; root++) {
        if (index[root])
            continue;
        todo[tp++] = (uint32_t)root;
        while (tp) {
            uint32_t f = todo[tp - 1];
            if (!index[f]) {
                index[f] = low[f] = ++counter;
                stack[sp++] = f;
                on[f] = true;
                next[f] = c->first[f];
            }
            bool deeper = false;
            while (next[f] < c->first[f + 1]) {
                uint32_t g = c->edge[next[f]++].callee;
                if (!index[g]) {
                    todo[tp++] = g;
                    deeper = true;
                    break;
                }
                if (on[g] && index[g] < low[f])
                    low[f] = index[g];
            }
            if (deeper)
                continue;
            if (low[f] == index[f]) {
                uint32_t number = stack[sp - 1] == f ? 0 : ++cycles, g;
                do {
                    g = stack[--sp];
                    on[g] = false;
                    c->cycle[g] = number;
                } while (g != f);
            }
            tp--;
            if (tp && low[f] < low[todo[tp - 1]])
                low[todo[tp - 1]] = low[f];
        }
    }
    rc = (int)(cycles < INT32_MAX ? cycles : INT32_MAX);
out:
    free(index);
    free(low);
    free(stack);
    free(todo);
    free(next);
    free(on);
    return rc;
}

// ---- Building ----

// Adds the counts at w to `to`, in units of the events' scales. @hot
static void add_counts(const struct quern_profile *p, struct walk *w, quern_count *to,
                       quern_count *scratch, bool scaled)
{
    if (__builtin_expect(w->special || scaled, 0)) {
        walk_scaled(w, p->event, scratch);
        for (size_t i = 0; i < w->ncounts; i++)
            to[i] += scratch[i];
        return;
    }
    const uint8_t *in = w->in;
    for (size_t i = 0; i < w->ncounts; i++) {
        uint64_t v;
        in = get_varint(in, &v);
        to[i] += v;
    }
    w->in = in;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

// Self costs, and the edges with their calls and inclusive costs.
static int collect(const struct quern_profile *p, struct quern_costs *c, struct edge_table *t,
                   quern_count *scratch, bool scaled)
{
    struct walk w;

    walk_init(&w, p);
    while (walk_next(&w)) {
        quern_count *to;
        if (w.op == OP_COST) {
            c->present[w.at.func] |= w.present;
            to = c->self + w.at.func * c->events;
        } else if (w.op == OP_CALL) {
            uint32_t e = edge_find(t, w.at.func, w.to.func);
            if (e == QUERN_NONE)
                return -ENOMEM;
            t->edge[e].calls = add_sat(t->edge[e].calls, w.calls);
            to = t->counts + e * c->events;
        } else {
            walk_skip(&w); // nobody needs the counts of jumps
            continue;
        }
        add_counts(p, &w, to, scratch, scaled);
    }
    return 0;
}

static int index_edges(struct quern_costs *c)
{
    size_t n = c->funcs;

    c->first = calloc(n + 2, sizeof(*c->first));
    c->first_caller = calloc(n + 2, sizeof(*c->first_caller));
    c->callers = calloc(c->edges + 1, sizeof(*c->callers));
    if (!c->first || !c->first_caller || !c->callers)
        return -ENOMEM;
    for (size_t i = 0; i < c->edges; i++) {
        c->first[c->edge[i].caller + 1]++;
        c->first_caller[c->edge[i].callee + 1]++;
        c->called[c->edge[i].callee] = add_sat(c->called[c->edge[i].callee], c->edge[i].calls);
    }
    for (size_t i = 0; i < n; i++) {
        c->first[i + 1] += c->first[i];
        c->first_caller[i + 1] += c->first_caller[i];
    }
    size_t *fill = malloc((n + 1) * sizeof(*fill));
    if (!fill)
        return -ENOMEM;
    memcpy(fill, c->first_caller, (n + 1) * sizeof(*fill));
    for (size_t i = 0; i < c->edges; i++)
        c->callers[fill[c->edge[i].callee]++] = (uint32_t)i;
    free(fill);
    return 0;
}

// Self costs plus calls that leave: of a function, or of its whole cycle.
static int sum_inclusive(struct quern_costs *c, uint32_t cycles)
{
    size_t ne = c->events;
    quern_count *of_cycle = calloc((size_t)(cycles + 1) * ne + 1, sizeof(*of_cycle));

    if (!of_cycle)
        return -ENOMEM;
    for (size_t f = 0; f < c->funcs; f++) {
        quern_count *to = c->cycle[f] ? of_cycle + c->cycle[f] * ne : c->inclusive + f * ne;
        for (size_t i = 0; i < ne; i++)
            to[i] += c->self[f * ne + i];
        for (size_t e = c->first[f]; e < c->first[f + 1]; e++) {
            uint32_t g = c->edge[e].callee;
            if (g == f || (c->cycle[f] && c->cycle[g] == c->cycle[f]))
                continue;
            for (size_t i = 0; i < ne; i++)
                to[i] += c->edge_counts[c->edge[e].at * ne + i];
        }
    }
    for (size_t f = 0; f < c->funcs; f++)
        if (c->cycle[f])
            memcpy(c->inclusive + f * ne, of_cycle + c->cycle[f] * ne, ne * sizeof(*of_cycle));
    free(of_cycle);
    return 0;
}

struct quern_costs *quern_costs_new(const struct quern_profile *p)
{
    struct quern_costs *c = calloc(1, sizeof(*c));
    struct edge_table t = { .events = p->event_count };
    bool scaled = false;
    int rc = -ENOMEM;

    if (!c)
        return NULL;
    c->funcs = p->func_count;
    c->events = p->event_count;
    for (size_t i = 0; i < c->events; i++)
        scaled |= p->event[i].scale != 1;
    c->self = calloc(c->funcs * c->events + 1, sizeof(*c->self));
    c->inclusive = calloc(c->funcs * c->events + 1, sizeof(*c->inclusive));
    c->present = calloc(c->funcs + 1, sizeof(*c->present));
    c->called = calloc(c->funcs + 1, sizeof(*c->called));
    c->cycle = calloc(c->funcs + 1, sizeof(*c->cycle));
    quern_count *scratch = calloc(c->events + 1, sizeof(*scratch));
    if (!c->self || !c->inclusive || !c->present || !c->called || !c->cycle || !scratch ||
        collect(p, c, &t, scratch, scaled) < 0)
        goto out;
    if (t.count)
        qsort(t.edge, t.count, sizeof(*t.edge), cmp_edge);
    c->edge = t.edge;
    c->edges = t.count;
    c->edge_counts = t.counts;
    t.edge = NULL;
    t.counts = NULL;
    if (index_edges(c) < 0)
        goto out;
    if ((rc = find_cycles(c)) >= 0)
        rc = sum_inclusive(c, (uint32_t)rc);
out:
    free(t.edge);
    free(t.counts);
    free(t.table.slot);
    free(scratch);
    if (rc < 0) {
        quern_costs_free(c);
        errno = -rc;
        return NULL;
    }
    return c;
}

// ---- Getters ----

const quern_count *quern_costs_self(const struct quern_costs *c, uint32_t func)
{
    return c->self + func * c->events;
}

const quern_count *quern_costs_inclusive(const struct quern_costs *c, uint32_t func)
{
    return c->inclusive + func * c->events;
}

uint64_t quern_costs_present(const struct quern_costs *c, uint32_t func)
{
    return c->present[func];
}

uint32_t quern_costs_cycle(const struct quern_costs *c, uint32_t func)
{
    return c->cycle[func];
}

uint64_t quern_costs_called(const struct quern_costs *c, uint32_t func)
{
    return c->called[func];
}

size_t quern_costs_edge_count(const struct quern_costs *c)
{
    return c->edges;
}

struct quern_edge quern_costs_edge(const struct quern_costs *c, size_t i)
{
    return (struct quern_edge){ .caller = c->edge[i].caller,
                                .callee = c->edge[i].callee,
                                .calls = c->edge[i].calls,
                                .counts = c->edge_counts + c->edge[i].at * c->events };
}

void quern_costs_callees(const struct quern_costs *c, uint32_t func, size_t *first, size_t *end)
{
    *first = c->first[func];
    *end = c->first[func + 1];
}

const uint32_t *quern_costs_callers(const struct quern_costs *c, uint32_t func, size_t *n)
{
    *n = c->first_caller[func + 1] - c->first_caller[func];
    return c->callers + c->first_caller[func];
}
