// SPDX-License-Identifier: MIT
//
// The builder, functions, numbers, and formulas. All expected numbers are small enough to be added
// up by eye.
#include "tests/unit/profile/text.h"

#include <errno.h>

static void test_build_cachegrind(void **state)
{
    struct quern_profile *p = built();
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CACHEGRIND };
    char *text = written(p, &o);

    (void)state;
    assert_string_equal(text, "desc: I1 cache:         32768 B, 64 B, 8-way associative\n"
                              "cmd: ./x y\n"
                              "events: Ir Dr\n"
                              "fl=a.c\nfn=f\n3 6 1\nfn=g\n9 7 1\n"
                              "fl=a.h\nfn=f\n1 2 2\n"
                              "summary: 15 4\n");
    free(text);
    quern_profile_free(p);
}

static void test_build_callgrind(void **state)
{
    struct quern_profile *p = built();
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CALLGRIND };
    struct quern_site at = { .func = func_named(p, "f"), .file = QUERN_NONE, .line = 4 };

    (void)state;
    assert_int_equal(
        quern_profile_add_call(p, &at, func_named(p, "g"), 9, 0, 2, (uint64_t[]){ 7, 1 }, 2), 0);
    char *text = written(p, &o);
    assert_string_equal(text,
                        "# callgrind format\nversion: 1\ncreator: quern\npid: 42\ncmd: ./x y\n"
                        "desc: I1 cache: 32768 B, 64 B, 8-way associative\n"
                        "positions: line\nevents: Ir Dr\nsummary: 15 4\n\n"
                        "ob=(1) /bin/x\nfl=(1) a.c\nfn=(1) f\n3 6 1\n"
                        "cfn=(2) g\ncalls=2 +6\n+1 7 1\n"
                        "fi=(2) a.h\n-3 2 2\n\n"
                        "fl=(1)\nfn=(2)\n+8 7 1\n\ntotals: 15 4\n");
    free(text);
    quern_profile_free(p);
}

static void test_build_refuses(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_site at = { .func = 0, .file = QUERN_NONE };

    (void)state;
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "A", "A" }, 2), -EEXIST);
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "B" }, 1), -EBUSY);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1),
                     -EINVAL); // no function
    quern_profile_func(p, QUERN_NONE, QUERN_NONE, QUERN_NONE);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1, 2 }, 2),
                     -EINVAL); // one event
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1), 0);
    assert_int_equal(quern_profile_define_event(p, "X", "A + 2 Nope", NULL), -EINVAL);
    assert_int_equal(quern_profile_define_event(p, "Y", "3 A - 2 A", NULL), 0);
    assert_int_equal(total(p, 0), 1);
    assert_true(quern_profile_derive(p, (size_t)quern_profile_find_event(p, "Y"),
                                     quern_profile_totals(p)) == 1);
    quern_profile_free(p);
}

// A profile has at most 4096 events.
static void test_most_events(void **state)
{
    enum { MOST = 4096 };
    static char text[MOST + 1][16];
    static const char *names[MOST + 1];

    (void)state;
    for (int i = 0; i <= MOST; i++) {
        snprintf(text[i], sizeof(text[i]), "E%d", i);
        names[i] = text[i];
    }
    struct quern_profile *p = quern_profile_new();
    assert_int_equal(quern_profile_set_events(p, names, MOST), 0);
    assert_int_equal(quern_profile_event_count(p), MOST);
    quern_profile_free(p);
    p = quern_profile_new();
    assert_int_equal(quern_profile_set_events(p, names, MOST + 1), -E2BIG);
    quern_profile_free(p);
}

// A header whose value is not a number leaves the one before it unchanged.
static void test_bad_number_of_a_header(void **state)
{
    struct quern_profile *p =
        read_text("version: 1\npid: 5\npid: x\nthread: y\nevents: A\nfl=a\nfn=f\n1 1\n");
    struct quern_part part;

    (void)state;
    assert_int_equal(quern_profile_part(p, 0, &part), 0);
    assert_true(part.has_pid && part.pid == 5);
    assert_false(part.has_thread);
    quern_profile_free(p);
}

static void test_unknown_names_are_one(void **state)
{
    struct quern_profile *p = quern_profile_new();
    uint32_t q = quern_profile_string(p, "???", -1), e = quern_profile_string(p, "", -1);
    uint32_t n = quern_profile_string(p, "f", -1);

    (void)state;
    assert_int_equal(quern_profile_func(p, q, e, n),
                     quern_profile_func(p, QUERN_NONE, QUERN_NONE, n));
    assert_int_equal(quern_profile_func_count(p), 1);
    quern_profile_free(p);
}

