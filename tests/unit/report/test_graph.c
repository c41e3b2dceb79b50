// SPDX-License-Identifier: MIT
//
// Cycles, inclusive costs, distances, the bounds of flame graphs and the contents of a call graph:
// on graphs small enough to be worked out by hand, which is done in a comment above each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/core/column.h"
#include "report/core/costs.h"
#include "report/core/flame.h"
#include "report/core/graph.h"
#include "report/core/reach.h"
#include "report/core/rows.h"
#include "report/core/select.h"
#include "tests/unit/report/tiny.h"

#define CALLS(...)                       \
    (struct tiny_call[]){ __VA_ARGS__ }, \
        sizeof((struct tiny_call[]){ __VA_ARGS__ }) / sizeof(struct tiny_call)
#define SELF(...) \
    (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static uint64_t inclusive(struct core *c, char name)
{
    assert_int_equal(graph_inclusive(c, 0, 0), 0);
    return (uint64_t)column_get(&c->inclusive[0][0], tiny_func(c, name));
}

//      a (1)          b and c call each other; d calls itself.
//      | 60           cycle {b, c}: 10 + 20, and 30 to d: 60
//      b (10) <--+    a: 1 + 60
//      | 45      | 5  d: 30, whatever it says of itself
//      c (20) ---+
//      | 30
//      d (30) --> d 12
static struct core *cycle(void)
{
    return tiny_core(SELF(1, 10, 20, 30),
                     CALLS({ 'a', 'b', 1, 60 }, { 'b', 'c', 3, 45 }, { 'c', 'b', 2, 5 },
                           { 'c', 'd', 4, 30 }, { 'd', 'd', 7, 12 }));
}

static void cycles(void **state)
{
    struct core *c = cycle();

    (void)state;
    assert_int_equal(inclusive(c, 'a'), 61);
    assert_int_equal(inclusive(c, 'b'), 60);
    assert_int_equal(inclusive(c, 'c'), 60);
    assert_int_equal(inclusive(c, 'd'), 30);
    const uint32_t *number = c->graph[0].cycle;
    assert_int_equal(c->graph[0].cycles, 1);
    assert_int_equal(number[tiny_func(c, 'a')], 0);
    assert_int_equal(number[tiny_func(c, 'b')], 1);
    assert_int_equal(number[tiny_func(c, 'c')], 1);
    assert_int_equal(number[tiny_func(c, 'd')], 0);
    // Separately: b is 10 + 45, c is 20 + 5 + 30.
    graph_detect(c, false);
    assert_int_equal(inclusive(c, 'b'), 55);
    assert_int_equal(inclusive(c, 'c'), 55);
    assert_int_equal(inclusive(c, 'd'), 30);
    graph_detect(c, true);
    assert_int_equal(inclusive(c, 'b'), 60);
    // d is called 4 times, and 7 times by itself.
    assert_int_equal(costs_self(c, 0, c->events), 0);
    assert_int_equal(column_get(&c->self[0][c->events], tiny_func(c, 'd')), 11);
    load_free(c);
}

static void distances(void **state)
{
    struct core *c = cycle();
    uint32_t func[4], distance[4], edge[4];
    struct formula *f = formula_event(c, 0);

    (void)state;
    assert_int_equal(reach_all(c, tiny_func(c, 'a'), REACH_CALLEES, VALUES_NEW, func, distance), 4);
    assert_int_equal(func[3], tiny_func(c, 'd'));
    assert_memory_equal(distance, ((uint32_t[]){ 0, 1, 2, 3 }), 16);
    assert_int_equal(reach_all(c, tiny_func(c, 'b'), REACH_CALLERS, VALUES_NEW, func, distance), 3);
    assert_memory_equal(distance, ((uint32_t[]){ 0, 1, 1 }), 12);
    // All are callers or callees of d. Without calls, as in the base, it is only the function
    // itself.
    uint8_t mask[4] = { 0 };
    mask[tiny_func(c, 'd')] = 1;
    assert_int_equal(reach_both(c, VALUES_DIFFERENCE, mask), 0);
    assert_memory_equal(mask, "\1\1\1\1", 4);
    assert_int_equal(reach_both(c, VALUES_OLD, memset(mask, 0, 4)), 0);
    mask[tiny_func(c, 'b')] = mask[tiny_func(c, 'd')] = 1;
    assert_int_equal(reach_both(c, VALUES_OLD, mask), 0);
    assert_int_equal(mask[0] + mask[1] + mask[2] + mask[3], 2);
    // The heaviest path to d: a -> b -> c -> d.
    assert_int_equal(reach_path(c, tiny_func(c, 'd'), f, VALUES_NEW, edge, 4), 3);
    assert_int_equal(c->edge_caller[edge[0]], tiny_func(c, 'a'));
    assert_int_equal(c->edge_callee[edge[2]], tiny_func(c, 'd'));
    formula_free(f);
    load_free(c);
}

static const struct flame_box *box_at(const struct core *c, const struct flame *out,
                                      const char *path)
{
    uint32_t at = CORE_NONE;

    for (; *path; path++) {
        uint32_t next = CORE_NONE;
        for (uint32_t i = 0; i < out->count; i++)
            if (out->box[i].parent == at && out->box[i].func == tiny_func(c, *path))
                next = i;
        if (next == CORE_NONE)
            fail_msg("no box %s", path);
        at = next;
    }
    return &out->box[at];
}

static void bounds_are(const struct core *c, const struct flame *out, const char *path, int low,
                       int high)
{
    const struct flame_box *b = box_at(c, out, path);

    if (b->low != low || b->high != high)
        fail_msg("%s: %d..%d, wanted %d..%d", path, (int)b->low, (int)b->high, low, high);
    // The estimate is between the bounds.
    double width = b->width * (double)out->total;
    assert_true(width >= low - 1e-9 && width <= high + 1e-9);
}

static int draw(struct core *c, struct formula *f, uint32_t root, enum flame_kind kind,
                double least, uint32_t most, const uint8_t *mask, struct flame *out)
{
    const struct flame_wish w = { .formula = f,
                                  .side = VALUES_NEW,
                                  .root = root,
                                  .kind = kind,
                                  .least = least,
                                  .most = most,
                                  .mask = mask };

    return flame_make(c, &w, out);
}

//       a (0)             d costs 90, of which c brings 60, b 30. c costs 70 (10 of its own).
//  30 /       \ 70        a -> b -> d: 30 of 30: exact. b has one caller.
//    b (0)     c (10)     d -> e 40, d -> f 45, 5 of its own.
//  30 \       / 60        a-b-d-e: max(0, 30+30+40 - 30-90) .. min(30, 30, 40): 0 .. 30
//       d (5)             a-c-d-e: max(0, 70+60+40 - 70-90) .. min(70, 60, 40): 10 .. 40
//  40 /     \ 45          a-c-d-f: max(0, 70+60+45 - 70-90) .. 45: 15 .. 45
//    e (40)  f (45)
static struct core *diamond(void)
{
    return tiny_core(SELF(0, 0, 10, 5, 40, 45),
                     CALLS({ 'a', 'b', 1, 30 }, { 'a', 'c', 1, 70 }, { 'b', 'd', 1, 30 },
                           { 'c', 'd', 2, 60 }, { 'd', 'e', 3, 40 }, { 'd', 'f', 3, 45 }));
}

// A function without callees and callers: there are no children anywhere.
static void alone(void **state)
{
    struct core *c = tiny_core((const uint64_t[]){ 5 }, 1, NULL, 0);
    struct formula *f = formula_event(c, 0);
    struct flame out;
    uint32_t edge;

    (void)state;
    for (enum flame_kind kind = FLAME_DOWN; kind <= FLAME_UP_SELF; kind++) {
        assert_int_equal(draw(c, f, CORE_NONE, kind, 1e-6, 1000, NULL, &out), 0);
        assert_int_equal(out.count, 1);
        bounds_are(c, &out, "a", 5, 5);
        heap_put(out.box);
    }
    // A report whose calls could not be read has no paths.
    c->linked = false;
    assert_int_equal(reach_path(c, 0, f, VALUES_NEW, &edge, 1), CORE_WRONG);
    formula_free(f);
    load_free(c);
}

static void bounds(void **state)
{
    struct core *c = diamond();
    struct formula *f = formula_event(c, 0);
    struct flame out;

    (void)state;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, NULL, &out), 0);
    assert_int_equal(out.total, 100);
    assert_int_equal(out.count, 9); // a, b, c, d twice, e and f below each
    bounds_are(c, &out, "a", 100, 100);
    bounds_are(c, &out, "ab", 30, 30);
    bounds_are(c, &out, "abd", 30, 30);
    bounds_are(c, &out, "acd", 60, 60);
    bounds_are(c, &out, "abde", 0, 30);
    bounds_are(c, &out, "acde", 10, 40);
    bounds_are(c, &out, "acdf", 15, 45);
    assert_true(box_at(c, &out, "acde")->width > 0.2666 &&
                box_at(c, &out, "acde")->width < 0.2667); // .6*40/90
    heap_put(out.box);
    // Upwards from e: d has all 40, of which c brings 10 .. 40 and b 0 .. 30; above both a, with
    // the same.
    assert_int_equal(draw(c, f, tiny_func(c, 'e'), FLAME_UP, 1e-6, 1000, NULL, &out), 0);
    bounds_are(c, &out, "ed", 40, 40);
    bounds_are(c, &out, "edc", 10, 40);
    bounds_are(c, &out, "edca", 10, 40);
    bounds_are(c, &out, "edb", 0, 30);
    heap_put(out.box);
    // d's own 5: from c max(0, 5 + 60 - 90) .. 5.
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_UP, 1e-6, 1000, NULL, &out), 0);
    bounds_are(c, &out, "d", 5, 5);
    bounds_are(c, &out, "dc", 0, 5);
    bounds_are(c, &out, "ed", 40, 40);
    heap_put(out.box);
    // Boxes below a third of the whole are left out, and their parents say so.
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 0.34, 1000, NULL, &out), 0);
    assert_int_equal(out.count, 3); // a, c, d below c
    assert_int_equal(box_at(c, &out, "a")->flags, FLAME_CUT);
    heap_put(out.box);
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 0, 5, NULL, &out), 0);
    assert_int_equal(out.count, 5);
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// Without c no box is on c; the others keep their width and bounds. The root stays.
static void hidden(void **state)
{
    struct core *c = diamond();
    struct formula *f = formula_event(c, 0);
    struct flame out;
    uint8_t mask[6] = { 1, 1, 1, 1, 1, 1 };

    (void)state;
    mask[tiny_func(c, 'c')] = 0;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, mask, &out), 0);
    assert_int_equal(out.total, 100);
    assert_int_equal(out.count, 5); // a, b, d, e, f
    bounds_are(c, &out, "ab", 30, 30);
    bounds_are(c, &out, "abde", 0, 30);
    assert_true(box_at(c, &out, "ab")->width > 0.2999 && box_at(c, &out, "ab")->width < 0.3001);
    assert_int_equal(box_at(c, &out, "a")->flags, 0); // hidden, not cut
    heap_put(out.box);
    assert_int_equal(draw(c, f, tiny_func(c, 'c'), FLAME_DOWN, 1e-6, 1000, mask, &out), 0);
    assert_int_equal(out.count, 4); // c, d, e, f
    bounds_are(c, &out, "cd", 60, 60);
    heap_put(out.box);
    mask[tiny_func(c, 'a')] = 0;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, mask, &out), 0);
    assert_int_equal(out.count, 0);
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// A cycle is one box: its members are not stacked.
static void bounds_of_cycles(void **state)
{
    struct core *c = cycle();
    struct formula *f = formula_event(c, 0);
    struct flame out;

    (void)state;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, NULL, &out), 0);
    assert_int_equal(out.count, 3);
    bounds_are(c, &out, "a", 61, 61);
    bounds_are(c, &out, "ab", 60, 60);
    bounds_are(c, &out, "abd", 30, 30);
    assert_int_equal(box_at(c, &out, "ab")->flags, FLAME_CYCLE);
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// Around d, one step, costs from 40 on: b (30) is only among the other callers.
static void selection(void **state)
{
    struct core *c = diamond();
    struct formula *f = formula_event(c, 0);
    struct select_wish w = {
        .formula = f, .focus = tiny_func(c, 'd'), .up = 1, .down = 1, .least_edge = 35, .most = 400
    };
    struct select_graph g;

    (void)state;
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_int_equal(g.nodes, 5); // d, c, f, e, others above
    assert_int_equal(g.node[0].func, tiny_func(c, 'd'));
    assert_int_equal(g.node[1].func, tiny_func(c, 'c'));
    assert_int_equal(g.node[1].depth, -1);
    assert_int_equal(g.node[4].func, SELECT_ABOVE);
    assert_int_equal(g.edges, 5); // c-d 60, d-f 45, d-e 40, and from others: a-c 70, b-d 30
    assert_true(g.edge[0].value.exact == 70 && g.edge[0].edge == CORE_NONE);
    assert_true(g.edge[1].value.exact == 60 && g.edge[1].calls.exact == 2);
    assert_true(g.edge[4].value.exact == 30);
    select_free(&g);
    w = (struct select_wish){ .formula = f, .focus = CORE_NONE, .most = 4 };
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_int_equal(g.nodes, 4); // a, d, others above, others below
    assert_int_equal(g.left_out, 4);
    select_free(&g);
    formula_free(f);
    load_free(c);
}

