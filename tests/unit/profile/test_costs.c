// SPDX-License-Identifier: MIT
//
// Costs of functions, edges and cycles. All expected numbers are small enough to be added up by eye
// from the profile in the test.
#include "tests/unit/profile/text.h"

static void test_inclusive(void **state)
{
    // main 20+400+400 = 820, func1 100+300, func2 700: the specification's own example
    struct quern_error err;
    struct quern_profile *p = quern_profile_read("tests/golden/calls.callgrind", NULL, &err);

    (void)state;
    assert_non_null(p);
    struct quern_costs *c = quern_costs_new(p);
    assert_true(quern_costs_inclusive(c, func_named(p, "main"))[0] == 820);
    assert_true(quern_costs_self(c, func_named(p, "main"))[0] == 20);
    assert_true(quern_costs_inclusive(c, func_named(p, "func1"))[0] == 400);
    assert_true(quern_costs_inclusive(c, func_named(p, "func2"))[0] == 700);
    assert_int_equal(quern_costs_called(c, func_named(p, "func2")), 5);
    assert_int_equal(quern_costs_edge_count(c), 3);
    size_t n;
    quern_costs_callers(c, func_named(p, "func2"), &n);
    assert_int_equal(n, 2);
    size_t first, end;
    quern_costs_callees(c, func_named(p, "main"), &first, &end);
    assert_int_equal(end - first, 2);
    assert_int_equal(quern_costs_cycle(c, func_named(p, "main")), 0);
    quern_costs_free(c);
    quern_profile_free(p);
}

static void test_cycle(void **state)
{
    // main calls even (10 in all); even and odd call each other; odd calls leaf. The cycle costs
    // its members' self cost 3 + 4 and the leaf 2: 9, whatever the calls inside say. Direct
    // recursion (fact) is not a cycle and adds nothing to itself.
    struct quern_profile *p =
        read_text("events: Ir\nfl=a\nfn=main\n1 1\ncfn=even\ncalls=1 1\n1 9\n"
                  "cfn=fact\ncalls=1 1\n2 6\n"
                  "fn=even\n1 3\ncfn=odd\ncalls=2 1\n1 50\n"
                  "fn=odd\n1 4\ncfn=even\ncalls=2 1\n1 60\ncfn=leaf\ncalls=1 1\n1 2\n"
                  "fn=leaf\n1 2\nfn=fact\n1 6\ncfn=fact\ncalls=3 1\n1 99\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_true(quern_costs_cycle(c, func_named(p, "even")) != 0);
    assert_int_equal(quern_costs_cycle(c, func_named(p, "even")),
                     quern_costs_cycle(c, func_named(p, "odd")));
    assert_int_equal(quern_costs_cycle(c, func_named(p, "fact")), 0);
    assert_true(quern_costs_inclusive(c, func_named(p, "even"))[0] == 9);
    assert_true(quern_costs_inclusive(c, func_named(p, "odd"))[0] == 9);
    assert_true(quern_costs_inclusive(c, func_named(p, "fact"))[0] == 6);
    assert_true(quern_costs_inclusive(c, func_named(p, "main"))[0] == 16);
    assert_true(total(p, 0) == 16);
    quern_costs_free(c);
    quern_profile_free(p);
}

// A chain of calls that would overflow the stack of a recursive search.
static void test_deep_graph(void **state)
{
    static const char *const events[] = { "Ir" };
    struct quern_profile *p = quern_profile_new();
    enum { DEPTH = 200000 };

    (void)state;
    quern_profile_set_events(p, events, 1);
    for (unsigned i = 0; i < DEPTH; i++) {
        char name[20];
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(
            quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name, -1)), i);
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        struct quern_site at = { .func = i, .file = QUERN_NONE, .line = 1 };
        quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1);
        if (i + 1 < DEPTH)
            quern_profile_add_call(p, &at, i + 1, 1, 0, 1, (uint64_t[]){ DEPTH - 1 - i }, 1);
    }
    struct quern_costs *c = quern_costs_new(p);
    assert_non_null(c);
    assert_true(quern_costs_inclusive(c, 0)[0] == DEPTH);
    assert_int_equal(quern_costs_cycle(c, DEPTH / 2), 0);
    quern_costs_free(c);
    quern_profile_free(p);
}