static void format_is(quern_count v, int64_t scale, const char *expected)
{
    char buf[64];
    assert_int_equal(quern_count_format(buf, sizeof(buf), v, scale), strlen(expected));
    assert_string_equal(buf, expected);
}

static void test_count_format(void **state)
{
    (void)state;
    format_is(0, 1, "0");
    format_is(-1, 1, "-1");
    format_is((quern_count)UINT64_MAX, 1, "18446744073709551615");
    format_is((quern_count)UINT64_MAX + 1, 1, "18446744073709551616");
    format_is(1500000000, 1000000000, "1.5");
    format_is(-1, 1000000000, "-0.000000001");
    format_is(2000000000, 1000000000, "2");
    format_is(1000000001, 1000000000, "1.000000001");
}

static void test_derive_at_the_ends(void **state)
{
    struct quern_profile *p =
        read_text("# callgrind format\nevent: S = 3 T - 2.5 Ir\nevents: T Ir\nfl=a\nfn=f\n"
                  "1 0.5 4\n");
    int at = quern_profile_find_event(p, "S");
    const quern_count max = (quern_count)(~(unsigned __int128)0 >> 1), nano = 1000000000;
    quern_count counts[2] = { 0 };

    (void)state;
    assert_int_equal(at, 2);
    assert_int_equal(quern_profile_event_scale(p, 2), 1000000000);
    assert_true(quern_profile_derive(p, 2, quern_profile_totals(p)) == -85 * (nano / 10));
    counts[0] = max / 4; // three times that fits now; before the division it did not
    assert_true(quern_profile_derive(p, 2, counts) ==
                max / 4 / nano * (3 * nano) + max / 4 % nano * 3);
    counts[0] = max / 2;
    assert_true(quern_profile_derive(p, 2, counts) == max);
    counts[0] = -max;
    counts[1] = max;
    assert_true(quern_profile_derive(p, 2, counts) == -max);
    quern_profile_free(p);
}

// ---- Events and formulas ----

static quern_count derived(const struct quern_profile *p, const char *name, const quern_count *v)
{
    int at = quern_profile_find_event(p, name);

    assert_true(at >= 0);
    return quern_profile_derive(p, (size_t)at, v);
}

// Formulas over A = 10 and B = 3.
static void test_formulas(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const quern_count v[] = { 10, 3 };
    static const struct {
        const char *text;
        int64_t value;
    } whole[] = {
        { "A", 10 },           { "-A", -10 },        { "- A + B", -7 },
        { "A + B", 13 },       { "A - B", 7 },       { "A-B", 7 },
        { "3 A", 30 },         { "3*A", 30 },        { "3 * A - 2 B", 24 },
        { " A + A + A ", 30 }, { "2 A - A - A", 0 }, { "4000000001 B - A", 11999999993 }
    };
    static const char *const bad[] = { "",  " ",   "+ A", "A +",   "A -",          "A B",   "A * 2",
                                       "2", "2 *", "C",   "A + C", "9000000000 A", "A * B", "X" };

    (void)state;
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "A", "B" }, 2), 0);
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
        assert_int_equal(quern_profile_define_event(p, "X", whole[i].text, NULL), 0);
        assert_int_equal(quern_profile_event_scale(p, 2), 1);
        if (derived(p, "X", v) != whole[i].value)
            fail_msg("%s", whole[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (quern_profile_define_event(p, "X", bad[i], NULL) != -EINVAL)
            fail_msg("'%s' is taken for a formula", bad[i]);
    assert_int_equal(quern_profile_derived_count(p), 1);
    // fractions: 1.5 * 10 - 0.25 * 3 = 14.25, in units of 10^-9
    assert_int_equal(quern_profile_define_event(p, "Y", "1.5 A - .25 B", "why"), 0);
    assert_int_equal(quern_profile_event_scale(p, 3), 1000000000);
    assert_true(derived(p, "Y", v) == 14250000000);
    assert_string_equal(quern_profile_event_long_name(p, 3), "why");
    assert_string_equal(quern_profile_event_formula(p, 3), "1.5 A - .25 B");
    // of a derived event: 2 * 14.25 + 10
    assert_int_equal(quern_profile_define_event(p, "Z", "2 Y + A", NULL), 0);
    assert_true(derived(p, "Z", v) == 38500000000);
    // only of one before it: not of itself
    assert_int_equal(quern_profile_define_event(p, "Q", "A + Q", NULL), -EINVAL);
    quern_profile_free(p);
}

// Factors that exceed 64 bits in units of 10^-9: 9 * 10^9 of 9 * 10^9, and a sum of such.
static void test_formula_too_large(void **state)
{
    struct quern_profile *p = quern_profile_new();

    (void)state;
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "A" }, 1), 0);
    assert_int_equal(quern_profile_define_event(p, "X", "8999999999 A", NULL), 0);
    assert_int_equal(quern_profile_define_event(p, "Y", "2 X", NULL), -ERANGE);
    assert_int_equal(quern_profile_define_event(p, "Z", "- 2 X", NULL), -ERANGE);
    assert_int_equal(quern_profile_define_event(p, "W", "X + X", NULL), -ERANGE);
    assert_int_equal(quern_profile_define_event(p, "V", "X - X", NULL), 0);
    quern_profile_free(p);
}

