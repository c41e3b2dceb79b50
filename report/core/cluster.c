// SPDX-License-Identifier: MIT
//
// A unit is a box, or a node without a box. Each box has its own layout (layered.c); another layout
// places the units. Then nodes and points move with their units. The price: of the calls in both
// directions between two boxes, one direction runs upwards.
#include "report/core/cluster.h"

#include "report/core/heap.h"

struct clusters {
    struct layered *l;
    const uint32_t *group;
    struct cluster_box *box;
    uint32_t boxes;
    struct cluster_edge pad;
    uint32_t *unit_of, *unit_at; // by node; by box: unit + 1
    uint32_t *place;             // by node: its place in its box
    uint32_t *edge_of;           // by edge of a layout: which edge it is
    struct layered_node *node;   // of a layout: of a box, then of the units
    struct layered_edge *edge;   // likewise
    size_t point_cap;
};

static double or_more(double a, double b)
{
    return a > b ? a : b;
}

static bool add_point(struct clusters *k, struct layered_point p)
{
    if (!heap_room(k->l->point, k->l->points, k->point_cap))
        return false;
    k->l->point[k->l->points++] = p;
    return true;
}

static bool inside(const struct clusters *k, uint32_t e)
{
    uint32_t a = k->l->edge[e].from, b = k->l->edge[e].to;

    return a == b || (k->group[a] != CORE_NONE && k->group[a] == k->group[b]);
}

// ---- Within a box ----

// The layout of a box alone.
static struct layered inner(struct clusters *k, uint32_t box)
{
    struct layered *l = k->l;
    struct layered in = { .node = k->node, .edge = k->edge, .gap_x = l->gap_x, .gap_y = l->gap_y };

    for (uint32_t n = 0; n < l->nodes; n++)
        if (k->group[n] == box) {
            k->place[n] = in.nodes;
            k->node[in.nodes++] = (struct layered_node){ .w = l->node[n].w, .h = l->node[n].h };
        }
    for (uint32_t e = 0; e < l->edges; e++)
        if (k->group[l->edge[e].from] == box && inside(k, e)) {
            k->edge_of[in.edges] = e;
            k->edge[in.edges++] = (struct layered_edge){ .from = k->place[l->edge[e].from],
                                                         .to = k->place[l->edge[e].to],
                                                         .weight = l->edge[e].weight };
        }
    return in;
}

// Moves nodes and points to the box's corner; the box's size.
static int make_box(struct clusters *k, uint32_t box)
{
    struct layered *l = k->l, in = inner(k, box);
    int rc = in.nodes ? layered_make(&in) : 0;

    if (rc < 0 || !in.nodes)
        return rc;
    struct cluster_box *out = &k->box[box];
    double w = in.width + k->pad.left + k->pad.right, h = in.height + k->pad.top + k->pad.bottom;
    double dx = k->pad.left + or_more(0, out->w - w) / 2;
    double dy = k->pad.top + or_more(0, out->h - h) / 2;
    out->w = or_more(out->w, w);
    out->h = or_more(out->h, h);
    for (uint32_t n = 0; n < l->nodes; n++)
        if (k->group[n] == box) {
            l->node[n].x = in.node[k->place[n]].x + dx;
            l->node[n].y = in.node[k->place[n]].y + dy;
            l->node[n].layer = in.node[k->place[n]].layer;
        }
    for (uint32_t i = 0; i < in.edges; i++) {
        l->edge[k->edge_of[i]].first = l->points + in.edge[i].first;
        l->edge[k->edge_of[i]].points = in.edge[i].points;
    }
    for (uint32_t i = 0; rc == 0 && i < in.points; i++)
        if (!add_point(k, (struct layered_point){ in.point[i].x + dx, in.point[i].y + dy }))
            rc = CORE_MEMORY;
    heap_put(in.point);
    l->crossings += in.crossings;
    return rc;
}

// ---- Between boxes ----

static struct layered outer(struct clusters *k)
{
    struct layered *l = k->l;
    struct layered out = { .node = k->node, .edge = k->edge, .gap_x = l->gap_x, .gap_y = l->gap_y };

    core_zero(k->unit_at, k->boxes * sizeof(*k->unit_at));
    for (uint32_t n = 0; n < l->nodes; n++) {
        uint32_t box = k->group[n];
        if (box != CORE_NONE && k->unit_at[box]) {
            k->unit_of[n] = k->unit_at[box] - 1;
            continue;
        }
        k->unit_of[n] = out.nodes;
        k->node[out.nodes++] =
            box == CORE_NONE ? (struct layered_node){ .w = l->node[n].w, .h = l->node[n].h }
                             : (struct layered_node){ .w = k->box[box].w, .h = k->box[box].h };
        if (box != CORE_NONE)
            k->unit_at[box] = out.nodes;
    }
    for (uint32_t e = 0; e < l->edges; e++)
        if (!inside(k, e)) {
            k->edge_of[out.edges] = e;
            k->edge[out.edges++] = (struct layered_edge){ .from = k->unit_of[l->edge[e].from],
                                                          .to = k->unit_of[l->edge[e].to],
                                                          .weight = l->edge[e].weight };
        }
    return out;
}

