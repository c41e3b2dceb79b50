// SPDX-License-Identifier: MIT
//
// The functions that the page calls (report/core/export.c), compiled into this program: the number,
// array and field of each result, and refusals. The report is three functions in a chain,
// whose numbers are given here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report/tiny.h"

// Exports are an attribute of wasm32 only, and some have names of the C library.
#define export_name(name) unused
#define open              page_open
#define close             page_close
#define link              page_link
// The structures that the page reads have the sizes of wasm32, where the real compiler checks them.
#define _Static_assert(is, why) extern int page_sizes
#include "report/core/export.c"
#undef _Static_assert

// a: 5, calls b twice for 18; b: 7, calls c three times for 11; c: 11. Dr is ten times Ir.
static const struct tiny_call calls[] = { { 'a', 'b', 2, 18 }, { 'b', 'c', 3, 11 } };
static struct core *c;
static uint32_t fa, fb, fc;

static int setup(void **state)
{
    (void)state;
    c = tiny_core((uint64_t[]){ 5, 7, 11 }, 3, calls, 2);
    fa = tiny_func(c, 'a');
    fb = tiny_func(c, 'b');
    fc = tiny_func(c, 'c');
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    page_close(c);
    return 0;
}

static bool is(const struct out_text *t, const char *expected)
{
    return t->size == strlen(expected) && (!t->size || memcmp(t->at, expected, t->size) == 0);
}

static void value_is(const struct out_value *v, int exact)
{
    assert_true(v->is_exact && v->exact == exact && v->approx == exact);
    assert_int_equal(v->zero, 0);
}

static void test_numbers(void **state)
{
    // Functions, strings (the names), parts, counted events, all events, the event to sort by.
    static const uint32_t expected[] = { 3, 3, 1, 2, 2, 0 };

    (void)state;
    for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
        assert_int_equal(number(c, i), expected[i]);
    assert_int_equal(number(c, 6), c->has);
    assert_int_equal(number(c, 7), c->blocks);
    assert_int_equal(number(c, 8), top_count(c));
    assert_int_equal(number(c, 9), 2);  // edges
    assert_int_equal(number(c, 10), 2); // sites
    assert_int_equal(number(c, 11), 1); // linked
    assert_int_equal(number(c, 12), 3); // functions loaded
    assert_int_equal(number(c, 13), top_inclusive_count(c));
    assert_int_equal(number(c, 14), 0);
}

static void test_texts(void **state)
{
    struct out_text t[3];
    struct out_func f;
    struct out_part p;

    (void)state;
    string(c, c->name[fb], &t[0]);
    assert_true(is(&t[0], "b"));
    assert_int_equal(event(c, 1, t), 1);
    assert_true(is(&t[0], "Dr") && is(&t[1], "") && is(&t[2], ""));
    assert_int_equal(event(c, 2, t), CORE_WRONG);
    assert_int_equal(fact(c, "no such fact", 0, t), 0);
    assert_true(is(&t[0], ""));
    assert_int_equal(func(c, fc, &f), 0);
    assert_int_equal(f.name, c->name[fc]);
    assert_int_equal(f.object, CORE_NONE);
    assert_int_equal(f.file, CORE_NONE);
    assert_true(f.hash == rows_hash(c, fc));
    assert_int_equal(f.cycle[0] | f.cycle[1], 0);
    assert_int_equal(func(c, 3, &f), CORE_WRONG);
    assert_int_equal(part(c, 0, &p), 0);
    assert_true(p.pid == 0 && p.side == 0 && p.descs == 0 && p.cmd.size == 0);
    assert_int_equal(part(c, 1, &p), CORE_WRONG);
    assert_int_equal(desc(c, 0, 0, t), CORE_WRONG);
    assert_int_equal(desc(c, 1, 0, t), CORE_WRONG);
    assert_int_equal(find(c, rows_hash(c, fb)), fb);
}

