// SPDX-License-Identifier: MIT
//
// Layouts: nothing overlaps, treemaps are exact in area, layers follow the edges, and graphs that
// can be drawn without a crossing have none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/core/cluster.h"
#include "report/core/heap.h"
#include "report/core/layered.h"
#include "report/core/treemap.h"

static uint64_t seed = 1;

static uint32_t random32(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static double overlap(double a, double b, double c, double d)
{
    double low = a > c ? a : c, high = b < d ? b : d;

    return high - low;
}

// ---- Treemaps ----

// 6, 6, 4, 3, 2, 2, 1 in 6 x 4: the example of the paper of Bruls, Huizing and van Wijk. The first
// column is 6 and 6, 3 wide and 2 high each; then a row of 4 and 3, 2.333 wide.
static void paper(void **state)
{
    const double value[] = { 6, 6, 4, 3, 2, 2, 1 };
    struct treemap_rect r[7];

    (void)state;
    treemap_squarify(value, 7, 24, (struct treemap_rect){ 0, 0, 6, 4 }, r);
    assert_true(r[0].w == 3 && r[0].h == 2 && r[1].w == 3 && r[1].h == 2 && r[1].y == 2);
    assert_true(r[2].x == 3 && r[3].y == 0 && r[2].h > 2.333 && r[2].h < 2.334);
    assert_true(r[2].w > 1.714 && r[2].w < 1.715);
}

static void treemaps(void **state)
{
    enum { N = 300 };
    double value[N], whole = 0;
    struct treemap_rect r[N];

    (void)state;
    for (int round = 0; round < 20; round++) {
        double before = 1e6;
        whole = 0;
        for (int i = 0; i < N; i++) {
            value[i] = before = before * (random32(1000) + 1) / 1000.0 * (round % 2 ? 1.0 : 1.01);
            value[i] = i > 250 ? 0 : value[i];
            whole += value[i];
        }
        for (int i = 1; i < N; i++)
            value[i] = value[i] > value[i - 1] ? value[i - 1] : value[i];
        treemap_squarify(value, N, whole * 1.25, (struct treemap_rect){ 10, 20, 800, 500 }, r);
        for (int i = 0; i < N; i++) {
            double area = value[i] / (whole * 1.25) * 400000;
            assert_true(r[i].w * r[i].h > area - 1e-6 && r[i].w * r[i].h < area + 1e-6);
            assert_true(r[i].x >= 10 - 1e-6 && r[i].x + r[i].w <= 810 + 1e-6);
            assert_true(r[i].y >= 20 - 1e-6 && r[i].y + r[i].h <= 520 + 1e-6);
            for (int k = 0; k < i; k++)
                assert_false(overlap(r[i].x, r[i].x + r[i].w, r[k].x, r[k].x + r[k].w) > 1e-6 &&
                             overlap(r[i].y, r[i].y + r[i].h, r[k].y, r[k].y + r[k].h) > 1e-6);
        }
    }
}

// Nothing to show, and no area to show it in.
static void rect_is(const struct treemap_rect *r, double x, double y, double w, double h)
{
    if (r->x != x || r->y != y || r->w != w || r->h != h)
        fail_msg("%g %g %g %g, wanted %g %g %g %g", r->x, r->y, r->w, r->h, x, y, w, h);
}

// 0 (75) and 1 (25) share 100 x 50: 75 and 25 wide. In 0, with a head of 10, are 2 (45) and 3
// (30): 75 x 40 along its lower side: 2 is 45 wide. In 2 is 4, a third of it, in an edge of 1
// only on request; in 1 is 5, but 25 x 40 is narrower than 26.
static void nested(void **state)
{
    const double value[] = { 75, 25, 45, 30, 15, 25 };
    const uint32_t parent[] = { CORE_NONE, CORE_NONE, 0, 0, 2, 1 };
    const struct treemap_rect room = { 0, 0, 100, 50 };
    struct treemap_rect r[6];

    (void)state;
    assert_int_equal(
        treemap_nest(value, parent, 6, 100, room, (struct treemap_style){ 10, 0, 26 }, r), 0);
    rect_is(&r[0], 0, 0, 75, 50);
    rect_is(&r[1], 75, 0, 25, 50);
    rect_is(&r[2], 0, 10, 45, 40);
    rect_is(&r[3], 45, 10, 30, 40);
    rect_is(&r[4], 0, 20, 15, 30); // 45 x 30 remain below its head
    assert_true(r[5].w == 0 && r[5].h == 0);
    assert_int_equal(
        treemap_nest(value, parent, 6, 100, room, (struct treemap_style){ 10, 1, 5 }, r), 0);
    rect_is(&r[5], 76, 11, 23, 38);
    assert_int_equal(
        treemap_nest(value, (uint32_t[]){ 0 }, 1, 100, room, (struct treemap_style){ 0, 0, 0 }, r),
        CORE_WRONG);
}

static void nothing(void **state)
{
    const double value[] = { 1, 0 };
    struct treemap_rect r[2];

    (void)state;
    treemap_squarify(value, 2, 0, (struct treemap_rect){ 0, 0, 1, 1 }, r);
    assert_true(r[0].w == 0 && r[1].w == 0);
    treemap_squarify(value, 2, 1, (struct treemap_rect){ 0, 0, 0, 1 }, r);
    assert_true(r[0].w == 0);
    treemap_squarify(NULL, 0, 1, (struct treemap_rect){ 0, 0, 1, 1 }, r);
    assert_int_equal(treemap_nest(NULL, NULL, 0, 1, (struct treemap_rect){ 0, 0, 1, 1 },
                                  (struct treemap_style){ 0, 0, 1 }, NULL),
                     0);
}

// ---- Layers ----

static void check(struct layered *l)
{
    assert_int_equal(layered_make(l), 0);
    for (uint32_t i = 0; i < l->nodes; i++) {
        const struct layered_node *a = &l->node[i];
        assert_true(a->x - a->w / 2 >= -1e-6 && a->x + a->w / 2 <= l->width + 1e-6);
        assert_true(a->y - a->h / 2 >= -1e-6 && a->y + a->h / 2 <= l->height + 1e-6);
        for (uint32_t k = 0; k < i; k++) {
            const struct layered_node *b = &l->node[k];
            double x = overlap(a->x - a->w / 2, a->x + a->w / 2, b->x - b->w / 2, b->x + b->w / 2);
            double y = overlap(a->y - a->h / 2, a->y + a->h / 2, b->y - b->h / 2, b->y + b->h / 2);
            assert_false(x > -l->gap_x + 1e-6 && y > -l->gap_y + 1e-6 &&
                         (x > 1e-6 || a->layer == b->layer) && y > 1e-6);
        }
    }
    for (uint32_t e = 0; e < l->edges; e++) {
        const struct layered_edge *x = &l->edge[e];
        if (x->from == x->to) {
            assert_int_equal(x->points, 0);
            continue;
        }
        assert_true(x->points >= 2);
        assert_int_not_equal(l->node[x->from].layer, l->node[x->to].layer);
        assert_true(l->point[x->first].x == l->node[x->from].x);
        assert_true(l->point[x->first + x->points - 1].x == l->node[x->to].x);
    }
}

static uint32_t lay_out(uint32_t nodes, const uint32_t (*pair)[2], uint32_t edges)
{
    struct layered_node *node = calloc(nodes + 1, sizeof(*node));
    struct layered_edge *edge = calloc(edges + 1, sizeof(*edge));
    struct layered l = {
        .node = node, .nodes = nodes, .edge = edge, .edges = edges, .gap_x = 20, .gap_y = 40
    };

    for (uint32_t i = 0; i < nodes; i++)
        node[i] = (struct layered_node){ .w = 40 + random32(100), .h = 20 + random32(30) };
    for (uint32_t e = 0; e < edges; e++)
        edge[e] = (struct layered_edge){ .from = pair[e][0], .to = pair[e][1], .weight = 1 };
    check(&l);
    heap_put(l.point);
    free(node);
    free(edge);
    return l.crossings;
}

static void planar(void **state)
{
    // Two above two, all joined, cross once in any order; the others need no crossing.
    const uint32_t chain[][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 } };
    const uint32_t square[][2] = { { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 3 } };
    const uint32_t circle[][2] = { { 0, 1 }, { 1, 2 }, { 2, 0 }, { 2, 2 } };
    uint32_t tree[14][2], shuffled[14][2];

    (void)state;
    for (uint32_t i = 0; i < 14; i++) {
        tree[i][0] = i / 2;
        tree[i][1] = i + 1;
    }
    for (uint32_t i = 0; i < 14; i++) { // the same tree with other numbers for its nodes
        shuffled[i][0] = tree[i][0] * 7 % 15;
        shuffled[i][1] = tree[i][1] * 7 % 15;
    }
    assert_int_equal(lay_out(4, chain, 3), 0);
    assert_int_equal(lay_out(15, (const uint32_t(*)[2])tree, 14), 0);
    assert_int_equal(lay_out(15, (const uint32_t(*)[2])shuffled, 14), 0);
    assert_int_equal(lay_out(4, square, 4), 1);
    assert_int_equal(lay_out(3, circle, 4), 0);
    assert_int_equal(lay_out(0, NULL, 0), 0);
    assert_int_equal(lay_out(1, NULL, 0), 0);
}

