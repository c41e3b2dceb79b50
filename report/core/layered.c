// SPDX-License-Identifier: MIT
//
// The steps of layered.h, each a function. A "place" is a node or a point of a long edge in a
// layer.
//
// Order: medians of the neighbours, down and up in turn, then exchanges of neighbours while they
// help, as dot does it (Gansner et al. 1993). Coordinates: each layer moves as near as possible
// to the positions that its neighbours prefer, by least squares, with the order and the gaps
// unchanged: that is isotonic regression, which pooling of neighbouring blocks solves exactly.
#include "report/core/layered.h"

#include "report/core/heap.h"

enum { SWEEPS = 24, MOVES = 16 };

struct place {
    double w, x;
    uint32_t layer, at;            // where in the layer
    uint32_t node;                 // CORE_NONE: a point of an edge
    uint32_t up, ups, down, downs; // links in `link`
    double want;                   // median, or wanted x
};

struct segment { // between places of neighbouring layers
    uint32_t top, bottom;
    double weight;
};

struct work {
    struct layered *l;
    uint8_t *turned; // by edge
    uint32_t *rank;  // by node
    struct place *place;
    size_t places, place_cap;
    struct segment *segment;
    size_t segments, segment_cap;
    uint32_t *link;         // segments by place, up and down
    uint32_t *layer_first;  // by layer, into `order`
    uint32_t *order, *best; // places, layer by layer
    uint32_t *chain;        // by edge: its first point among the places
    uint32_t layers;
    uint32_t *tree; // counting crossings
    double *block_sum, *block_weight;
    uint32_t *block_end;
};

// ---- Circles and layers ----

struct walk {
    uint32_t node, next;
};

// Edges by their beginning.
static uint32_t *edges_by_node(const struct layered *l, uint32_t **first)
{
    uint32_t *by = heap_array(l->edges, sizeof(*by));

    *first = heap_array((size_t)l->nodes + 2, sizeof(**first));
    if (!by || !*first) {
        heap_put(by);
        return NULL;
    }
    for (uint32_t e = 0; e < l->edges; e++)
        (*first)[l->edge[e].from + 2]++;
    for (uint32_t n = 2; n < l->nodes + 2; n++)
        (*first)[n] += (*first)[n - 1];
    for (uint32_t e = 0; e < l->edges; e++)
        by[(*first)[l->edge[e].from + 1]++] = e;
    return by;
}

// Depth first: an edge to a node on the current path is reversed.
static bool turn_edges(struct work *w)
{
    struct layered *l = w->l;
    uint32_t *first = NULL, *by = edges_by_node(l, &first);
    uint8_t *state = heap_get(l->nodes);
    struct walk *stack = heap_array((size_t)l->nodes + 1, sizeof(*stack));
    bool ok = by && state && stack;

    for (uint32_t root = 0; ok && root < l->nodes; root++) {
        size_t n = 0;
        if (state[root])
            continue;
        state[root] = 1;
        stack[n++] = (struct walk){ root, first[root] };
        while (n > 0) {
            struct walk *top = &stack[n - 1];
            if (top->next == first[top->node + 1]) {
                state[top->node] = 2;
                n--;
                continue;
            }
            uint32_t e = by[top->next++], to = l->edge[e].to;
            if (state[to] == 1) {
                w->turned[e] = 1;
            } else if (state[to] == 0) {
                state[to] = 1;
                stack[n++] = (struct walk){ to, first[to] };
            }
        }
    }
    heap_put(first);
    heap_put(by);
    heap_put(state);
    heap_put(stack);
    return ok;
}

static uint32_t top_of(const struct work *w, uint32_t e)
{
    return w->turned[e] ? w->l->edge[e].to : w->l->edge[e].from;
}

static uint32_t bottom_of(const struct work *w, uint32_t e)
{
    return w->turned[e] ? w->l->edge[e].from : w->l->edge[e].to;
}

// The longest way from a node without callers; then each node moves down to its nearest callee
// while that makes its edges shorter altogether.
static void rank_nodes(struct work *w)
{
    struct layered *l = w->l;
    bool again = true;

    for (uint32_t round = 0; again && round <= l->nodes; round++) {
        again = false;
        for (uint32_t e = 0; e < l->edges; e++) {
            uint32_t a = top_of(w, e), b = bottom_of(w, e);
            if (a != b && w->rank[b] < w->rank[a] + 1) {
                w->rank[b] = w->rank[a] + 1;
                again = true;
            }
        }
    }
    for (uint32_t round = 0; round < 8; round++)
        for (uint32_t n = l->nodes; n-- > 0;) {
            uint32_t nearest = UINT32_MAX;
            double pull = 0;
            for (uint32_t e = 0; e < l->edges; e++) {
                uint32_t a = top_of(w, e), b = bottom_of(w, e);
                if (a == b)
                    continue;
                if (a == n) {
                    nearest = core_min32(nearest, w->rank[b] - 1);
                    pull += 1;
                } else if (b == n) {
                    pull -= 1;
                }
            }
            if (pull > 0 && nearest != UINT32_MAX)
                w->rank[n] = nearest;
        }
}