static void test_present(void **state)
{
    struct quern_profile *p =
        read_text("events: A B C\nfl=a\nfn=f\n1 5 . 2\n2 1\nfn=g\n1 5\nfn=h\n1 5 0 0\n"
                  "summary: 16 0 2\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_int_equal(quern_costs_present(c, func_named(p, "f")), 5);
    assert_int_equal(quern_costs_present(c, func_named(p, "g")), 1);
    assert_int_equal(quern_costs_present(c, func_named(p, "h")), 7);
    quern_costs_free(c);
    quern_profile_free(p);
}

// ---- Edges ----

// f calls g from two lines, 2 + 3 times, for 10 + 20; h calls it from one, 4 times, for 7.
static void test_edges_are_summed(void **state)
{
    struct quern_profile *p = read_text("version: 1\nevents: Ir Dr\nfl=a\n"
                                        "fn=f\n1 1\ncfn=g\ncalls=2 9\n1 10 1\n"
                                        "cfn=g\ncalls=3 9\n2 20 2\n"
                                        "fn=g\n9 37 4\n"
                                        "fn=h\n1 100\ncfn=g\ncalls=4 9\n1 7 1\n");
    struct quern_costs *c = quern_costs_new(p);
    uint32_t f = func_named(p, "f"), g = func_named(p, "g"), h = func_named(p, "h");
    size_t first, end, n;

    (void)state;
    assert_int_equal(quern_costs_edge_count(c), 2);
    quern_costs_callees(c, f, &first, &end);
    assert_int_equal(end - first, 1);
    struct quern_edge e = quern_costs_edge(c, first);
    assert_int_equal(e.caller, f);
    assert_int_equal(e.callee, g);
    assert_int_equal(e.calls, 5);
    assert_true(e.counts[0] == 30 && e.counts[1] == 3);
    quern_costs_callees(c, g, &first, &end);
    assert_int_equal(end - first, 0);
    quern_costs_callees(c, h, &first, &end);
    assert_int_equal(end - first, 1);
    assert_int_equal(quern_costs_edge(c, first).calls, 4);
    assert_true(quern_costs_edge(c, first).counts[0] == 7);
    const uint32_t *callers = quern_costs_callers(c, g, &n);
    assert_int_equal(n, 2);
    assert_int_equal(quern_costs_edge(c, callers[0]).caller, f);
    assert_int_equal(quern_costs_edge(c, callers[1]).caller, h);
    quern_costs_callers(c, f, &n);
    assert_int_equal(n, 0);
    assert_int_equal(quern_costs_called(c, g), 9);
    assert_int_equal(quern_costs_called(c, f), 0);
    assert_true(quern_costs_inclusive(c, f)[0] == 31 && quern_costs_inclusive(c, f)[1] == 3);
    assert_true(quern_costs_inclusive(c, g)[0] == 37);
    assert_true(quern_costs_inclusive(c, h)[0] == 107);
    quern_costs_free(c);
    quern_profile_free(p);
}

// 64 bits of calls: larger numbers stay at the maximum, one that just fits does not change.
static void test_calls_saturate(void **state)
{
    struct quern_profile *p =
        read_text("version: 1\nevents: Ir\nfl=a\n"
                  "fn=f\ncfn=over\ncalls=18446744073709551615 1\n1 1\n"
                  "cfn=over\ncalls=1 1\n2 1\n"
                  "cfn=fits\ncalls=18446744073709551614 1\n1 1\ncfn=fits\ncalls=1 1\n2 1\n"
                  "cfn=zero\ncalls=5 1\n1 1\ncfn=zero\ncalls=0 1\n2 1\n"
                  "cfn=twice\ncalls=9223372036854775808 1\n1 1\n"
                  "fn=g\ncfn=twice\ncalls=9223372036854775808 1\n1 1\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_true(quern_costs_called(c, func_named(p, "over")) == UINT64_MAX);
    assert_true(quern_costs_called(c, func_named(p, "fits")) == UINT64_MAX);
    assert_true(quern_costs_called(c, func_named(p, "zero")) == 5);
    assert_true(quern_costs_called(c, func_named(p, "twice")) == UINT64_MAX); // 2^64, of two edges
    quern_costs_free(c);
    quern_profile_free(p);
}

// 300 callees: the table of edges grows at 256; edges come sorted whatever the order of the file.
static void test_many_edges(void **state)
{
    static const char *const events[] = { "Ir" };
    struct quern_profile *p = quern_profile_new();
    enum { N = 300 };

    (void)state;
    quern_profile_set_events(p, events, 1);
    for (unsigned i = 0; i <= N; i++) {
        char name[20];
        snprintf(name, sizeof(name), "f%u", i);
        quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name, -1));
    }
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = N; i > 0; i--) {
            struct quern_site at = { .func = 0, .file = QUERN_NONE, .line = i };
            quern_profile_add_call(p, &at, i, 1, 0, i, (uint64_t[]){ 2 * i }, 1);
        }
    struct quern_costs *c = quern_costs_new(p);
    assert_int_equal(quern_costs_edge_count(c), N);
    for (unsigned i = 0; i < N; i++) {
        struct quern_edge e = quern_costs_edge(c, i);
        assert_int_equal(e.callee, i + 1);
        assert_int_equal(e.calls, 2 * (i + 1));
        assert_true(e.counts[0] == 4 * (i + 1));
    }
    assert_true(quern_costs_inclusive(c, 0)[0] == 2 * N * (N + 1)); // 4 * (1 + ... + N)
    quern_costs_free(c);
    quern_profile_free(p);
}