static void test_totals(void **state)
{
    struct out_value v;

    (void)state;
    assert_int_equal(total(c, 0, 0, &v), 0);
    value_is(&v, 23);
    assert_int_equal(total(c, 0, 1, &v), 0);
    value_is(&v, 230);
    assert_int_equal(total(c, 0, 2, &v), CORE_WRONG);
    assert_int_equal(total(c, 1, 0, &v), CORE_WRONG);
}

static void test_arrays(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(array(c, 0)[i], CORE_NONE);
        assert_int_equal(array(c, 1)[i], CORE_NONE);
        assert_int_equal(array(c, 2)[i], c->name[i]);
        assert_int_equal(array(c, 3)[i], 0); // no cycle
    }
    assert_ptr_equal(array(c, 5), rows_rank(c));
    // Edges by their callers: which of the two is b's?
    const uint32_t *caller = array(c, 6), *callee = array(c, 7);
    uint32_t of_b = caller[1] == fb;
    assert_int_equal(caller[of_b], fb);
    assert_int_equal(callee[of_b], fc);
    assert_int_equal(caller[!of_b], fa);
    assert_int_equal(callee[!of_b], fb);
    const uint32_t *out = array(c, 8), *in = array(c, 9), *by_callee = array(c, 10);
    assert_int_equal(out[fb + 1] - out[fb], 1);
    assert_int_equal(out[fb], of_b);
    assert_int_equal(out[fc + 1] - out[fc], 0);
    assert_int_equal(in[fa + 1] - in[fa], 0);
    assert_int_equal(in[fc + 1] - in[fc], 1);
    assert_int_equal(by_callee[in[fc]], of_b);
    assert_int_equal(by_callee[in[fb]], !of_b);
    assert_null(array(c, 11));
}

static void test_values(void **state)
{
    const uint32_t all[] = { fa, fb, fc, 3 };
    struct out_value v[4];
    uint32_t at;

    (void)state;
    struct formula *ir = formula_of(c, 0);
    assert_int_equal(values(c, ir, VALUES_SELF, VALUES_NEW, all, 3, v), 0);
    value_is(&v[0], 5);
    value_is(&v[1], 7);
    value_is(&v[2], 11);
    assert_int_equal(values(c, ir, VALUES_INCLUSIVE, VALUES_NEW, all, 3, v), 0);
    value_is(&v[0], 23);
    value_is(&v[1], 18);
    value_is(&v[2], 11);
    assert_int_equal(values(c, NULL, VALUES_CALLED, VALUES_NEW, all, 3, v), 0);
    value_is(&v[1], 2);
    value_is(&v[2], 3);
    assert_int_equal(values(c, ir, VALUES_SELF, VALUES_NEW, all, 4, v), CORE_WRONG);
    assert_int_equal(values(c, ir, VALUES_PER_CALL + 1, VALUES_NEW, all, 1, v), CORE_WRONG);
    assert_int_equal(values(c, ir, VALUES_SELF, VALUES_FACTOR + 1, all, 1, v), CORE_WRONG);
    // There are edges 0 and 1; index 2 is none, though it is a function.
    assert_int_equal(values(c, ir, VALUES_EDGE, VALUES_NEW, (uint32_t[]){ 2 }, 1, v), CORE_WRONG);
    assert_int_equal(values(c, NULL, VALUES_CALLS, VALUES_NEW, (uint32_t[]){ 0, 1 }, 2, v), 0);
    assert_int_equal((int)(v[0].exact + v[1].exact), 5);
    assert_int_equal(values(c, ir, VALUES_TOTAL, VALUES_NEW, (uint32_t[]){ 77 }, 1, v), 0);
    value_is(&v[0], 23);
    struct formula *ratio = formula(c, (const uint8_t *)"Dr / Ir", 7, &at);
    assert_non_null(ratio);
    assert_int_equal(formula_kind(ratio), 1u << 31 | (uint32_t)formula_scale(ratio));
    assert_int_equal(formula_kind(ir), 1);
    formula_put(ratio);
    assert_null(formula(c, (const uint8_t *)"Dr + ", 5, &at));
    assert_int_equal(at, 5);
    c->linked = false;
    assert_int_equal(values(c, ir, VALUES_EDGE, VALUES_NEW, all, 0, v), CORE_WRONG);
    c->linked = true;
    formula_put(ir);
}