static void random_graphs(void **state)
{
    static uint32_t pair[1200][2];

    (void)state;
    for (int round = 0; round < 30; round++) {
        uint32_t nodes = 2 + random32(round == 0 ? 399 : 80), edges = random32(3 * nodes);
        for (uint32_t e = 0; e < edges; e++) {
            pair[e][0] = random32(nodes);
            pair[e][1] = random32(nodes);
        }
        lay_out(nodes, (const uint32_t(*)[2])pair, edges);
    }
}

// ---- Boxes around groups ----

static bool touch(double ax, double ay, double aw, double ah, double bx, double by, double bw,
                  double bh)
{
    return overlap(ax, ax + aw, bx, bx + bw) > 1e-6 && overlap(ay, ay + ah, by, by + bh) > 1e-6;
}

static void check_boxes(const struct layered *l, const uint32_t *group,
                        const struct cluster_box *box, uint32_t boxes, struct cluster_edge pad)
{
    for (uint32_t i = 0; i < l->nodes; i++) {
        const struct layered_node *a = &l->node[i];
        double x = a->x - a->w / 2, y = a->y - a->h / 2;
        assert_true(x >= -1e-6 && y >= -1e-6 && x + a->w <= l->width + 1e-6 &&
                    y + a->h <= l->height + 1e-6);
        for (uint32_t k = 0; k < i; k++) {
            const struct layered_node *b = &l->node[k];
            assert_false(touch(x, y, a->w, a->h, b->x - b->w / 2, b->y - b->h / 2, b->w, b->h));
        }
        for (uint32_t k = 0; k < boxes; k++) {
            const struct cluster_box *b = &box[k];
            if (group[i] != k)
                assert_false(touch(x, y, a->w, a->h, b->x, b->y, b->w, b->h));
            else
                assert_true(x >= b->x + pad.left - 1e-6 && y >= b->y + pad.top - 1e-6 &&
                            x + a->w <= b->x + b->w - pad.right + 1e-6 &&
                            y + a->h <= b->y + b->h - pad.bottom + 1e-6);
        }
    }
    for (uint32_t i = 0; i < boxes; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_false(touch(box[i].x, box[i].y, box[i].w, box[i].h, box[k].x, box[k].y, box[k].w,
                               box[k].h));
    for (uint32_t e = 0; e < l->edges; e++) {
        const struct layered_edge *x = &l->edge[e];
        assert_int_equal(x->points < 2, x->from == x->to);
        if (x->from == x->to)
            continue;
        const struct layered_point *p = l->point + x->first, *q = p + x->points - 1;
        const struct layered_node *a = &l->node[x->from], *b = &l->node[x->to];
        assert_true(p->x == a->x && q->x == b->x);
        assert_true((p->y == a->y + a->h / 2 && q->y == b->y - b->h / 2) ||
                    (p->y == a->y - a->h / 2 && q->y == b->y + b->h / 2));
    }
}

static void in_boxes(void **state)
{
    enum { N = 60, B = 7 };
    struct layered_node node[N];
    struct layered_edge edge[2 * N];
    struct cluster_box box[B];
    uint32_t group[N];

    (void)state;
    for (int round = 0; round < 40; round++) {
        struct layered l = {
            .node = node, .nodes = 1 + random32(N), .edge = edge, .gap_x = 20, .gap_y = 40
        };
        struct cluster_edge pad = { random32(30), random32(30), random32(30), random32(30) };
        l.edges = random32(2 * l.nodes);
        for (uint32_t i = 0; i < l.nodes; i++) {
            node[i] = (struct layered_node){ .w = 40 + random32(100), .h = 20 + random32(30) };
            group[i] = random32(B + 2) < B ? random32(B) : CORE_NONE;
        }
        for (uint32_t e = 0; e < l.edges; e++)
            edge[e] = (struct layered_edge){ .from = random32(l.nodes),
                                             .to = random32(l.nodes),
                                             .weight = 1 };
        for (uint32_t b = 0; b < B; b++)
            box[b] = (struct cluster_box){ .w = random32(200) };
        assert_int_equal(cluster_make(&l, group, box, B, pad), 0);
        bool used[B] = { false };
        for (uint32_t i = 0; i < l.nodes; i++)
            if (group[i] != CORE_NONE)
                used[group[i]] = true;
        for (uint32_t b = 0; b < B; b++)
            if (!used[b])
                box[b] = (struct cluster_box){ .x = -1000.0 * (b + 1) }; // it has no place
        check_boxes(&l, group, box, B, pad);
        heap_put(l.point);
    }
}

// 0 calls 1 in a box of 2 and 3 free; sizes 10 x 10, gaps 20 and 40, edges 1, 2, 3, 4: the box is
// 10 + 1 + 3 wide and 10 + 40 + 10 + 2 + 4 high; 2 is 40 above it, 3 as far below.
static void one_box(void **state)
{
    struct layered_node node[4] = {
        { .w = 10, .h = 10 }, { .w = 10, .h = 10 }, { .w = 10, .h = 10 }, { .w = 10, .h = 10 }
    };
    struct layered_edge edge[3] = { { .from = 0, .to = 1, .weight = 1 },
                                    { .from = 2, .to = 0, .weight = 1 },
                                    { .from = 1, .to = 3, .weight = 1 } };
    const uint32_t group[] = { 0, 0, CORE_NONE, CORE_NONE };
    struct cluster_box box = { 0, 0, 0, 0 };
    struct layered l = {
        .node = node, .nodes = 4, .edge = edge, .edges = 3, .gap_x = 20, .gap_y = 40
    };

    (void)state;
    assert_int_equal(cluster_make(&l, group, &box, 1, (struct cluster_edge){ 1, 2, 3, 4 }), 0);
    assert_true(box.w == 14 && box.h == 66 && box.x == 0 && box.y == 50);
    assert_true(node[0].x == 6 && node[0].y == 57 && node[1].y == 107);
    assert_true(node[2].y == 5 && node[3].y == 161 && l.height == 166 && l.crossings == 0);
    heap_put(l.point);
    assert_int_equal(
        cluster_make(&l, (uint32_t[]){ 1, 0, 0, 0 }, &box, 1, (struct cluster_edge){ 0, 0, 0, 0 }),
        CORE_WRONG);
    assert_null(l.point);
    // A call from 0 to 3 goes round 1: out at the side, half of the edge's 3 from it, below 0 by
    // half of a gap; from 2 to 1 likewise round 0, in from above. Other calls go straight.
    edge[1] = (struct layered_edge){ .from = 2, .to = 1, .weight = 1 };
    edge[2] = (struct layered_edge){ .from = 0, .to = 3, .weight = 1 };
    box = (struct cluster_box){ 0, 0, 0, 0 };
    assert_int_equal(cluster_make(&l, group, &box, 1, (struct cluster_edge){ 1, 2, 3, 4 }), 0);
    assert_int_equal(edge[0].points, 2);
    assert_int_equal(edge[1].points, 4);
    assert_int_equal(edge[2].points, 4);
    const struct layered_point *in = l.point + edge[1].first, *out = l.point + edge[2].first;
    assert_true(in[1].x == 12.5 && in[1].y == 50 && in[2].x == 12.5 && in[2].y == 82);
    assert_true(in[3].x == 6 && in[3].y == 102);
    assert_true(out[0].y == 62 && out[1].x == 12.5 && out[1].y == 82 && out[2].y == 116);
    heap_put(l.point);
}

static void refusals(void **state)
{
    struct layered_node node = { .w = 1, .h = 1 };
    struct layered_edge edge = { .from = 0, .to = 1 };
    struct layered l = { .node = &node, .nodes = 1, .edge = &edge, .edges = 1 };

    (void)state;
    assert_int_equal(layered_make(&l), CORE_WRONG);
    // The second of two edges, and its other end
    struct layered_edge second[2] = { { .from = 0, .to = 0 }, { .from = 1, .to = 0 } };
    l.edge = second;
    l.edges = 2;
    assert_int_equal(layered_make(&l), CORE_WRONG);
    l.nodes = LAYERED_NODES + 1;
    l.edges = 0;
    assert_int_equal(layered_make(&l), CORE_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper),    cmocka_unit_test(treemaps), cmocka_unit_test(nothing),
        cmocka_unit_test(nested),   cmocka_unit_test(planar),   cmocka_unit_test(random_graphs),
        cmocka_unit_test(refusals), cmocka_unit_test(in_boxes), cmocka_unit_test(one_box),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