// b and c are a cycle of 10 + 20 + 30 for d. a calls b once for 40 and c twice for 20, so the cycle
// three times for 60; b calls d once for 10 and c four times for 20. The calls between b and c
// are inside.
static void folded(void **state)
{
    struct core *c = tiny_core(SELF(1, 10, 20, 30),
                               CALLS({ 'a', 'b', 1, 40 }, { 'a', 'c', 2, 20 }, { 'b', 'c', 3, 25 },
                                     { 'c', 'b', 2, 5 }, { 'b', 'd', 1, 10 }, { 'c', 'd', 4, 20 }));
    struct formula *f = formula_event(c, 0);
    struct select_wish w = { .formula = f,
                             .focus = tiny_func(c, 'c'),
                             .up = 1,
                             .down = 1,
                             .least_edge = 25,
                             .most = 400,
                             .fold = 2 };
    struct select_graph g;
    uint8_t mask[] = { 1, 1, 1, 1 };

    (void)state;
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_int_equal(g.nodes, 3); // the cycle, a, d
    assert_int_equal(g.node[0].cycle, 1);
    assert_int_equal(g.node[0].func, core_min32(tiny_func(c, 'b'), tiny_func(c, 'c')));
    assert_true(g.node[1].func == tiny_func(c, 'a') && g.node[1].depth == -1 && !g.node[1].cycle);
    assert_true(g.node[2].func == tiny_func(c, 'd') && g.node[2].depth == 1);
    assert_int_equal(g.edges, 2);
    assert_true(g.edge[0].value.exact == 60 && g.edge[0].calls.exact == 3);
    assert_true(g.edge[0].edge == CORE_NONE && g.edge[0].from == 1 && g.edge[0].to == 0);
    assert_true(g.edge[1].value.exact == 30 && g.edge[1].calls.exact == 5 && g.edge[1].to == 2);
    select_free(&g);
    // Of all: a node for the cycle, too. Opened there are two, with the calls between them.
    w.focus = CORE_NONE;
    w.least_edge = 0;
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_int_equal(g.nodes, 3);
    assert_int_equal(g.edges, 2);
    select_free(&g);
    w.fold = 1; // the cycle has more
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_int_equal(g.nodes, 4);
    assert_int_equal(g.edges, 6);
    select_free(&g);
    // Without c the node is b alone, which is called for 40; c is among the others.
    w.fold = 2;
    w.focus = tiny_func(c, 'b');
    mask[tiny_func(c, 'c')] = 0;
    w.mask = mask;
    assert_int_equal(select_make(c, &w, &g), 0);
    assert_true(g.node[0].func == tiny_func(c, 'b') && g.node[0].cycle == 1);
    assert_true(g.edge[0].value.exact == 40 && g.edge[0].calls.exact == 1);
    select_free(&g);
    formula_free(f);
    load_free(c);
}

