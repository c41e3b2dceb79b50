// SPDX-License-Identifier: MIT
//
// Self costs of functions by source file, summed by the reader and by a walk. All expected numbers
// are small enough to be added up by eye from the profile in the test; test_fast.c compares both
// ways on larger ones.
#include "tests/unit/profile/text.h"

static struct quern_profile *read_rows(const char *text, int rows)
{
    struct quern_read_opts o = { .sz = sizeof(o), .rows = rows };
    struct quern_error err;
    struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "text", &o, &err);

    if (!p)
        fail_msg("%s:%llu: %s", err.file, (unsigned long long)err.line, err.msg);
    return p;
}

static void expect(const struct quern_profile *p, const struct quern_rows *r, size_t i,
                   const char *func, const char *file, uint64_t present, long long first,
                   long long second)
{
    struct quern_row x = quern_rows_get(r, i);

    assert_string_equal(quern_profile_str(p, quern_profile_func_get(p, x.func).name), func);
    assert_string_equal(quern_profile_str(p, x.file), file);
    assert_int_equal(x.present, present);
    assert_int_equal(x.counts[0], first);
    assert_int_equal(x.counts[1], second);
}

// f in a.c: 1 + 3 + 100 and 2; in b.h: 10 and no count; g: the cost of its call is not its own, and
// the line of the jump has none. Rows are in the order of their first costs: g's after f's.
static void test_rows(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        struct quern_profile *p =
            read_rows("# callgrind format\nevents: Ir Dr\nfl=a.c\nfn=f\n1 1 2\nfi=b.h\n1 10\n"
                      "fe=a.c\n2 3\nfn=g\ncfn=f\ncalls=1 1\n1 50 50\njump=1 2\n* \n"
                      "fn=f\n3 100\nfn=g\n4 7 .\n",
                      kept);
        struct quern_rows *r = quern_rows_new(p);
        assert_int_equal(quern_rows_count(r), 3);
        expect(p, r, 0, "f", "a.c", 3, 104, 2);
        expect(p, r, 1, "f", "b.h", 1, 10, 0);
        expect(p, r, 2, "g", "a.c", 1, 7, 0);
        quern_rows_free(r);
        quern_profile_free(p);
    }
}

// Two parts; the second has another event, and the columns in another order.
static void test_parts(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        struct quern_profile *p =
            read_rows("# callgrind format\nevents: Ir Dr\nfl=a.c\nfn=f\n1 1 2\n"
                      "part: 2\nevents: Bc Ir\nfl=a.c\nfn=f\n1 5 7\n",
                      kept);
        struct quern_rows *r = quern_rows_new(p);
        assert_int_equal(quern_rows_count(r), 1);
        expect(p, r, 0, "f", "a.c", 7, 8, 2);
        assert_int_equal(quern_rows_get(r, 0).counts[2], 5);
        quern_rows_free(r);
        quern_profile_free(p);
    }
}

// The same if the other event has no costs: its counts are zero, not the memory after the row.
static void test_part_without_costs(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        struct quern_profile *p = read_rows("# callgrind format\nevents: Ir\nfl=a.c\nfn=f\n1 1\n"
                                            "fn=g\n1 7\npart: 2\nevents: Ir Dr\n",
                                            kept);
        struct quern_rows *r = quern_rows_new(p);
        assert_int_equal(quern_rows_count(r), 2);
        expect(p, r, 0, "f", "a.c", 1, 1, 0);
        expect(p, r, 1, "g", "a.c", 1, 7, 0);
        quern_rows_free(r);
        quern_profile_free(p);
    }
}

// 1.5 + 2 and, after -1, 4: in units of 10^-9 if the event has a fraction.
static void test_fractions(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        struct quern_profile *p = read_rows("events: Ir Dr\nfl=a.c\nfn=f\n1 1.5 5\n2 2 -1\n", kept);
        struct quern_rows *r = quern_rows_new(p);
        assert_int_equal(quern_rows_count(r), 1);
        expect(p, r, 0, "f", "a.c", 3, 3500000000, 4);
        quern_rows_free(r);
        quern_profile_free(p);
    }
}

// The reader's sums are incomplete after a record was added, or after a change of an event's scale.
static void test_changed(void **state)
{
    struct quern_profile *p = read_rows("events: Ir Dr\nfl=a.c\nfn=f\n1 1 2\n", 1);
    struct quern_profile *q = read_rows("events: Ir Dr\nfl=a.c\nfn=f\n1 0.5 2\n", 1);
    struct quern_site at = { .func = func_named(p, "f"), .file = QUERN_NONE, .line = 3 };
    const uint64_t counts[] = { 10, 20 };
    struct quern_error err;

    (void)state;
    at.file = quern_profile_func_get(p, at.func).file;
    assert_int_equal(quern_profile_add_cost(p, &at, counts, 2), 0);
    struct quern_rows *r = quern_rows_new(p);
    assert_int_equal(quern_rows_count(r), 1);
    expect(p, r, 0, "f", "a.c", 3, 11, 22);
    quern_rows_free(r);
    quern_profile_free(p);

    p = read_rows("events: Ir Dr\nfl=a.c\nfn=f\n1 1 2\n", 1);
    assert_int_equal(quern_profile_match_events(p, "p", q, "q", &err), 0);
    r = quern_rows_new(p);
    expect(p, r, 0, "f", "a.c", 3, 1000000000, 2);
    quern_rows_free(r);
    quern_profile_free(p);
    quern_profile_free(q);
}

static void test_nothing(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_rows *r = quern_rows_new(p);

    (void)state;
    assert_int_equal(quern_rows_count(r), 0);
    quern_rows_free(r);
    quern_rows_free(NULL);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_part_without_costs),
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