// ---- Places and segments ----

static uint32_t add_place(struct work *w, struct place p)
{
    if (!heap_room(w->place, w->places, w->place_cap))
        return CORE_NONE;
    w->place[w->places] = p;
    return (uint32_t)w->places++;
}

static bool add_segment(struct work *w, uint32_t top, uint32_t bottom, double weight)
{
    if (!heap_room(w->segment, w->segments, w->segment_cap))
        return false;
    w->segment[w->segments++] = (struct segment){ top, bottom, weight };
    return true;
}

static bool split_edges(struct work *w)
{
    struct layered *l = w->l;

    for (uint32_t n = 0; n < l->nodes; n++) {
        if (add_place(w, (struct place){ .w = l->node[n].w, .layer = w->rank[n], .node = n }) ==
            CORE_NONE)
            return false;
        w->layers = w->rank[n] + 1 > w->layers ? w->rank[n] + 1 : w->layers;
    }
    for (uint32_t e = 0; e < l->edges; e++) {
        uint32_t a = top_of(w, e), b = bottom_of(w, e), at = a;
        w->chain[e] = (uint32_t)w->places;
        if (a == b)
            continue;
        for (uint32_t layer = w->rank[a] + 1; layer < w->rank[b]; layer++) {
            uint32_t p = add_place(w, (struct place){ .layer = layer, .node = CORE_NONE });
            // Points of an edge are kept vertically aligned.
            if (p == CORE_NONE || !add_segment(w, at, p, l->edge[e].weight * (at == a ? 2 : 8)))
                return false;
            at = p;
        }
        if (!add_segment(w, at, b, l->edge[e].weight * (at == a ? 1 : 2)))
            return false;
    }
    return true;
}

// Segments of each place, first those up, then those down.
static bool link_places(struct work *w)
{
    w->link = heap_array(w->segments * 2, sizeof(*w->link));
    if (!w->link)
        return false;
    for (size_t s = 0; s < w->segments; s++) {
        w->place[w->segment[s].top].downs++;
        w->place[w->segment[s].bottom].ups++;
    }
    uint32_t sum = 0;
    for (size_t p = 0; p < w->places; p++) {
        w->place[p].up = sum;
        w->place[p].down = sum += w->place[p].ups;
        sum += w->place[p].downs;
        w->place[p].ups = w->place[p].downs = 0;
    }
    for (size_t s = 0; s < w->segments; s++) {
        struct place *top = &w->place[w->segment[s].top], *bottom = &w->place[w->segment[s].bottom];
        w->link[top->down + top->downs++] = (uint32_t)s;
        w->link[bottom->up + bottom->ups++] = (uint32_t)s;
    }
    return true;
}

// ---- Order ----

// The first order: as a walk down from the top meets them.
static bool first_order(struct work *w)
{
    uint32_t *fill = heap_array((size_t)w->layers + 1, sizeof(*fill));
    uint32_t *stack = heap_array(w->places + w->segments + 1, sizeof(*stack));
    uint8_t *seen = heap_get(w->places);
    bool ok = fill && stack && seen;

    w->layer_first = heap_array((size_t)w->layers + 1, sizeof(*w->layer_first));
    w->order = heap_array(w->places, sizeof(*w->order));
    w->best = heap_array(w->places, sizeof(*w->best));
    w->tree = heap_array(w->places + 2, sizeof(*w->tree));
    ok = ok && w->layer_first && w->order && w->best && w->tree;
    for (size_t p = 0; ok && p < w->places; p++)
        w->layer_first[w->place[p].layer + 1]++;
    for (uint32_t i = 0; ok && i < w->layers; i++)
        w->layer_first[i + 1] += w->layer_first[i];
    for (size_t root = 0; ok && root < w->places; root++) {
        size_t n = 0;
        if (w->place[root].ups || seen[root])
            continue;
        stack[n++] = (uint32_t)root;
        while (n > 0) {
            uint32_t p = stack[--n];
            if (seen[p])
                continue;
            seen[p] = 1;
            struct place *x = &w->place[p];
            x->at = fill[x->layer]++;
            w->order[w->layer_first[x->layer] + x->at] = p;
            for (uint32_t i = x->downs; i-- > 0;)
                stack[n++] = w->segment[w->link[x->down + i]].bottom;
        }
    }
    heap_put(fill);
    heap_put(stack);
    heap_put(seen);
    return ok;
}

