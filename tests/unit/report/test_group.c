// SPDX-License-Identifier: MIT
//
// Groups of functions, what they cost, costs per call, factors, the order of lines: on profiles
// small enough to be worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/core/detail.h"
#include "report/core/group.h"
#include "report/core/rows.h"
#include "report/core/values.h"
#include "tests/unit/report/tiny.h"

struct named {
    const char *object, *file, *name;
    uint64_t self;
};

static struct core *core_of(const struct named *func, size_t n)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };

    quern_profile_set_events(p, events, 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t string[3];
        const char *text[] = { func[i].object, func[i].file, func[i].name };
        for (int k = 0; k < 3; k++)
            string[k] = text[k] ? quern_profile_string(p, text[k], strlen(text[k])) : QUERN_NONE;
        quern_profile_add_cost(
            p,
            &(struct quern_site){ .func = quern_profile_func(p, string[0], string[1], string[2]),
                                  .file = string[1],
                                  .line = 1 },
            &func[i].self, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = k ? unpack(k) : NULL;
    if (!c || link_edges(c) < 0)
        abort();
    pack_free(k);
    quern_profile_free(p);
    return c;
}

// One line for each group: its pieces from the outermost, functions, self cost; unsorted,
// so each is searched for.
static void group_is(struct core *c, const struct group_tree *t, const char *path, uint32_t funcs,
                     int self)
{
    struct formula *f = formula_event(c, 0);
    struct value *v = heap_array(t->count, sizeof(*v));
    uint32_t *parent = heap_array(t->count, sizeof(*parent));
    bool found = false;

    for (uint32_t g = 0; g < t->count; g++)
        parent[g] = t->item[g].parent;
    assert_int_equal(values_groups(c, f, VALUES_NEW, t->of, parent, t->count, v), 0);
    for (uint32_t g = 0; g < t->count; g++) {
        char name[400] = "";
        for (uint32_t at = g; at != CORE_NONE; at = t->item[at].parent) {
            char all[800];
            struct text s = core_string(c, t->item[at].string);
            snprintf(all, sizeof(all), "%.*s%s%s", (int)t->item[at].size,
                     s.at ? (const char *)s.at + t->item[at].from : "", *name ? "|" : "", name);
            snprintf(name, sizeof(name), "%.399s", all);
        }
        if (strcmp(name, path) != 0)
            continue;
        found = true;
        if (t->item[g].funcs != funcs || v[g].exact != self)
            fail_msg("%s: %u functions, %d; wanted %u, %d", path, t->item[g].funcs, (int)v[g].exact,
                     funcs, self);
    }
    if (!found)
        fail_msg("no group %s", path);
    heap_put(v);
    heap_put(parent);
    formula_free(f);
}

static void put(struct group_tree *t)
{
    heap_put(t->item);
    heap_put(t->of);
}

static void trees(void **state)
{
    static const struct named func[] = {
        { "lib", "/usr/src/a.c", "f", 1 },
        { "lib", "/usr/src/b.c", "n::m::g(x::y)", 2 },
        { "prog", "/usr/src/a.c", "n::T<p::q>::h", 4 },
        { "prog", "c.c", "n::k", 8 },
        { NULL, NULL, "operator<<(a::b)", 16 },
        { "prog", "/usr/src", "(anonymous namespace)::z", 32 },
        { "prog", "d.c", "unsigned long n::m::w<int>(a::b)", 64 },
        { "prog", "d.c", "n::operator bool()", 128 },
        { NULL, NULL, "<a::b>", 256 },
    };
    struct core *c = core_of(func, 9);
    struct group_tree t;

    (void)state;
    assert_int_equal(group_make(c, GROUP_OBJECT, &t), 0);
    assert_int_equal(t.count, 3);
    group_is(c, &t, "lib", 2, 1 + 2);
    group_is(c, &t, "prog", 5, 4 + 8 + 32 + 64 + 128);
    group_is(c, &t, "", 2, 16 + 256);
    put(&t);
    assert_int_equal(group_make(c, GROUP_FILE, &t), 0);
    assert_int_equal(t.count, 6);
    group_is(c, &t, "/usr/src/a.c", 2, 1 + 4);
    group_is(c, &t, "", 2, 16 + 256);
    put(&t);
    assert_int_equal(group_make(c, GROUP_FOLDER, &t), 0);
    assert_int_equal(t.count, 7); // /usr, src, a.c, b.c, c.c, d.c, unknown
    group_is(c, &t, "/usr", 4, 1 + 2 + 4 + 32);
    group_is(c, &t, "/usr|src", 4, 1 + 2 + 4 + 32);
    group_is(c, &t, "/usr|src|a.c", 2, 1 + 4);
    group_is(c, &t, "c.c", 1, 8);
    put(&t);
    // The colons within < > and ( ) do not separate.
    assert_int_equal(group_make(c, GROUP_NAMESPACE, &t), 0);
    assert_int_equal(t.count, 5); // n, m, T<p::q>, (anonymous namespace), none
    group_is(c, &t, "n", 5, 2 + 4 + 8 + 64 + 128);
    group_is(c, &t, "n|m", 2, 2 + 64);
    group_is(c, &t, "n|T<p::q>", 1, 4);
    group_is(c, &t, "(anonymous namespace)", 1, 32);
    group_is(c, &t, "", 3, 1 + 16 + 256);
    put(&t);
    load_free(c);
}

// The places in a file: of four functions in three files one line each.
static void files(void **state)
{
    static const struct named func[] = { { "p", "a.c", "f", 1 },
                                         { "p", "b.c", "g", 2 },
                                         { "p", "a.c", "h", 4 },
                                         { "p", NULL, "i", 8 } };
    struct core *c = core_of(func, 4);
    struct formula *f = formula_event(c, 0);
    struct detail *d;

    (void)state;
    for (uint32_t s = 0; s < c->strings; s++) {
        struct text t = core_string(c, s);
        int wanted = t.size == 3 && t.at[0] == 'a' ? 5 : t.size == 3 ? 2 : 0;
        assert_int_equal(detail_places(c, CORE_NONE, s, DETAIL_LINE, f, &d), 0);
        assert_int_equal(d->count, wanted ? 1 : 0);
        if (wanted)
            assert_int_equal((int)detail_value(d, f, VALUES_NEW, 0).exact, wanted);
        detail_free(d);
        assert_int_equal(detail_calls(c, CORE_NONE, s, DETAIL_LINE, f, &d), 0);
        assert_int_equal(d->count, 0);
        detail_free(d);
    }
    formula_free(f);
    load_free(c);
}

// 300 objects: the table grows; each keeps its own function.
static void many(void **state)
{
    static char name[300][16];
    static struct named func[300];

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(name[i], sizeof(name[i]), "o%d", i);
        func[i] = (struct named){ name[i], "f", name[i], (uint64_t)i + 1 };
    }
    struct core *c = core_of(func, 300);
    struct group_tree t;
    assert_int_equal(group_make(c, GROUP_OBJECT, &t), 0);
    assert_int_equal(t.count, 300);
    group_is(c, &t, "o0", 1, 1);
    group_is(c, &t, "o299", 1, 300);
    put(&t);
    load_free(c);
}