// A long name given before "events:" belongs to the event with counts; one with a formula stays
// derived, whatever its name.
static void test_defined_before(void **state)
{
    struct quern_profile *p = read_text("version: 1\nevent: Ir : Instructions\nevent: S = Ir + Dr\n"
                                        "event: Dr = Ir\nevents: Ir Dr\nfn=f\n1 2 3\n");

    (void)state;
    assert_int_equal(quern_profile_event_count(p), 2);
    assert_int_equal(quern_profile_derived_count(p), 2);
    assert_string_equal(quern_profile_event_long_name(p, 0), "Instructions");
    assert_null(quern_profile_event_long_name(p, 1));
    assert_string_equal(quern_profile_event_name(p, 2), "S");
    assert_true(quern_profile_derive(p, 2, quern_profile_totals(p)) == 5);
    assert_string_equal(quern_profile_event_name(p, 3), "Dr");
    assert_true(quern_profile_derive(p, 3, quern_profile_totals(p)) == 2);
    assert_int_equal(quern_profile_find_event(p, "Dr"), 1); // the one with counts
    assert_int_equal(quern_profile_find_event(p, "D"), -ENOENT);
    assert_int_equal(quern_profile_find_event(p, "Drr"), -ENOENT);
    assert_null(quern_profile_event_name(p, 4));
    quern_profile_free(p);
}

static int same_events(const char *a, const char *b)
{
    struct quern_profile *p = read_text(a), *q = read_text(b);
    struct quern_error err;
    int rc = quern_profile_match_events(p, "a", q, "b", &err);

    if (rc == 0)
        assert_int_equal(quern_profile_event_scale(p, 0), quern_profile_event_scale(q, 0));
    else
        assert_string_equal(err.file, "b");
    quern_profile_free(p);
    quern_profile_free(q);
    return rc;
}

static void test_same_events(void **state)
{
    static const char plain[] = "events: A B\nfn=f\n1 1\n";
    static const char named[] = "event: A : name\nevents: A B\nfn=f\n1 1\n";
    static const char sum[] = "event: S = A + B\nevents: A B\nfn=f\n1 1\n";

    (void)state;
    assert_int_equal(same_events(plain, plain), 0);
    assert_int_equal(same_events(plain, "events: A B\nfn=f\n1 0.5\n2 1.5\n"), 0);
    assert_int_equal(same_events(plain, "events: B A\nfn=f\n1 1\n"), -EINVAL);
    assert_int_equal(same_events(plain, "events: A\nfn=f\n1 1\n"), -EINVAL);
    assert_int_equal(same_events(plain, "events: A B C\nfn=f\n1 1\n"), -EINVAL);
    assert_int_equal(same_events(plain, named), -EINVAL);
    assert_int_equal(same_events(named, plain), -EINVAL);
    assert_int_equal(same_events(named, named), 0);
    assert_int_equal(same_events(plain, sum), -EINVAL);
    assert_int_equal(same_events(sum, plain), -EINVAL);
    assert_int_equal(same_events(sum, sum), 0);
    assert_int_equal(same_events(sum, "event: S = B + A\nevents: A B\nfn=f\n1 1\n"), -EINVAL);
}

// The same scale in both: half of 10^9 units is 1.5 in the one that had whole numbers, too.
static void test_match_scales(void **state)
{
    struct quern_profile *p = read_text("events: A\nfn=f\n1 7\n");
    struct quern_profile *q = read_text("events: A\nfn=f\n1 1.5\n");
    struct quern_error err;

    (void)state;
    assert_true(quern_profile_totals(p)[0] == 7);
    assert_int_equal(quern_profile_match_events(p, NULL, q, NULL, &err), 0);
    assert_int_equal(quern_profile_event_scale(p, 0), 1000000000);
    assert_true(quern_profile_totals(p)[0] == 7000000000);
    assert_true(quern_profile_totals(q)[0] == 1500000000);
    quern_profile_free(p);
    quern_profile_free(q);
}