// Crossings between a layer and the one below it: a tree of sums over the places below (Barth,
// Juenger and Mutzel).
static uint32_t crossings_below(struct work *w, uint32_t layer)
{
    uint32_t n = w->layer_first[layer + 2] - w->layer_first[layer + 1], count = 0, before = 0;

    core_zero(w->tree, (n + 1) * sizeof(*w->tree));
    for (uint32_t i = w->layer_first[layer]; i < w->layer_first[layer + 1]; i++) {
        const struct place *p = &w->place[w->order[i]];
        for (uint32_t k = 0; k < p->downs; k++) {
            uint32_t at = w->place[w->segment[w->link[p->down + k]].bottom].at, left = 0;
            for (uint32_t t = at + 1; t > 0; t -= t & -t)
                left += w->tree[t];
            count += before - left;
        }
        for (uint32_t k = 0; k < p->downs; k++) {
            uint32_t at = w->place[w->segment[w->link[p->down + k]].bottom].at;
            for (uint32_t t = at + 1; t <= n; t += t & -t)
                w->tree[t]++;
            before++;
        }
    }
    return count;
}

static uint32_t crossings(struct work *w)
{
    uint32_t sum = 0;

    for (uint32_t layer = 0; layer + 1 < w->layers; layer++)
        sum += crossings_below(w, layer);
    return sum;
}

static void number_layer(struct work *w, uint32_t layer)
{
    for (uint32_t i = w->layer_first[layer]; i < w->layer_first[layer + 1]; i++)
        w->place[w->order[i]].at = i - w->layer_first[layer];
}

static uint32_t other(const struct work *w, const struct place *p, bool up, uint32_t i)
{
    const struct segment *s = &w->segment[w->link[(up ? p->up : p->down) + i]];

    return w->place[up ? s->top : s->bottom].at;
}

// The position that a place's links prefer: their median, weighted as dot does;
// -1: none.
static double median(const struct work *w, const struct place *p, bool up)
{
    uint32_t n = up ? p->ups : p->downs, at[64];

    if (n == 0)
        return -1;
    if (n > 64) { // the mean is good enough
        double sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += other(w, p, up, i);
        return sum / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = other(w, p, up, i), k = i;
        for (; k > 0 && at[k - 1] > v; k--)
            at[k] = at[k - 1];
        at[k] = v;
    }
    if (n % 2 == 1)
        return at[n / 2];
    if (n == 2)
        return (at[0] + at[1]) / 2.0;
    double left = at[n / 2 - 1] - at[0], right = at[n - 1] - at[n / 2];
    if (left + right == 0)
        return (at[n / 2 - 1] + at[n / 2]) / 2.0;
    return (at[n / 2 - 1] * right + at[n / 2] * left) / (left + right);
}

// Sorts a layer by its medians; a place without one keeps its position.
static void sort_layer(struct work *w, uint32_t layer, bool up)
{
    uint32_t first = w->layer_first[layer], end = w->layer_first[layer + 1];

    for (uint32_t i = first; i < end; i++) {
        struct place *p = &w->place[w->order[i]];
        p->want = median(w, p, up);
    }
    for (uint32_t i = first + 1; i < end; i++) {
        uint32_t v = w->order[i], hole = i;
        if (w->place[v].want < 0)
            continue;
        for (uint32_t k = i; k-- > first;) {
            double before = w->place[w->order[k]].want;
            if (before < 0)
                continue;
            if (before <= w->place[v].want)
                break;
            w->order[hole] = w->order[k];
            hole = k;
        }
        w->order[hole] = v;
    }
    number_layer(w, layer);
}

// Crossings of the links of two neighbours when a is left of b, up or down.
static uint32_t cross_pair(const struct work *w, const struct place *a, const struct place *b,
                           bool up)
{
    uint32_t count = 0, n = up ? a->ups : a->downs, m = up ? b->ups : b->downs;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < m; k++)
            count += other(w, a, up, i) > other(w, b, up, k);
    return count;
}

