// SPDX-License-Identifier: MIT
//
// Makes the edges: sites are grouped by caller, those of a caller sorted by callee, and equal ones
// form an edge. Edges are numbered by caller, then callee.
#include "report/core/link.h"

#include "report/core/bytes.h"
#include "report/core/costs.h"
#include "report/core/heap.h"

struct site {
    uint32_t callee, number;
};

// By callee; heap sort, since a function may have a million sites and its worst case is bounded.
static void sift(struct site *s, size_t at, size_t n)
{
    struct site v = s[at];

    for (size_t child; (child = at * 2 + 1) < n; at = child) {
        child += child + 1 < n && s[child + 1].callee > s[child].callee;
        if (s[child].callee <= v.callee)
            break;
        s[at] = s[child];
    }
    s[at] = v;
}

static void sort_sites(struct site *s, size_t n)
{
    size_t i = 1;

    while (i < n && s[i - 1].callee <= s[i].callee)
        i++;
    if (i >= n)
        return;
    for (i = n / 2; i-- > 0;)
        sift(s, i, n);
    for (i = n; i-- > 1;) {
        struct site last = s[i];
        s[i] = s[0];
        s[0] = last;
        sift(s, 0, i);
    }
}

// Sites by caller: first[f] is the first of f.
static struct site *gather(struct core *c, uint32_t *first)
{
    const struct section_list *l = &c->list[SECTION_CALLS];
    struct site *site = heap_array(c->sites, sizeof(*site));
    bool bad = !site;

    for (size_t i = 0; i < l->count; i++) {
        struct bytes b = bytes_of(l->item[i].at, l->item[i].size), per = bytes_text(&b);
        for (uint32_t f = 0; f < l->item[i].count; f++)
            first[l->item[i].first + f] += bytes_u32(&per);
    }
    for (uint32_t f = 0, sum = 0, n; f <= c->funcs; f++, sum += n) {
        n = f < c->funcs ? first[f] : 0;
        first[f] = sum;
    }
    for (size_t i = 0; !bad && i < l->count; i++) {
        const struct section *s = &l->item[i];
        struct bytes b = bytes_of(s->at, s->size), per = bytes_text(&b), callee = bytes_text(&b);
        uint32_t number = s->base;
        for (uint32_t f = s->first; f < s->first + s->count; f++)
            for (uint32_t n = bytes_u32(&per); n > 0; n--) {
                uint32_t to = bytes_u32(&callee);
                bad |= to >= c->funcs;
                site[first[f]++] = (struct site){ to, number++ };
            }
        bad |= b.bad || callee.bad;
    }
    if (bad) {
        heap_put(site);
        return NULL;
    }
    for (uint32_t f = c->funcs; f > 0; f--)
        first[f] = first[f - 1];
    first[0] = 0;
    return site;
}

static bool make_edges(struct core *c, struct site *site, const uint32_t *first)
{
    uint32_t edges = 0;

    for (uint32_t f = 0; f < c->funcs; f++) {
        sort_sites(site + first[f], first[f + 1] - first[f]);
        for (uint32_t i = first[f]; i < first[f + 1]; i++)
            edges += i == first[f] || site[i].callee != site[i - 1].callee;
    }
    c->site_edge = heap_array(c->sites, sizeof(*c->site_edge));
    c->callee_first = heap_array((size_t)c->funcs + 1, sizeof(*c->callee_first));
    c->caller_first = heap_array((size_t)c->funcs + 2, sizeof(*c->caller_first));
    c->edge_caller = heap_array(edges, sizeof(*c->edge_caller));
    c->edge_callee = heap_array(edges, sizeof(*c->edge_callee));
    c->caller_edge = heap_array(edges, sizeof(*c->caller_edge));
    if (!c->site_edge || !c->callee_first || !c->caller_first || !c->edge_caller ||
        !c->edge_callee || !c->caller_edge)
        return false;
    for (uint32_t f = 0; f < c->funcs; f++) {
        c->callee_first[f] = c->edges;
        for (uint32_t i = first[f]; i < first[f + 1]; i++) {
            if (i == first[f] || site[i].callee != site[i - 1].callee) {
                c->edge_caller[c->edges] = f;
                c->edge_callee[c->edges++] = site[i].callee;
            }
            c->site_edge[site[i].number] = c->edges - 1;
        }
    }
    c->callee_first[c->funcs] = c->edges;
    return true;
}

// The edges by callee.
static void turn_round(struct core *c)
{
    uint32_t *at = c->caller_first + 1; // one to the right: filling moves each start to its place

    for (uint32_t e = 0; e < c->edges; e++)
        if (c->edge_callee[e] + 1 < c->funcs)
            at[c->edge_callee[e] + 1]++;
    for (uint32_t f = 1; f < c->funcs; f++)
        at[f] += at[f - 1];
    for (uint32_t e = 0; e < c->edges; e++)
        c->caller_edge[at[c->edge_callee[e]]++] = e;
    c->caller_first[0] = 0;
}

int link_edges(struct core *c)
{
    uint32_t *first = heap_array((size_t)c->funcs + 1, sizeof(*first));
    struct site *site = first ? gather(c, first) : NULL;
    int rc = CORE_MEMORY;

    if (!c->head || c->linked)
        rc = CORE_WRONG;
    else if (first && !site)
        rc = CORE_DAMAGED;
    else if (site && make_edges(c, site, first)) {
        turn_round(c);
        costs_drop(c); // the values from TOP
        c->linked = true;
        rc = 0;
    }
    heap_put(first);
    heap_put(site);
    return rc;
}

uint32_t link_find(const struct core *c, uint32_t caller, uint32_t callee)
{
    uint32_t lo = c->callee_first[caller], hi = c->callee_first[caller + 1];

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->edge_callee[mid] < callee)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->callee_first[caller + 1] && c->edge_callee[lo] == callee ? lo : CORE_NONE;
}