// ---- Cycles ----

// Two cycles, a-b-c and d-e, the first calling the second twice; b calls itself, too. Self costs
// are 1 2 4 8 16; the calls from c to d cost 24 and 1. main costs 32 and what it calls.
static void test_two_cycles(void **state)
{
    struct quern_profile *p = read_text("version: 1\nevents: Ir\nfl=x\n"
                                        "fn=main\n1 32\ncfn=a\ncalls=1 1\n1 31\n"
                                        "fn=a\n1 1\ncfn=b\ncalls=1 1\n1 100\n"
                                        "fn=b\n1 2\ncfn=c\ncalls=1 1\n1 100\n"
                                        "cfn=b\ncalls=1 1\n1 100\n"
                                        "fn=c\n1 4\ncfn=a\ncalls=1 1\n1 100\n"
                                        "cfn=d\ncalls=1 1\n1 24\ncfn=d\ncalls=1 1\n2 1\n"
                                        "fn=d\n1 8\ncfn=e\ncalls=1 1\n1 100\n"
                                        "fn=e\n1 16\ncfn=d\ncalls=1 1\n1 100\n");
    struct quern_costs *c = quern_costs_new(p);
    uint32_t of[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        of[i] = quern_costs_cycle(c, func_named(p, (char[]){ (char)('a' + i), 0 }));
    assert_int_equal(quern_costs_cycle(c, func_named(p, "main")), 0);
    assert_true(of[0] != 0 && of[1] == of[0] && of[2] == of[0]);
    assert_true(of[3] != 0 && of[3] != of[0] && of[4] == of[3]);
    assert_true(of[0] <= 2 && of[3] <= 2); // numbers count from 1
    for (unsigned i = 0; i < 3; i++)       // 1 + 2 + 4, and the calls that leave: 24 + 1
        assert_true(quern_costs_inclusive(c, func_named(p, (char[]){ (char)('a' + i), 0 }))[0] ==
                    32);
    assert_true(quern_costs_inclusive(c, func_named(p, "d"))[0] == 24);
    assert_true(quern_costs_inclusive(c, func_named(p, "e"))[0] == 24);
    assert_true(quern_costs_inclusive(c, func_named(p, "main"))[0] == 63);
    quern_costs_free(c);
    quern_profile_free(p);
}

// A diamond is not a cycle: the second path to d finds it finished.
static void test_diamond(void **state)
{
    struct quern_profile *p = read_text("version: 1\nevents: Ir\nfl=x\n"
                                        "fn=a\n1 1\ncfn=b\ncalls=1 1\n1 6\n"
                                        "cfn=c\ncalls=1 1\n1 12\n"
                                        "fn=b\n1 2\ncfn=d\ncalls=1 1\n1 4\n"
                                        "fn=c\n1 8\ncfn=d\ncalls=1 1\n1 4\nfn=d\n1 8\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    for (uint32_t f = 0; f < 4; f++)
        assert_int_equal(quern_costs_cycle(c, f), 0);
    assert_true(quern_costs_inclusive(c, func_named(p, "a"))[0] == 19);
    assert_true(quern_costs_inclusive(c, func_named(p, "c"))[0] == 12);
    quern_costs_free(c);
    quern_profile_free(p);
}

// ---- Unusual numbers ----

// Fractions, and negative counts and jumps beside them; the first record precedes the fraction.
static void test_scaled(void **state)
{
    struct quern_profile *p = read_text("version: 1\nevents: A B\nfl=a\nfn=f\n1 2 3\n2 0.5 -4\n"
                                        "jump=3 1\n*\n"
                                        "cfn=g\ncalls=1 1\n3 0.25 7\ncfn=g\ncalls=1 1\n3 1 1\n");
    struct quern_costs *c = quern_costs_new(p);
    const int64_t nano = 1000000000;

    (void)state;
    assert_int_equal(quern_profile_event_scale(p, 0), nano);
    assert_int_equal(quern_profile_event_scale(p, 1), 1);
    assert_true(quern_costs_self(c, 0)[0] == 5 * nano / 2);
    assert_true(quern_costs_self(c, 0)[1] == -1);
    assert_true(quern_costs_edge(c, 0).counts[0] == 5 * nano / 4);
    assert_true(quern_costs_edge(c, 0).counts[1] == 8);
    assert_int_equal(quern_costs_edge(c, 0).calls, 2);
    assert_true(quern_costs_inclusive(c, 0)[0] == 15 * nano / 4);
    assert_true(quern_costs_inclusive(c, 0)[1] == 7);
    quern_costs_free(c);
    quern_profile_free(p);
}

// Fractions of an event that is not the first one: the cursor gives its counts in 10^-9, too.
static void test_cursor_scaled(void **state)
{
    struct quern_profile *p =
        read_text("version: 1\nevents: A B C\nfl=a\nfn=f\n1 2 3 4\n2 5 0.5 6\n");
    struct quern_cursor *c = quern_cursor_new(p);
    struct quern_record r;
    const int64_t nano = 1000000000;

    (void)state;
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_true(r.counts[0] == 2 && r.counts[1] == 3 * nano && r.counts[2] == 4);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_true(r.counts[0] == 5 && r.counts[1] == nano / 2 && r.counts[2] == 6);
    quern_cursor_free(c);
    quern_profile_free(p);
}

static void test_nothing(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_non_null(c);
    assert_int_equal(quern_costs_edge_count(c), 0);
    quern_costs_free(c);
    quern_costs_free(NULL);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inclusive),        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_deep_graph),       cmocka_unit_test(test_present),
        cmocka_unit_test(test_edges_are_summed), cmocka_unit_test(test_calls_saturate),
        cmocka_unit_test(test_many_edges),       cmocka_unit_test(test_two_cycles),
        cmocka_unit_test(test_diamond),          cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_nothing),          cmocka_unit_test(test_cursor_scaled),
    };
    return cmocka_run_group_tests_name("profile costs", tests, NULL, NULL);
}