static void test_groups(void **state)
{
    struct out_value v;
    uint32_t count = 9, *group;
    int rc;

    (void)state;
    // Without an object: all three in one group with an unknown name.
    struct group_item *t = tree(c, GROUP_OBJECT, &count, &group, &rc);
    assert_int_equal(rc, 0);
    assert_int_equal(count, 1);
    assert_int_equal(t[0].funcs, 3);
    assert_int_equal(t[0].string, CORE_NONE);
    assert_int_equal(group[fa] | group[fb] | group[fc], 0);
    struct formula *ir = formula_of(c, 0);
    assert_int_equal(groups(c, ir, VALUES_NEW, group, &t[0].parent, 1, &v), 0);
    value_is(&v, 23);
    assert_int_equal(groups(c, ir, VALUES_FACTOR + 1, group, &t[0].parent, 1, &v), CORE_WRONG);
    formula_put(ir);
    put(t);
    put(group);
    assert_null(tree(c, GROUP_CYCLE + 1, &count, &group, &rc));
    assert_int_equal(rc, CORE_WRONG);
    assert_null(group);
    assert_int_equal(count, 0);
}

static void test_rows(void **state)
{
    uint32_t row[] = { 0, 1, 2 }, funcs[3], distance[3], edge[3];
    uint8_t mask[3];
    struct formula *ir = formula_of(c, 0);

    (void)state;
    assert_int_equal(match(c, (const uint8_t *)"b", 1, ROWS_NAME, mask), 0);
    assert_true(!mask[fa] && mask[fb] && !mask[fc]);
    assert_int_equal(sort(c, row, 3, VALUES_SELF, 0, VALUES_NEW, ir, 1), 0);
    assert_true(row[0] == fc && row[1] == fb && row[2] == fa);
    assert_int_equal(sort(c, row, 3, VALUES_SELF, 0, VALUES_NEW, ir, 0), 0);
    assert_true(row[0] == fa && row[1] == fb && row[2] == fc);
    assert_int_equal(sort(c, row, 3, VALUES_PER_CALL + 1, 0, VALUES_NEW, ir, 0), CORE_WRONG);
    assert_int_equal(sort(c, row, 3, VALUES_SELF, 0, VALUES_FACTOR + 1, ir, 0), CORE_WRONG);
    // Itself, and its callees by distance.
    assert_int_equal(reach(c, fa, REACH_CALLEES, VALUES_NEW, funcs, distance), 3);
    assert_true(funcs[0] == fa && funcs[1] == fb && funcs[2] == fc);
    assert_memory_equal(distance, ((uint32_t[]){ 0, 1, 2 }), sizeof(distance));
    assert_int_equal(reach(c, fb, REACH_CALLERS, VALUES_NEW, funcs, distance), 2);
    assert_true(funcs[0] == fb && funcs[1] == fa);
    assert_int_equal(path(c, fc, ir, VALUES_NEW, edge, 3), 2);
    assert_int_equal(array(c, 6)[edge[0]], fa);
    assert_int_equal(array(c, 7)[edge[1]], fc);
    formula_put(ir);
}

