// SPDX-License-Identifier: MIT
//
// Inclusive costs of calls from samples (call_estimate.h). Components of functions that call each
// other are found by Tarjan's algorithm, callees first: when one is complete, the costs of all
// calls that leave it are known, and with them its own, which is shared among the calls that lead
// into it.
#include "finish/sums/call_estimate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/util.h"

// The calls of each function, by number: those from it, or those to it.
struct calls_of {
    uint32_t *first; // of each function; one more for the end
    uint32_t *call;
};

struct frame {
    uint32_t function, next; // next: place in calls_of.call
};

struct work {
    struct call_estimate *call;
    size_t calls, functions;
    uint64_t (*self)[CALL_ESTIMATES];
    const struct spool_sampled *all;
    uint32_t width;
    struct calls_of from, to;
    // Tarjan's.
    uint32_t *index, *low, *component; // 0: none yet
    uint32_t *stack;
    size_t depth;
    uint32_t visited, components;
};

static int compare(const void *x, const void *y)
{
    const struct call_estimate *const *p = x, *const *q = y, *a = *p, *b = *q;

    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return a->target < b->target ? -1 : a->target > b->target;
}

static uint32_t end_of(const struct call_estimate *c, bool to)
{
    return to ? c->to : c->from;
}

static struct calls_of collect(const struct work *w, bool to)
{
    struct calls_of o = { xcalloc(w->functions + 2, sizeof(uint32_t)),
                          xmalloc((w->calls + 1) * sizeof(uint32_t)) };

    for (size_t i = 0; i < w->calls; i++)
        if (end_of(&w->call[i], to) != CALL_ESTIMATE_NOBODY)
            o.first[end_of(&w->call[i], to) + 2]++;
    for (size_t f = 2; f < w->functions + 2; f++)
        o.first[f] += o.first[f - 1];
    for (size_t i = 0; i < w->calls; i++)
        if (end_of(&w->call[i], to) != CALL_ESTIMATE_NOBODY)
            o.call[o.first[end_of(&w->call[i], to) + 1]++] = (uint32_t)i;
    return o;
}

// What the windows saw of a call, for all of its instructions.
static long double seen(const struct work *w, const struct call_estimate *c, int k)
{
    bool mine = c->timed != 0, cycles = k < SPOOL_SAMPLED_CAUSES;
    uint64_t timed = mine ? c->timed : w->all->insns;
    uint64_t n = mine     ? c->seen[k]
                 : cycles ? w->all->cycles[k]
                          : w->all->missed[k - SPOOL_SAMPLED_CAUSES];

    if (!timed)
        return 0;
    return (long double)n * (long double)c->insns / (long double)timed /
           (cycles ? (long double)w->width : 1);
}

// Shares `cost` among the calls, as weighted: the sum is exact.
static void share(struct call_estimate **call, const long double *weight, size_t n, uint64_t cost,
                  int k)
{
    long double sum = 0, so_far = 0;
    uint64_t given = 0;

    for (size_t i = 0; i < n; i++)
        sum += weight[i];
    for (size_t i = 0; i < n; i++) {
        uint64_t upto;

        so_far += weight[i];
        upto = i + 1 == n || sum <= 0 ? cost : (uint64_t)(so_far / sum * (long double)cost);
        if (upto > cost)
            upto = cost;
        if (upto < given)
            upto = given;
        call[i]->cost[k] = upto - given;
        given = upto;
    }
}