// a (1) -> b (10) <-> c (20) -> d (30), d -> d: the cycle is b and c.
static struct core *cycle(void)
{
    return tiny_core((uint64_t[]){ 1, 10, 20, 30 }, 4,
                     (struct tiny_call[]){ { 'a', 'b', 1, 60 },
                                           { 'b', 'c', 3, 45 },
                                           { 'c', 'b', 2, 5 },
                                           { 'c', 'd', 4, 30 },
                                           { 'd', 'd', 6, 12 } },
                     5);
}

static void cycles(void **state)
{
    struct core *c = cycle();
    struct group_tree t;

    (void)state;
    assert_int_equal(group_make(c, GROUP_CYCLE, &t), 0);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.item[0].funcs, 2);
    assert_int_equal(t.of[tiny_func(c, 'c')], 0);
    assert_int_equal(t.of[tiny_func(c, 'd')], CORE_NONE);
    put(&t);
    load_free(c);
}

// d costs 30 and was called 10 times: 3 each. a was not called: NaN, so last in both orders.
static void per_call(void **state)
{
    struct core *c = cycle();
    struct formula *f = formula_event(c, 0);
    uint32_t row[] = { 0, 1, 2, 3 };

    (void)state;
    assert_int_equal(values_prepare(c, f, VALUES_PER_CALL, VALUES_NEW), 0);
    struct value v = values_get(c, f, VALUES_PER_CALL, VALUES_NEW, tiny_func(c, 'd'));
    assert_true(!v.is_exact && v.approx == 3.0);
    v = values_get(c, f, VALUES_PER_CALL, VALUES_NEW, tiny_func(c, 'a'));
    assert_true(!v.is_exact && v.approx != v.approx);
    // b: 60 / 3, c: 60 / 3, d: 3.
    for (int descending = 0; descending < 2; descending++) {
        assert_int_equal(rows_sort(c, row, 4,
                                   &(struct rows_key){ .of = VALUES_PER_CALL,
                                                       .formula = f,
                                                       .descending = descending }),
                         0);
        assert_int_equal(row[descending ? 2 : 0], tiny_func(c, 'd'));
        assert_int_equal(row[3], tiny_func(c, 'a'));
    }
    formula_free(f);
    load_free(c);
}