// Moves the contents of units with them.
static void move(struct clusters *k, const struct layered *out)
{
    struct layered *l = k->l;

    for (uint32_t b = 0; b < k->boxes; b++)
        if (k->unit_at[b]) {
            const struct layered_node *unit = &out->node[k->unit_at[b] - 1];
            k->box[b].x = unit->x - unit->w / 2;
            k->box[b].y = unit->y - unit->h / 2;
        }
    for (uint32_t n = 0; n < l->nodes; n++) {
        if (k->group[n] == CORE_NONE) {
            const struct layered_node *unit = &out->node[k->unit_of[n]];
            l->node[n].x = unit->x;
            l->node[n].y = unit->y;
            l->node[n].layer = unit->layer;
        } else {
            l->node[n].x += k->box[k->group[n]].x;
            l->node[n].y += k->box[k->group[n]].y;
        }
    }
    for (uint32_t e = 0; e < l->edges; e++) {
        const struct layered_edge *edge = &l->edge[e];
        uint32_t box = k->group[edge->from];
        for (uint32_t i = 0; box != CORE_NONE && inside(k, e) && i < edge->points; i++) {
            l->point[edge->first + i].x += k->box[box].x;
            l->point[edge->first + i].y += k->box[box].y;
        }
    }
}

// Is another node of the box between this node and the box's lower (down > 0) or upper edge?
static bool behind(const struct clusters *k, uint32_t n, double down)
{
    const struct layered *l = k->l;

    for (uint32_t i = 0; i < l->nodes; i++) {
        const struct layered_node *a = &l->node[n], *b = &l->node[i];
        if (i != n && k->group[i] == k->group[n] && (b->y - a->y) * down > 0 &&
            b->x - b->w / 2 < a->x && a->x < b->x + b->w / 2)
            return true;
    }
    return false;
}

// The way out of a node's box when other nodes block it: along the side nearer to the target. The
// points after the node, in `p`; their number.
static uint32_t way_out(const struct clusters *k, uint32_t n, double down, double to,
                        struct layered_point p[2])
{
    const struct layered_node *a = &k->l->node[n];

    if (k->group[n] == CORE_NONE || !behind(k, n, down))
        return 0;
    const struct cluster_box *box = &k->box[k->group[n]];
    double x = to < a->x ? box->x + k->pad.left / 2 : box->x + box->w - k->pad.right / 2;
    p[0] = (struct layered_point){ x, a->y + (a->h + k->l->gap_y) * down };
    p[1] = (struct layered_point){ x, down > 0 ? box->y + box->h : box->y };
    return 2;
}

// From node to node; in between, the inner points of the units' edge.
static bool draw(struct clusters *k, uint32_t e, const struct layered *out, uint32_t outer_edge)
{
    struct layered *l = k->l;
    uint32_t from = l->edge[e].from, to = l->edge[e].to;
    const struct layered_node *a = &l->node[from], *b = &l->node[to];
    const struct layered_edge *way = &out->edge[outer_edge];
    const struct layered_point *p = out->point + way->first;
    double down = p[0].y <= p[way->points - 1].y ? 0.5 : -0.5;
    struct layered_point first[2], last[2];
    uint32_t leave = way_out(k, from, down, b->x, first), enter = way_out(k, to, -down, a->x, last);

    l->edge[e].first = l->points;
    if (!add_point(k, (struct layered_point){ a->x, a->y + a->h * down }))
        return false;
    for (uint32_t i = 0; i < leave; i++)
        if (!add_point(k, first[i]))
            return false;
    for (uint32_t i = 1; i + 1 < way->points; i++)
        if (!add_point(k, p[i]))
            return false;
    for (uint32_t i = enter; i-- > 0;)
        if (!add_point(k, last[i]))
            return false;
    if (!add_point(k, (struct layered_point){ b->x, b->y - b->h * down }))
        return false;
    l->edge[e].points = l->points - l->edge[e].first;
    return true;
}

static int make_all(struct clusters *k)
{
    int rc = 0;

    for (uint32_t b = 0; rc == 0 && b < k->boxes; b++)
        rc = make_box(k, b);
    if (rc < 0)
        return rc;
    struct layered out = outer(k);
    rc = layered_make(&out);
    if (rc < 0)
        return rc;
    move(k, &out);
    for (uint32_t i = 0; rc == 0 && i < out.edges; i++)
        if (!draw(k, k->edge_of[i], &out, i))
            rc = CORE_MEMORY;
    k->l->width = out.width;
    k->l->height = out.height;
    k->l->crossings += out.crossings;
    heap_put(out.point);
    return rc;
}

int cluster_make(struct layered *l, const uint32_t *group, struct cluster_box *box, uint32_t boxes,
                 struct cluster_edge edge)
{
    struct clusters k = { .l = l, .group = group, .box = box, .boxes = boxes, .pad = edge };

    l->point = NULL;
    l->points = l->crossings = 0;
    l->width = l->height = 0;
    if (l->nodes > LAYERED_NODES || l->edges > LAYERED_EDGES)
        return CORE_WRONG;
    for (uint32_t n = 0; n < l->nodes; n++)
        if (group[n] != CORE_NONE && group[n] >= boxes)
            return CORE_WRONG;
    for (uint32_t e = 0; e < l->edges; e++) {
        if (l->edge[e].from >= l->nodes || l->edge[e].to >= l->nodes)
            return CORE_WRONG;
        l->edge[e].points = 0;
    }
    k.unit_of = heap_array(l->nodes, sizeof(*k.unit_of));
    k.unit_at = heap_array(boxes, sizeof(*k.unit_at));
    k.place = heap_array(l->nodes, sizeof(*k.place));
    k.edge_of = heap_array(l->edges, sizeof(*k.edge_of));
    k.node = heap_array(l->nodes, sizeof(*k.node));
    k.edge = heap_array(l->edges, sizeof(*k.edge));
    bool ok = k.unit_of && k.unit_at && k.place && k.edge_of && k.node && k.edge;
    int rc = ok ? make_all(&k) : CORE_MEMORY;
    void *all[] = { k.unit_of, k.unit_at, k.place, k.edge_of, k.node, k.edge };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        heap_put(all[i]);
    if (rc < 0) {
        heap_put(l->point);
        l->point = NULL;
    }
    return rc;
}