// ---- Functions and strings ----

// Two functions are the same if and only if object, file and name are. 200 of them: the table
// grows.
static void test_functions(void **state)
{
    struct quern_profile *p = quern_profile_new();
    uint32_t s[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        s[i] = quern_profile_string(p, (char[]){ (char)('a' + i), 'x' }, 1);
    assert_string_equal(quern_profile_str(p, s[3]), "d");
    uint32_t f = quern_profile_func(p, s[0], s[1], s[2]);
    assert_int_equal(quern_profile_func(p, s[0], s[1], s[2]), f);
    assert_int_not_equal(quern_profile_func(p, s[3], s[1], s[2]), f);
    assert_int_not_equal(quern_profile_func(p, s[0], s[3], s[2]), f);
    assert_int_not_equal(quern_profile_func(p, s[0], s[1], s[3]), f);
    assert_int_equal(quern_profile_func_count(p), 4);
    for (unsigned i = 4; i < 200; i++)
        assert_int_equal(quern_profile_func(p, i, i + 1, i + 2), i);
    for (unsigned i = 4; i < 200; i++)
        assert_int_equal(quern_profile_func(p, i, i + 1, i + 2), i);
    assert_int_equal(quern_profile_func_get(p, 199).file, 200);
    assert_int_equal(quern_profile_func_get(p, 200).name, QUERN_NONE);
    assert_string_equal(quern_profile_str(p, QUERN_NONE), "");
    assert_string_equal(quern_profile_str(p, (uint32_t)quern_profile_str_count(p)), "");
    quern_profile_free(p);
}

// ---- Parts ----

static void test_parts(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_part part;

    (void)state;
    assert_int_equal(quern_profile_part_count(p), 1);
    quern_profile_set_cmd(p, "one");
    quern_profile_set_cmd(p, "two"); // the last call counts
    quern_profile_add_desc(p, "K", "v");
    quern_profile_add_desc(p, "L", "");
    assert_int_equal(quern_profile_begin_part(p), 0);
    quern_profile_set_thread(p, 3);
    quern_profile_set_part(p, 7);
    quern_profile_set_creator(p, "me");
    assert_int_equal(quern_profile_part(p, 0, &part), 0);
    assert_string_equal(part.cmd, "two");
    assert_int_equal(part.desc_count, 2);
    assert_string_equal(part.desc[0], "K: v");
    assert_string_equal(part.desc[1], "L: ");
    assert_false(part.has_thread || part.has_part || part.has_pid);
    assert_int_equal(quern_profile_part(p, 1, &part), 0);
    assert_null(part.cmd);
    assert_string_equal(part.creator, "me");
    assert_true(part.has_thread && part.thread == 3 && part.has_part && part.part == 7);
    assert_false(part.has_pid);
    assert_int_equal(quern_profile_part(p, 2, &part), -ENOENT);
    quern_profile_clear_desc(p); // of the last part, which has none
    quern_profile_part(p, 0, &part);
    assert_int_equal(part.desc_count, 2);
    quern_profile_free(p);
}

// The name of a file that is too long loses its beginning; messages lose their end.
static void test_errors(void **state)
{
    struct quern_error err;
    char path[400];

    (void)state;
    memset(path, 'p', sizeof(path));
    path[0] = '/';
    path[299] = 0;
    assert_null(quern_profile_read(path, NULL, &err));
    assert_int_equal(strlen(err.file), sizeof(err.file) - 1);
    assert_int_equal(err.file[0], 'p');
    path[255] = 0; // the longest that fits
    assert_null(quern_profile_read(path, NULL, &err));
    assert_string_equal(err.file, path);
    assert_null(quern_profile_read(path, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_cachegrind),
        cmocka_unit_test(test_build_callgrind),
        cmocka_unit_test(test_build_refuses),
        cmocka_unit_test(test_most_events),
        cmocka_unit_test(test_bad_number_of_a_header),
        cmocka_unit_test(test_unknown_names_are_one),
        cmocka_unit_test(test_count_format),
        cmocka_unit_test(test_derive_at_the_ends),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_formula_too_large),
        cmocka_unit_test(test_defined_before),
        cmocka_unit_test(test_same_events),
        cmocka_unit_test(test_match_scales),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests_name("profile model", tests, NULL, NULL);
}