static uint64_t add_most(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

// The functions of a component, the last `n` on the stack: its calls get their costs.
static void finish_component(struct work *w, const uint32_t *function, size_t n)
{
    uint64_t cost[CALL_ESTIMATES] = { 0 };
    struct call_estimate **into;
    long double *weight;
    size_t calls = 0, within = 0;

    for (size_t i = 0; i < n; i++)
        calls += w->to.first[function[i] + 1] - w->to.first[function[i]];
    into = xmalloc((calls + 1) * sizeof(struct call_estimate *));
    weight = xmalloc((calls + 1) * sizeof(*weight));
    calls = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t f = function[i];

        for (int k = 0; k < CALL_ESTIMATES; k++)
            cost[k] = add_most(cost[k], w->self[f][k]);
        for (uint32_t at = w->from.first[f]; at < w->from.first[f + 1]; at++) {
            const struct call_estimate *c = &w->call[w->from.call[at]];

            if (w->component[c->to] == w->component[f])
                continue;
            for (int k = 0; k < CALL_ESTIMATES; k++)
                cost[k] = add_most(cost[k], c->cost[k]);
        }
        for (uint32_t at = w->to.first[f]; at < w->to.first[f + 1]; at++)
            into[calls++] = &w->call[w->to.call[at]];
    }
    qsort(into, calls, sizeof(struct call_estimate *), compare);
    // Those from the component itself to the end.
    for (size_t i = 0; i < calls; i++) {
        struct call_estimate *c = into[i];

        if (c->from != CALL_ESTIMATE_NOBODY && w->component[c->from] == w->component[c->to]) {
            for (int k = 0; k < CALL_ESTIMATES; k++) {
                long double s = seen(w, c, k);

                c->cost[k] = s < (long double)cost[k] ? (uint64_t)s : cost[k];
            }
            within++;
        } else {
            into[i - within] = c;
        }
    }
    calls -= within;
    for (int k = 0; k < CALL_ESTIMATES; k++) {
        for (size_t i = 0; i < calls; i++)
            weight[i] = seen(w, into[i], k);
        share(into, weight, calls, cost[k], k);
    }
    free(into);
    free(weight);
}

static void enter(struct work *w, uint32_t f)
{
    w->index[f] = w->low[f] = ++w->visited;
    w->stack[w->depth++] = f;
}

static void leave(struct work *w, uint32_t f)
{
    size_t from = w->depth;

    if (w->low[f] != w->index[f])
        return;
    w->components++;
    do
        w->component[w->stack[--from]] = w->components;
    while (w->stack[from] != f);
    finish_component(w, w->stack + from, w->depth - from);
    w->depth = from;
}

// Without recursion: a chain of calls may be long.
static void visit(struct work *w, uint32_t root, struct frame *frames)
{
    size_t n = 1;

    frames[0] = (struct frame){ root, w->from.first[root] };
    enter(w, root);
    while (n) {
        struct frame *top = &frames[n - 1];
        uint32_t f = top->function, to;

        if (top->next == w->from.first[f + 1]) {
            leave(w, f);
            if (--n && w->low[frames[n - 1].function] > w->low[f])
                w->low[frames[n - 1].function] = w->low[f];
            continue;
        }
        to = w->call[w->from.call[top->next++]].to;
        if (!w->index[to]) {
            frames[n++] = (struct frame){ to, w->from.first[to] };
            enter(w, to);
        } else if (!w->component[to] && w->low[f] > w->index[to]) {
            w->low[f] = w->index[to];
        }
    }
}

void call_estimate(struct call_estimate *call, size_t calls, uint64_t (*self)[CALL_ESTIMATES],
                   size_t functions, const struct spool_sampled *all, uint32_t width)
{
    struct work w = { .call = call,
                      .calls = calls,
                      .functions = functions,
                      .self = self,
                      .all = all,
                      .width = width };
    struct frame *frames = xmalloc((functions + 1) * sizeof(*frames));

    w.from = collect(&w, false);
    w.to = collect(&w, true);
    w.index = xcalloc(functions + 1, sizeof(*w.index));
    w.low = xcalloc(functions + 1, sizeof(*w.low));
    w.component = xcalloc(functions + 1, sizeof(*w.component));
    w.stack = xmalloc((functions + 1) * sizeof(*w.stack));
    for (size_t f = 0; f < functions; f++)
        if (!w.index[f])
            visit(&w, (uint32_t)f, frames);
    free(frames);
    free(w.index);
    free(w.low);
    free(w.component);
    free(w.stack);
    free(w.from.first);
    free(w.from.call);
    free(w.to.first);
    free(w.to.call);
}