static void test_details(void **state)
{
    struct formula *ir = formula_of(c, 0);
    struct out_value v[2];
    uint32_t count = 0, order[2];
    int rc;

    (void)state;
    struct detail *d = detail(c, 0, fb, CORE_NONE, DETAIL_LINE, NULL, &rc);
    assert_int_equal(rc, 0);
    const struct detail_row *row = detail_rows(d, &count);
    assert_int_equal(count, 1); // its cost is in line 1, its call in line 2
    assert_int_equal(row[0].line, 1);
    assert_int_equal(detail_values(d, ir, VALUES_NEW, 0, 1, v), 0);
    value_is(&v[0], 7);
    assert_int_equal(detail_values(d, ir, VALUES_NEW, 0, 2, v), CORE_WRONG);
    assert_int_equal(detail_values(d, ir, VALUES_NEW, 2, 0, v), CORE_WRONG);
    assert_int_equal(detail_values(d, ir, VALUES_NEW, 1, 0, v), 0);
    assert_int_equal(detail_values(d, ir, VALUES_FACTOR + 1, 0, 1, v), CORE_WRONG);
    assert_int_equal(detail_sort(d, ir, VALUES_NEW, order), 1);
    assert_int_equal(order[0], 0);
    assert_int_equal(detail_sort(d, ir, VALUES_FACTOR + 1, order), CORE_WRONG);
    detail_put(d);
    d = detail(c, 1, fb, CORE_NONE, DETAIL_LINE, NULL, &rc);
    assert_int_equal(rc, 0);
    row = detail_rows(d, &count);
    assert_int_equal(count, 1);
    assert_int_equal(row[0].callee, fc);
    assert_int_equal(row[0].line, 2);
    assert_true(row[0].calls[0] == 3);
    detail_put(d);
    d = detail(c, 2, fb, CORE_NONE, 0, NULL, &rc);
    detail_rows(d, &count);
    assert_int_equal(count, 0);
    detail_put(d);
    formula_put(ir);
}

static void test_sources(void **state)
{
    struct out_source s;
    uint32_t numbers[3], at = 7, count = 7;
    struct flow_edge *edge;
    int rc;

    (void)state;
    assert_int_equal(source(c, CORE_NONE, CORE_SIDES, &s), CORE_WRONG);
    // No code was packed: no blocks, and the state says so.
    struct texts_insn *insn = code(c, fa, &at, &count, &rc);
    assert_int_equal(count, 0);
    put(insn);
    struct flow_block *b = flow(c, fa, numbers, &edge, &rc);
    assert_true(rc != 0 || (numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 0));
    put(b);
    if (rc == 0)
        put(edge);
}

static void test_pictures(void **state)
{
    struct formula *ir = formula_of(c, 0);
    const double limits[4] = { 0 }; // no minimum, and no finer part
    struct out_value whole, rest;
    struct treemap_rect rect[2];
    uint32_t count[2] = { 0, 0 }, numbers[3];
    int rc;

    (void)state;
    struct flame_box *box = flame(c, ir, VALUES_NEW, CORE_NONE, FLAME_DOWN, limits, 100, NULL,
                                  count, &whole, &rest, &rc);
    assert_int_equal(rc, 0);
    assert_int_equal(count[0], 3); // a, b on it, c on that
    assert_int_equal(count[1], 0); // none is left out
    value_is(&rest, 0);
    assert_true(box[0].func == fa && box[1].func == fb && box[2].func == fc);
    assert_int_equal(box[2].parent, 1);
    value_is(&whole, 23);
    put(box);
    flame(c, ir, VALUES_NEW, CORE_NONE, FLAME_UP_SELF + 1, limits, 100, NULL, count, &whole, &rest,
          &rc);
    assert_int_equal(rc, CORE_WRONG);

    // Half of a square, and its other half.
    squarify((double[]){ 2, 2 }, 2, 4, 0, 0, 10, 10, rect);
    assert_true(rect[0].w * rect[0].h == 50 && rect[1].w * rect[1].h == 50);
    assert_int_equal(
        nest((double[]){ 4, 4 }, (uint32_t[]){ CORE_NONE, 0 }, 2, 4, 20, 10, 3, 1, 1, rect), 0);
    assert_true(rect[0].x == 0 && rect[0].y == 0 && rect[0].w == 20 && rect[0].h == 10);
    // Within: 1 free around, and 3 above for the name.
    assert_true(rect[1].x == 1 && rect[1].y == 4 && rect[1].w == 18 && rect[1].h == 5);

    struct select_graph *g = graph(c, ir, VALUES_NEW, CORE_NONE, 9, 9, 0, 0, 100, NULL, 0, &rc);
    assert_int_equal(rc, 0);
    struct select_node node[3];
    struct out_edge edge[2];
    graph_read(g, numbers, NULL, NULL);
    assert_true(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 0);
    graph_read(g, numbers, node, edge);
    uint32_t second = node[edge[1].from].func == fb;
    assert_int_equal(node[edge[second].from].func, fb);
    assert_int_equal(node[edge[second].to].func, fc);
    value_is(&edge[second].value, 11);
    value_is(&edge[second].calls, 3);
    value_is(&edge[!second].value, 18);
    assert_int_equal(array(c, 7)[edge[second].edge], fc);
    graph_put(g);
    graph_put(NULL);
    assert_null(graph(c, ir, VALUES_DIFFERENCE + 1, CORE_NONE, 9, 9, 0, 0, 100, NULL, 0, &rc));
    assert_int_equal(rc, CORE_WRONG);
    formula_put(ir);
}