// A formula without an event: the calls must be loaded all the same. 5 for each of d's 10.
static void per_call_constant(void **state)
{
    struct core *c = cycle();
    size_t at;
    struct formula *f = formula_new(c, c->event_count, (const uint8_t *)"5", 1, &at);

    (void)state;
    assert_int_equal(values_prepare(c, f, VALUES_PER_CALL, VALUES_NEW), 0);
    assert_true(values_get(c, f, VALUES_PER_CALL, VALUES_NEW, tiny_func(c, 'd')).approx == 0.5);
    formula_free(f);
    load_free(c);
}

// f: 5, before 4; g: 2, before 9; h is new with 6. Differences 1, -7, 6; factors 1.25, 2/9, none.
static void differences(void **state)
{
    struct quern_profile *p[2];
    const char *events[] = { "Ir" };
    static const uint64_t cost[2][3] = { { 5, 2, 6 }, { 4, 9, 0 } };
    uint32_t row[] = { 0, 1, 2 };

    (void)state;
    for (int s = 0; s < 2; s++) {
        p[s] = quern_profile_new();
        quern_profile_set_events(p[s], events, 1);
        for (int i = 0; i < 3 - s; i++) {
            const char name[] = { (char)('f' + i) };
            uint32_t func = quern_profile_func(p[s], QUERN_NONE, QUERN_NONE,
                                               quern_profile_string(p[s], name, 1));
            quern_profile_add_cost(
                p[s],
                &(struct quern_site){ .func = func, .file = QUERN_NONE, .line = (uint32_t)i + 1 },
                &cost[s][i], 1);
        }
    }
    struct pack *k = pack_everything(p[0], p[1]);
    struct core *c = unpack(k);
    assert_int_equal(link_edges(c), 0);
    struct formula *f = formula_event(c, 0);
    assert_int_equal(rows_sort(c, row, 3,
                               &(struct rows_key){ .of = VALUES_SELF,
                                                   .side = VALUES_DIFFERENCE,
                                                   .formula = f,
                                                   .descending = true,
                                                   .magnitude = true }),
                     0);
    assert_int_equal(row[0], tiny_func(c, 'g'));
    assert_int_equal(row[1], tiny_func(c, 'h'));
    assert_int_equal(row[2], tiny_func(c, 'f'));
    assert_true(values_get(c, f, VALUES_SELF, VALUES_FACTOR, row[2]).approx == 1.25);
    assert_true(values_get(c, f, VALUES_SELF, VALUES_FACTOR, row[0]).approx == 2.0 / 9);
    struct value v = values_get(c, f, VALUES_SELF, VALUES_FACTOR, row[1]);
    assert_true(v.approx != v.approx);
    uint32_t group[] = { 0, 0, 0 };
    assert_int_equal(values_groups(c, f, VALUES_FACTOR, group, NULL, 1, &v), 0);
    assert_true(v.approx == 1.0); // 13 / 13

    // Lines 1, 2, 3 by their differences: 2, 3, 1; by their new costs, 6 of 13 are not half, 11
    // are.
    struct detail *d;
    uint32_t order[3];
    assert_int_equal(detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE, f, &d), 0);
    assert_int_equal(d->count, 3);
    assert_int_equal(detail_order(d, f, VALUES_DIFFERENCE, order), 0);
    assert_memory_equal(order, ((uint32_t[]){ 1, 2, 0 }), 12);
    assert_int_equal(detail_order(d, f, VALUES_NEW, order), 2);
    assert_memory_equal(order, ((uint32_t[]){ 2, 0, 1 }), 12);
    assert_int_equal(detail_order(d, f, VALUES_OLD, order), 1); // 9 of 13
    assert_memory_equal(order, ((uint32_t[]){ 1, 0, 2 }), 12);
    detail_free(d);
    formula_free(f);
    load_free(c);
    pack_free(k);
    quern_profile_free(p[0]);
    quern_profile_free(p[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),       cmocka_unit_test(files),
        cmocka_unit_test(many),        cmocka_unit_test(cycles),
        cmocka_unit_test(per_call),    cmocka_unit_test(per_call_constant),
        cmocka_unit_test(differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
