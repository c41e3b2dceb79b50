// SPDX-License-Identifier: MIT
//
// Limits of bits, arrays and doubles: more than eight calls, exactly as many events as fit,
// call sites in no order, costs that differ by less than a double can distinguish.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/core/column.h"
#include "report/core/detail.h"
#include "report/core/flame.h"
#include "report/core/graph.h"
#include "report/core/values.h"
#include "tests/unit/report/tiny.h"

// A chain of 20 functions, each of which costs 1; the last two call each other.
static struct core *chain(void)
{
    uint64_t self[20];
    struct tiny_call call[20];

    for (int i = 0; i < 20; i++) {
        self[i] = 1;
        call[i] = (struct tiny_call){ (char)('a' + i), (char)('b' + i), 1, (uint64_t)(19 - i) };
    }
    call[18].cost = 5; // within the circle these do not add to its cost
    call[19] = (struct tiny_call){ 't', 's', 3, 4 };
    return tiny_core(self, 20, call, 20);
}

static void test_many_calls(void **state)
{
    struct core *c = chain();
    struct formula *f = formula_event(c, 0);
    struct flame out;

    (void)state;
    assert_int_equal(graph_inclusive(c, 0, 0), 0);
    for (int i = 0; i < 18; i++)
        assert_true(column_get(&c->inclusive[0][0], tiny_func(c, (char)('a' + i))) == 20 - i);
    assert_true(column_get(&c->inclusive[0][0], tiny_func(c, 's')) == 2);
    assert_true(column_get(&c->inclusive[0][0], tiny_func(c, 't')) == 2);
    // Separate functions: 18, and the circle as one. Only the first has no caller.
    const struct flame_wish w = {
        .formula = f, .side = VALUES_NEW, .root = CORE_NONE, .kind = FLAME_DOWN, .most = 100
    };

    assert_int_equal(flame_make(c, &w, &out), 0);
    assert_int_equal(out.count, 19);
    for (uint32_t i = 0; i < 19; i++) {
        assert_int_equal(out.box[i].depth, i);
        assert_int_equal(out.box[i].parent, i ? i - 1 : CORE_NONE);
    }
    assert_int_equal(out.box[0].func, tiny_func(c, 'a'));
    heap_put(out.box);
    formula_free(f);
    load_free(c);
}

// Line i calls the i-th last function: edges are still in the order of functions, and each
// has its own cost.
static void test_calls_in_no_order(void **state)
{
    enum { CALLEES = 40 };
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    uint32_t func[CALLEES + 1];

    (void)state;
    quern_profile_set_events(p, events, 1);
    for (int i = 0; i <= CALLEES; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%02d", i);
        func[i] = quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name, 3));
        quern_profile_add_cost(p, &(struct quern_site){ .func = func[i], .file = QUERN_NONE }, NULL,
                               0);
    }
    for (int i = 0; i < CALLEES; i++) {
        uint64_t line = (uint64_t)((i * 27) % CALLEES); // 27 and 40 have no divisor
        uint64_t cost = 100 + (uint64_t)i;

        quern_profile_add_call(
            p, &(struct quern_site){ .func = func[0], .file = QUERN_NONE, .line = line },
            func[i + 1], 1, 0, 1, &cost, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = unpack(k);
    assert_int_equal(link_edges(c), 0);
    assert_int_equal(c->edges, CALLEES);
    struct formula *f = formula_event(c, 0);
    assert_int_equal(values_prepare(c, f, VALUES_EDGE, VALUES_NEW), 0);
    for (uint32_t e = 0; e < CALLEES; e++) {
        struct text name = core_string(c, c->name[c->edge_callee[e]]);
        int i = (name.at[1] - '0') * 10 + (name.at[2] - '0') - 1;

        assert_true(e == 0 || c->edge_callee[e - 1] < c->edge_callee[e]);
        assert_true(values_get(c, f, VALUES_EDGE, VALUES_NEW, e).exact == 100 + i);
    }
    formula_free(f);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

// Space is allocated for 16 events, then for 40: exactly that many, one less, one more.
static void test_events_that_fill(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 42; n++) {
        static char text[42][24];
        const char *name[42];
        uint64_t cost[42];
        struct quern_profile *p = quern_profile_new();

        for (size_t e = 0; e < n; e++) {
            snprintf(text[e], sizeof(text[e]), "E%zu", e);
            name[e] = text[e];
            cost[e] = e + 1;
        }
        assert_int_equal(quern_profile_set_events(p, name, n), 0);
        uint32_t f = quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, "f", 1));
        quern_profile_add_cost(p, &(struct quern_site){ .func = f, .file = QUERN_NONE }, cost, n);
        struct pack *k = pack_everything(p, NULL);
        struct core *c = unpack(k);
        assert_non_null(c);
        assert_int_equal(c->events, n);
        assert_int_equal(c->event_count, n);
        assert_int_equal(c->event[n - 1].name.size, n <= 10 ? 2 : 3);
        // The one function is in some block from 0 to 1.
        bool found = false;
        for (size_t i = 0; i < pack_block_count(k); i++)
            found |= pack_block(k, i)->first == 0 && pack_block(k, i)->end == 1;
        assert_true(found);
        load_free(c);
        pack_free(k);
        quern_profile_free(p);
    }
}

// 2^60, 2^60 + 1 and 2^60 + 2 are the same as doubles.
static void test_close_costs(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    uint32_t order[3];
    struct detail *d;

    (void)state;
    quern_profile_set_events(p, events, 1);
    uint32_t f = quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, "f", 1));
    for (uint64_t line = 1; line <= 3; line++) {
        uint64_t cost = (UINT64_C(1) << 60) + (line + 1) % 3; // 2, 0, 1 more
        quern_profile_add_cost(
            p, &(struct quern_site){ .func = f, .file = QUERN_NONE, .line = line }, &cost, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = unpack(k);
    assert_int_equal(link_edges(c), 0);
    struct formula *ir = formula_event(c, 0);
    assert_int_equal(detail_places(c, 0, CORE_NONE, DETAIL_LINE, NULL, &d), 0);
    assert_int_equal(d->count, 3);
    assert_int_equal(detail_order(d, ir, VALUES_NEW, order), 2); // two make half of it
    assert_int_equal(d->row[order[0]].line, 1);
    assert_int_equal(d->row[order[1]].line, 3);
    assert_int_equal(d->row[order[2]].line, 2);
    detail_free(d);
    formula_free(ir);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_calls_in_no_order),
        cmocka_unit_test(test_events_that_fill),
        cmocka_unit_test(test_close_costs),
    };

    return cmocka_run_group_tests_name("report: borders", tests, NULL, NULL);
}