// Sorting by values, ratios and names, up and down.
static void sorting(void **state)
{
    struct core *c = diamond();
    struct formula *f = formula_event(c, 0);
    uint32_t row[] = { 0, 1, 2, 3, 4, 5 };
    size_t at;

    (void)state;
    assert_int_equal(
        rows_sort(c, row, 6,
                  &(struct rows_key){ .of = VALUES_SELF, .formula = f, .descending = true }),
        0);
    assert_int_equal(row[0], tiny_func(c, 'f'));
    assert_int_equal(row[1], tiny_func(c, 'e'));
    assert_int_equal(row[2], tiny_func(c, 'c'));
    assert_int_equal(rows_sort(c, row, 6, &(struct rows_key){ .field = ROWS_NAME }), 0);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(row[i], tiny_func(c, (char)('a' + i)));
    // Ir / (Ir - 10): c has none (by zero), then 0 of a and b, f 1.28, e 1.33, d -1.
    struct formula *ratio = formula_new(c, c->event_count, (const uint8_t *)"Ir/(Ir-10)", 10, &at);
    assert_int_equal(
        rows_sort(c, row, 6, &(struct rows_key){ .of = VALUES_SELF, .formula = ratio }), 0);
    assert_int_equal(row[0], tiny_func(c, 'd'));
    assert_int_equal(row[3], tiny_func(c, 'f'));
    assert_int_equal(row[4], tiny_func(c, 'e'));
    assert_int_equal(row[5], tiny_func(c, 'c'));
    // Beyond 64 bits: Ir * 2^62 * 16.
    struct formula *wide =
        formula_new(c, c->event_count, (const uint8_t *)"9223372036*9223372036*16*Ir", 27, &at);
    assert_int_equal(rows_sort(c, row, 6, &(struct rows_key){ .of = VALUES_SELF, .formula = wide }),
                     0);
    assert_int_equal(row[5], tiny_func(c, 'f'));
    assert_int_equal(row[4], tiny_func(c, 'e'));
    row[0] = 6;
    assert_int_equal(rows_sort(c, row, 6, &(struct rows_key){ .of = VALUES_SELF, .formula = f }),
                     CORE_WRONG);
    formula_free(f);
    formula_free(ratio);
    formula_free(wide);
    load_free(c);
}