static bool exchange(struct work *w, uint32_t layer)
{
    bool better = false;

    for (uint32_t i = w->layer_first[layer]; i + 1 < w->layer_first[layer + 1]; i++) {
        struct place *a = &w->place[w->order[i]], *b = &w->place[w->order[i + 1]];
        if (a->ups + a->downs > 200 || b->ups + b->downs > 200)
            continue;
        uint32_t now = cross_pair(w, a, b, true) + cross_pair(w, a, b, false);
        uint32_t then = cross_pair(w, b, a, true) + cross_pair(w, b, a, false);
        if (then >= now)
            continue;
        uint32_t swap = w->order[i];
        w->order[i] = w->order[i + 1];
        w->order[i + 1] = swap;
        a->at++;
        b->at--;
        better = true;
    }
    return better;
}

static void order_layers(struct work *w)
{
    uint32_t least = crossings(w);

    core_copy(w->best, w->order, w->places * sizeof(*w->order));
    for (uint32_t sweep = 0; sweep < SWEEPS && least > 0; sweep++) {
        bool down = sweep % 2 == 0;
        for (uint32_t i = 1; i < w->layers; i++)
            sort_layer(w, down ? i : w->layers - 1 - i, down);
        bool better = true;
        for (uint32_t round = 0; round < 10 && better; round++) {
            better = false;
            for (uint32_t i = 0; i < w->layers; i++)
                better |= exchange(w, i);
        }
        uint32_t now = crossings(w);
        if (now < least) {
            least = now;
            core_copy(w->best, w->order, w->places * sizeof(*w->order));
        }
    }
    core_copy(w->order, w->best, w->places * sizeof(*w->order));
    for (uint32_t i = 0; i < w->layers; i++)
        number_layer(w, i);
    w->l->crossings = least;
}

// ---- Coordinates ----

// The distance of the middles of neighbours.
static double apart(const struct work *w, uint32_t a, uint32_t b)
{
    const struct place *x = &w->place[a], *y = &w->place[b];
    double gap = x->node == CORE_NONE || y->node == CORE_NONE ? w->l->gap_x / 2 : w->l->gap_x;

    return (x->w + y->w) / 2 + gap;
}

// Moves a layer towards its links above (or below, or both), with order and distances unchanged.
static void move_layer(struct work *w, uint32_t layer, bool up, bool down)
{
    uint32_t first = w->layer_first[layer], n = w->layer_first[layer + 1] - first, blocks = 0;
    double offset = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct place *p = &w->place[w->order[first + i]];
        double sum = 0, weight = 0;
        for (uint32_t k = 0; up && k < p->ups; k++) {
            const struct segment *s = &w->segment[w->link[p->up + k]];
            sum += w->place[s->top].x * s->weight;
            weight += s->weight;
        }
        for (uint32_t k = 0; down && k < p->downs; k++) {
            const struct segment *s = &w->segment[w->link[p->down + k]];
            sum += w->place[s->bottom].x * s->weight;
            weight += s->weight;
        }
        // A place without links keeps its position, with a small weight.
        if (weight <= 0) {
            weight = 1e-3;
            sum = p->x * weight;
        }
        if (i > 0)
            offset += apart(w, w->order[first + i - 1], w->order[first + i]);
        p->want = offset;
        // A block of places that touch: its position is its mean.
        w->block_sum[blocks] = sum - offset * weight;
        w->block_weight[blocks] = weight;
        w->block_end[blocks++] = i + 1;
        while (blocks > 1 && w->block_sum[blocks - 2] * w->block_weight[blocks - 1] >
                                 w->block_sum[blocks - 1] * w->block_weight[blocks - 2]) {
            w->block_sum[blocks - 2] += w->block_sum[blocks - 1];
            w->block_weight[blocks - 2] += w->block_weight[blocks - 1];
            w->block_end[blocks - 2] = w->block_end[blocks - 1];
            blocks--;
        }
    }
    for (uint32_t b = 0, i = 0; b < blocks; b++)
        for (; i < w->block_end[b]; i++) {
            struct place *p = &w->place[w->order[first + i]];
            p->x = w->block_sum[b] / w->block_weight[b] + p->want;
        }
}

static bool place_layers(struct work *w)
{
    w->block_sum = heap_array(w->places, sizeof(*w->block_sum));
    w->block_weight = heap_array(w->places, sizeof(*w->block_weight));
    w->block_end = heap_array(w->places, sizeof(*w->block_end));
    if (!w->block_sum || !w->block_weight || !w->block_end)
        return false;
    for (uint32_t i = 0; i < w->layers; i++)
        for (uint32_t k = w->layer_first[i] + 1; k < w->layer_first[i + 1]; k++)
            w->place[w->order[k]].x =
                w->place[w->order[k - 1]].x + apart(w, w->order[k - 1], w->order[k]);
    for (uint32_t round = 0; round < MOVES; round++)
        for (uint32_t i = 0; i < w->layers; i++)
            move_layer(w, round % 2 ? w->layers - 1 - i : i, round % 2 == 0 || round >= MOVES - 4,
                       round % 2 == 1 || round >= MOVES - 4);
    return true;
}