static void test_layout(void **state)
{
    struct layered_node node[] = { { .w = 10, .h = 4 }, { .w = 10, .h = 4 } };
    struct layered_edge edge[] = { { .from = 0, .to = 1, .weight = 1 } };
    struct layered_point *point;
    double size[2];

    (void)state;
    // One above the other: as wide as one, as high as both and the gap.
    assert_int_equal(layered(node, 2, edge, 1, 5, 6, NULL, NULL, 0, NULL, size, &point), 0);
    assert_true(size[0] == 10 && size[1] == 14);
    assert_true(node[0].y == 2 && node[1].y == 12 && node[0].x == 5 && node[1].x == 5);
    put(point);
    edge[0].to = 2;
    assert_int_equal(layered(node, 2, edge, 1, 5, 6, NULL, NULL, 0, NULL, size, &point),
                     CORE_WRONG);
    put(point);
}

// As the page opens a report: block by block, the calls linked at the end.
static void test_loading(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };

    (void)state;
    quern_profile_set_events(p, events, 1);
    uint32_t f = quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, "f", 1));
    struct quern_site at = { .func = f, .file = QUERN_NONE, .line = 1 };
    quern_profile_add_cost(p, &at, (uint64_t[]){ 42 }, 1);
    struct pack *k = pack_everything(p, NULL);
    struct core *own = page_open();
    for (size_t i = 0; i < pack_block_count(k); i++) {
        const struct block *b = pack_block(k, i);
        uint8_t *to = get((uint32_t)b->size);

        assert_int_equal(inflate(b->deflated, (uint32_t)b->deflated_size, to, (uint32_t)b->size),
                         0);
        assert_int_equal(crc(to, (uint32_t)b->size), b->crc);
        assert_int_equal(load(own, to, (uint32_t)b->size), 0);
    }
    uint8_t all[8];
    assert_true(pack_block_count(k) < sizeof(all));
    memset(all, 7, sizeof(all));
    needed(own, all, (uint32_t)pack_block_count(k));
    for (size_t i = 0; i < sizeof(all); i++)
        assert_int_equal(all[i] > 1, i >= pack_block_count(k));
    assert_int_equal(page_link(own), 0);
    assert_int_equal(number(own, 11), 1);
    struct out_value v;
    assert_int_equal(total(own, 0, 0, &v), 0);
    value_is(&v, 42);
    // Parts that are not selected do not count.
    struct formula *ir = formula_of(own, 0);
    assert_int_equal(choose(own, (const uint8_t[]){ 0 }), 0);
    assert_int_equal(values(own, ir, VALUES_TOTAL, VALUES_NEW, (uint32_t[]){ 0 }, 1, &v), 0);
    value_is(&v, 0);
    assert_int_equal(choose(own, (const uint8_t[]){ 1 }), 0);
    assert_int_equal(values(own, ir, VALUES_TOTAL, VALUES_NEW, (uint32_t[]){ 0 }, 1, &v), 0);
    value_is(&v, 42);
    cycles(own, 0);
    assert_true(own->no_cycles);
    cycles(own, 1);
    assert_false(own->no_cycles);
    formula_put(ir);
    page_close(own);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_totals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_details, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sources, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pictures, setup, teardown),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_loading),
    };

    return cmocka_run_group_tests_name("report: what the page calls", tests, NULL, NULL);
}