// Groups: their ratio is that of their sums. {c, d}: 15 of 150.
static void groups(void **state)
{
    struct core *c = diamond();
    uint32_t group[6];
    struct value v[1];
    size_t at;
    struct formula *f = formula_new(c, c->event_count, (const uint8_t *)"10 Ir / Dr + Ir", 15, &at);

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        group[i] = i == tiny_func(c, 'c') || i == tiny_func(c, 'd') ? 0 : CORE_NONE;
    assert_int_equal(values_groups(c, f, VALUES_NEW, group, NULL, 1, v), 0);
    assert_true(v[0].approx == 16.0);
    formula_free(f);
    load_free(c);
}

// d is called by a for 50, by b for 30, by c for 40, each of which main (e) calls for the same
// cost: the path to it is e -> a -> d, wherever the most expensive caller is among them.
static void paths(void **state)
{
    static const uint64_t costs[][3] = { { 50, 30, 40 }, { 30, 50, 40 }, { 30, 40, 50 },
                                         { 50, 40, 30 }, { 2, 1, 1 },    { 1, 2, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
        const uint64_t *v = costs[i];
        char costliest = v[0] > v[1] && v[0] > v[2] ? 'a' : v[1] > v[2] ? 'b' : 'c';
        struct core *c =
            tiny_core(SELF(1, 1, 1, 1, 1),
                      CALLS({ 'a', 'd', 1, v[0] }, { 'b', 'd', 1, v[1] }, { 'c', 'd', 1, v[2] },
                            { 'e', 'a', 1, v[0] }, { 'e', 'b', 1, v[1] }, { 'e', 'c', 1, v[2] }));
        struct formula *f = formula_event(c, 0);
        uint32_t edge[4];
        assert_int_equal(reach_path(c, tiny_func(c, 'd'), f, VALUES_NEW, edge, 4), 2);
        assert_int_equal(c->edge_caller[edge[0]], tiny_func(c, 'e'));
        assert_int_equal(c->edge_callee[edge[0]], tiny_func(c, costliest));
        assert_int_equal(c->edge_caller[edge[1]], tiny_func(c, costliest));
        assert_int_equal(c->edge_callee[edge[1]], tiny_func(c, 'd'));
        assert_int_equal(reach_path(c, tiny_func(c, 'd'), f, VALUES_NEW, edge, 1), 1);
        assert_int_equal(c->edge_callee[edge[0]], tiny_func(c, 'd'));
        assert_int_equal(reach_path(c, tiny_func(c, 'e'), f, VALUES_NEW, edge, 4), 0);
        assert_int_equal(reach_path(c, c->funcs, f, VALUES_NEW, edge, 4), CORE_WRONG);
        uint32_t func[5], distance[5];
        assert_int_equal(reach_all(c, c->funcs, REACH_CALLERS, VALUES_NEW, func, distance),
                         CORE_WRONG);
        formula_free(f);
        load_free(c);
    }
}

// Siblings are side by side, the most expensive first and of equal ones the first function, also
// when there are many: a (5 of its own) calls b to u, b for 1, c for 2, ..., but m for 1, too.
static void siblings(void **state)
{
    uint64_t self[21] = { 5 };
    struct tiny_call call[20];
    core_count sum = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        self[i + 1] = i == 11 ? 1 : (uint64_t)i + 1;
        call[i] = (struct tiny_call){ 'a', (char)('b' + i), 1, self[i + 1] };
        sum += (core_count)self[i + 1];
    }
    assert_int_equal(sum, 199);
    struct core *c = tiny_core(self, 21, call, 20);
    struct formula *f = formula_event(c, 0);
    struct flame out;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, NULL, &out), 0);
    assert_int_equal(out.count, 21);
    assert_int_equal(out.total, 204);
    double x = 0;
    for (uint32_t i = 1; i < 21; i++) {
        // 20, 19, ..., 13, 11, ..., 2, and b and m for 1 each, in the order that the core has.
        core_count cost = i <= 8 ? 21 - i : i <= 18 ? 20 - i : 1;
        assert_int_equal(out.box[i].high, cost);
        assert_true(out.box[i].x > x - 1e-9 && out.box[i].x < x + 1e-9);
        x += (double)cost / 204;
        if (i > 1 && out.box[i - 1].high == out.box[i].high)
            assert_true(out.box[i - 1].func < out.box[i].func);
    }
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// A cycle of b and c is in two boxes, below a and below e, and has d as a child in both; below a it
// also calls itself through both members. Its children are requested twice and are the same.
static void cycle_twice(void **state)
{
    struct core *c = tiny_core(SELF(1, 10, 20, 30, 4),
                               CALLS({ 'a', 'b', 1, 40 }, { 'b', 'c', 1, 50 }, { 'c', 'b', 1, 25 },
                                     { 'c', 'd', 1, 30 }, { 'e', 'c', 1, 20 }));
    struct formula *f = formula_event(c, 0);
    struct flame out;

    (void)state;
    assert_int_equal(draw(c, f, CORE_NONE, FLAME_DOWN, 1e-6, 1000, NULL, &out), 0);
    assert_int_equal(out.count, 6);
    bounds_are(c, &out, "a", 41, 41);
    bounds_are(c, &out, "ab", 40, 40);
    // The cycle costs 60: max(0, 40 + 30 - 60) .. 30.
    bounds_are(c, &out, "abd", 10, 30);
    bounds_are(c, &out, "ec", 20, 20);
    bounds_are(c, &out, "ecd", 0, 20);
    heap_put(out.box);
    // Upwards from d: the cycle for all of it, then a for 40 and e for 20 of its 60.
    assert_int_equal(draw(c, f, tiny_func(c, 'd'), FLAME_UP, 1e-6, 1000, NULL, &out), 0);
    assert_int_equal(out.count, 4);
    bounds_are(c, &out, "dc", 30, 30);
    bounds_are(c, &out, "dca", 10, 30);
    bounds_are(c, &out, "dce", 0, 20);
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// Within a part of the whole boxes are finer: of a's callees b (60), c (30) and d (10), each of
// which calls e for half of its cost, only those below c. Boxes that are too narrow at first are
// summed.
static void windows(void **state)
{
    struct core *c = tiny_core(SELF(0, 30, 15, 5, 50),
                               CALLS({ 'a', 'b', 1, 60 }, { 'a', 'c', 1, 30 }, { 'a', 'd', 1, 10 },
                                     { 'b', 'e', 1, 30 }, { 'c', 'e', 1, 15 }, { 'd', 'e', 1, 5 }));
    struct formula *f = formula_event(c, 0);
    struct flame_wish w = { .formula = f,
                            .root = CORE_NONE,
                            .kind = FLAME_DOWN,
                            .least = 0.4,
                            .fine = 0.12,
                            .from = 0.61,
                            .to = 0.89,
                            .most = 1000 };
    struct flame out;

    (void)state;
    assert_int_equal(flame_make(c, &w, &out), 0);
    assert_int_equal(out.count, 4); // a, b, c, e below c
    bounds_are(c, &out, "ab", 60, 60);
    bounds_are(c, &out, "ace", 15, 15);
    assert_true(box_at(c, &out, "ac")->x > 0.5999 && box_at(c, &out, "ac")->x < 0.6001);
    assert_int_equal(box_at(c, &out, "a")->flags, FLAME_CUT);  // d
    assert_int_equal(box_at(c, &out, "ab")->flags, FLAME_CUT); // e
    assert_int_equal(box_at(c, &out, "ac")->flags, 0);
    assert_int_equal(out.rest_count, 0);
    heap_put(out.box);
    // Self costs, who calls: e 50 and b 30 are wide enough; c 15 and d 5 are left, a has none.
    w = (struct flame_wish){
        .formula = f, .root = CORE_NONE, .kind = FLAME_UP, .least = 0.25, .most = 1000
    };
    assert_int_equal(flame_make(c, &w, &out), 0);
    assert_int_equal(out.rest, 20);
    assert_int_equal(out.rest_count, 2);
    bounds_are(c, &out, "e", 50, 50);
    bounds_are(c, &out, "ba", 30, 30);
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles),      cmocka_unit_test(distances),
        cmocka_unit_test(alone),       cmocka_unit_test(bounds),
        cmocka_unit_test(hidden),      cmocka_unit_test(bounds_of_cycles),
        cmocka_unit_test(selection),   cmocka_unit_test(sorting),
        cmocka_unit_test(groups),      cmocka_unit_test(paths),
        cmocka_unit_test(folded),      cmocka_unit_test(siblings),
        cmocka_unit_test(cycle_twice), cmocka_unit_test(windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