// ---- The result ----

static bool put_points(struct work *w, const double *layer_y)
{
    struct layered *l = w->l;
    size_t most = (size_t)l->edges * 2 + w->places;

    l->point = heap_array(most, sizeof(*l->point));
    if (!l->point)
        return false;
    for (uint32_t e = 0; e < l->edges; e++) {
        uint32_t a = top_of(w, e), b = bottom_of(w, e);
        l->edge[e].first = l->points;
        l->edge[e].points = 0;
        if (a == b)
            continue;
        struct layered_point *p = l->point + l->points;
        uint32_t n = 0, between = w->rank[b] - w->rank[a] - 1;
        p[n++] = (struct layered_point){ l->node[a].x, l->node[a].y + l->node[a].h / 2 };
        for (uint32_t i = 0; i < between; i++) {
            const struct place *x = &w->place[w->chain[e] + i];
            p[n++] = (struct layered_point){ x->x, layer_y[x->layer] };
        }
        p[n++] = (struct layered_point){ l->node[b].x, l->node[b].y - l->node[b].h / 2 };
        for (uint32_t i = 0; w->turned[e] && i < n / 2; i++) {
            struct layered_point swap = p[i];
            p[i] = p[n - 1 - i];
            p[n - 1 - i] = swap;
        }
        l->edge[e].points = n;
        l->points += n;
    }
    return true;
}

static bool put_result(struct work *w)
{
    struct layered *l = w->l;
    double *y = heap_array((size_t)w->layers + 1, sizeof(*y)), left = 0, right = 0, top = 0;

    if (!y)
        return false;
    for (size_t p = 0; p < w->places; p++) {
        const struct place *x = &w->place[p];
        left = p == 0 || x->x - x->w / 2 < left ? x->x - x->w / 2 : left;
        right = p == 0 || x->x + x->w / 2 > right ? x->x + x->w / 2 : right;
    }
    for (uint32_t layer = 0; layer < w->layers; layer++) {
        double high = 0;
        for (uint32_t i = w->layer_first[layer]; i < w->layer_first[layer + 1]; i++) {
            const struct place *p = &w->place[w->order[i]];
            if (p->node != CORE_NONE && l->node[p->node].h > high)
                high = l->node[p->node].h;
        }
        y[layer] = top + high / 2;
        top += high + l->gap_y;
    }
    for (size_t p = 0; p < w->places; p++) {
        struct place *x = &w->place[p];
        x->x -= left;
        if (x->node == CORE_NONE)
            continue;
        l->node[x->node].x = x->x;
        l->node[x->node].y = y[x->layer];
        l->node[x->node].layer = x->layer;
    }
    l->width = right - left;
    l->height = w->layers ? top - l->gap_y : 0;
    bool ok = put_points(w, y);
    heap_put(y);
    return ok;
}

int layered_make(struct layered *l)
{
    struct work w = { .l = l };
    bool ok;

    l->point = NULL;
    l->points = l->crossings = 0;
    l->width = l->height = 0;
    if (l->nodes > LAYERED_NODES || l->edges > LAYERED_EDGES)
        return CORE_WRONG;
    for (uint32_t e = 0; e < l->edges; e++)
        if (l->edge[e].from >= l->nodes || l->edge[e].to >= l->nodes)
            return CORE_WRONG;
    w.turned = heap_get(l->edges);
    w.rank = heap_array(l->nodes, sizeof(*w.rank));
    w.chain = heap_array(l->edges, sizeof(*w.chain));
    ok = w.turned && w.rank && w.chain && turn_edges(&w);
    if (ok)
        rank_nodes(&w);
    ok = ok && split_edges(&w) && link_places(&w) && first_order(&w);
    if (ok)
        order_layers(&w);
    ok = ok && place_layers(&w) && put_result(&w);
    void *all[] = { w.turned, w.rank,  w.place, w.segment,   w.link,         w.layer_first, w.order,
                    w.best,   w.chain, w.tree,  w.block_sum, w.block_weight, w.block_end };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        heap_put(all[i]);
    return ok ? 0 : CORE_MEMORY;
}
