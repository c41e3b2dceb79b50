// SPDX-License-Identifier: MIT
//
// The parts of cli/ that are functions of their arguments: names with %p, cache geometries,
// numbers, paths, and the summary, whose expected text is what Cachegrind 3.19 printed for a
// program with these counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/finish/finish.h"
#include "cli/run/run.h"
#include "cli/shared/name.h"
#include "cli/shared/util.h"

// ---- Names ----

static void expands(const char *name, const char *expected)
{
    char err[256] = "";
    char *s = name_expand(name, 4711, err, sizeof(err));

    assert_string_equal(s ? s : err, expected);
    free(s);
}

static void test_names(void **state)
{
    (void)state;
    setenv("TEST_A", "one", 1);
    setenv("TEST_EMPTY", "", 1);
    setenv("TEST_PERCENT", "%p", 1);
    unsetenv("TEST_UNSET");
    expands("", "");
    expands("plain", "plain");
    expands("%p", "4711");
    expands("a%pb%p", "a4711b4711");
    expands("%%p", "%p");
    expands("%%%p", "%4711");
    expands("%q{TEST_A}", "one");
    expands("x%q{TEST_A}%q{TEST_A}.%p", "xoneone.4711");
    expands("x%q{TEST_EMPTY}y", "xy");
    expands("%q{TEST_PERCENT}", "%p"); // what a variable holds is not expanded again
    expands("%q{TEST_UNSET}", "the environment variable TEST_UNSET of %q{TEST_UNSET} is not set");
    expands("%q", "%q is not followed by {VARIABLE}");
    expands("%q{}", "%q is not followed by {VARIABLE}");
    expands("%q{TEST_A", "%q is not followed by {VARIABLE}");
    expands("%qTEST_A", "%q is not followed by {VARIABLE}");
    expands("%", "% at the end; write %% for a percent sign");
    expands("%d", "%d is not one of %p, %q{VARIABLE}, %%");
}

static void test_escape(void **state)
{
    const char *const names[] = { "", "a", "%", "%%", "a%p%q{X}%", "/100%/x" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *escaped = name_escape(names[i]);

        expands(escaped, names[i]);
        free(escaped);
    }
}

// ---- Caches ----

static void test_cache_parse(void **state)
{
    struct spool_geometry g;
    char err[256];

    (void)state;
    assert_true(run_cache_parse("32768,8,64", &g, err, sizeof(err)));
    assert_int_equal(g.size, 32768);
    assert_int_equal(g.assoc, 8);
    assert_int_equal(g.line, 64);
    assert_true(run_cache_parse("2147483648,16,64", &g, err, sizeof(err)));
    assert_false(run_cache_parse("4294967296,16,64", &g, err, sizeof(err)));
    assert_string_equal(err, "the size \"4294967296\" is not a number from 1 to 4294967295");
    assert_false(run_cache_parse("32768,,64", &g, err, sizeof(err)));
    assert_string_equal(err,
                        "the associativity is missing; SIZE,ASSOCIATIVITY,LINESIZE is wanted, for "
                        "example 32768,8,64");
}

static void test_cache_fit(void **state)
{
    // What an EPYC says of its last level: 480 MB, 16-way: 491520 sets.
    struct spool_geometry ll = { 503316480, 16, 64 };
    struct spool_geometry good = { 32768, 8, 64 };
    char *said;

    (void)state;
    assert_null(run_cache_fit(&good, "I1"));
    assert_int_equal(good.size, 32768);
    said = run_cache_fit(&ll, "LL");
    assert_non_null(said);
    assert_int_equal(ll.size, 503316480);
    assert_int_equal(ll.assoc, 15);
    assert_int_equal(ll.line, 64);
    assert_non_null(
        strstr(said, "LL cache of 503,316,480 B, 16-way, 64 B lines cannot be simulated: "));
    assert_non_null(strstr(said, "; simulating 503,316,480 B, 15-way, 64 B lines"));
    free(said);
}

static void test_cache_detect(void **state)
{
    struct run_caches all = { { { 32768, 8, 64 }, true },
                              { { 16384, 4, 64 }, true },
                              { { 1048576, 16, 64 }, true },
                              NULL,
                              0 };
    struct run_caches none = { 0 };
    char *said;

    (void)state;
    run_cache_detect(&all);
    assert_int_equal(all.d1.g.size, 16384);
    said = run_cache_sentence(&all);
    assert_string_equal(
        said, "Caches: I1 32,768 B, 8-way, 64 B lines (given); D1 16,384 B, 4-way, 64 B lines "
              "(given); LL 1,048,576 B, 16-way, 64 B lines (given)");
    free(said);
    run_cache_detect(&none);
    assert_non_null(none.source);
    assert_true(none.i1.g.size && none.d1.g.size && none.ll.g.size);
    free(run_cache_fit(&none.i1.g, "I1"));
    free(run_cache_fit(&none.d1.g, "D1"));
    free(run_cache_fit(&none.ll.g, "LL"));
    none.source = "CPUID leaf 4";
    none.i1 = none.d1 = (struct run_cache){ { 32768, 8, 64 }, false };
    none.ll = (struct run_cache){ { 8388608, 16, 64 }, false };
    none.ll_level = 3;
    said = run_cache_sentence(&none);
    assert_string_equal(
        said,
        "Caches: I1 32,768 B, 8-way, 64 B lines; D1 32,768 B, 8-way, 64 B lines; LL 8,388,608 B, "
        "16-way, 64 B lines; from CPUID leaf 4, LL is its L3");
    free(said);
    none.ll.given = true;
    said = run_cache_sentence(&none);
    assert_string_equal(
        said,
        "Caches: I1 32,768 B, 8-way, 64 B lines; D1 32,768 B, 8-way, 64 B lines; LL 8,388,608 B, "
        "16-way, 64 B lines (given); the others from CPUID leaf 4");
    free(said);
}

// ---- Small things ----

static void test_commas(void **state)
{
    char buf[32];

    (void)state;
    assert_string_equal(util_commas(buf, 0), "0");
    assert_string_equal(util_commas(buf, 999), "999");
    assert_string_equal(util_commas(buf, 1000), "1,000");
    assert_string_equal(util_commas(buf, 1234567), "1,234,567");
    assert_string_equal(util_commas(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_numbers(void **state)
{
    uint64_t n = 7;

    (void)state;
    assert_true(util_number("0", 10, &n));
    assert_int_equal(n, 0);
    assert_true(util_number("18446744073709551615", UINT64_MAX, &n));
    assert_true(n == UINT64_MAX);
    assert_false(util_number("18446744073709551616", UINT64_MAX, &n));
    assert_false(util_number("11", 10, &n));
    assert_false(util_number("", 10, &n));
    assert_false(util_number("+1", 10, &n));
    assert_false(util_number(" 1", 10, &n));
    assert_false(util_number("1 ", 10, &n));
}

static void test_paths(void **state)
{
    static const struct {
        const char *cwd, *path, *absolute, *dirname, *basename;
    } cases[] = {
        { "/a/b", "c", "/a/b/c", ".", "c" },
        { "/a/b", "./c", "/a/b/c", ".", "c" },
        { "/a/b", ".//./c/d", "/a/b/c/d", ".//./c", "d" },
        { "/a/b", "../c", "/a/b/../c", "..", "c" },
        { "/a/b", "/c", "/c", "/", "c" },
        { "/", "c", "/c", ".", "c" },
        { "/a", ".", "/a", ".", "." },
        { "/a", "./", "/a", ".", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *s = util_absolute(cases[i].cwd, cases[i].path);

        assert_string_equal(s, cases[i].absolute);
        free(s);
        s = util_dirname(cases[i].path);
        assert_string_equal(s, cases[i].dirname);
        free(s);
        assert_string_equal(util_basename(cases[i].path), cases[i].basename);
    }
}

// ---- The summary ----

static void prints(const struct spool_header *h, const uint64_t *counts, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    finish_summary_print(f, h, counts);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

static void test_summary(void **state)
{
    struct spool_header h = { .pid = 4619, .flags = SPOOL_F_CACHE_SIM | SPOOL_F_BRANCH_SIM };
    const uint64_t counts[FINISH_EVENTS] = { 171942, 1277, 1257,  34363, 1160, 1009, 13045,
                                             377,    351,  33469, 3695,  741,  167 };
    // A program that misses often, with other caches.
    const uint64_t small[FINISH_EVENTS] = { 171942, 6491, 5989, 34363, 10633, 8916, 13045,
                                            2424,   1819, 0,    0,     0,     0 };

    (void)state;
    prints(&h, counts,
           "==4619== I   refs:      171,942\n"
           "==4619== I1  misses:      1,277\n"
           "==4619== LLi misses:      1,257\n"
           "==4619== I1  miss rate:    0.74%\n"
           "==4619== LLi miss rate:    0.73%\n"
           "==4619== \n"
           "==4619== D   refs:       47,408  (34,363 rd   + 13,045 wr)\n"
           "==4619== D1  misses:      1,537  ( 1,160 rd   +    377 wr)\n"
           "==4619== LLd misses:      1,360  ( 1,009 rd   +    351 wr)\n"
           "==4619== D1  miss rate:     3.2% (   3.4%     +    2.9%  )\n"
           "==4619== LLd miss rate:     2.9% (   2.9%     +    2.7%  )\n"
           "==4619== \n"
           "==4619== LL refs:         2,814  ( 2,437 rd   +    377 wr)\n"
           "==4619== LL misses:       2,617  ( 2,266 rd   +    351 wr)\n"
           "==4619== LL miss rate:      1.2% (   1.1%     +    2.7%  )\n"
           "==4619== \n"
           "==4619== Branches:       34,210  (33,469 cond +    741 ind)\n"
           "==4619== Mispredicts:     3,862  ( 3,695 cond +    167 ind)\n"
           "==4619== Mispred rate:     11.3% (  11.0%     +   22.5%   )\n");
    h.flags = SPOOL_F_CACHE_SIM;
    h.pid = 8064;
    prints(&h, small,
           "==8064== I   refs:      171,942\n"
           "==8064== I1  misses:      6,491\n"
           "==8064== LLi misses:      5,989\n"
           "==8064== I1  miss rate:    3.78%\n"
           "==8064== LLi miss rate:    3.48%\n"
           "==8064== \n"
           "==8064== D   refs:       47,408  (34,363 rd   + 13,045 wr)\n"
           "==8064== D1  misses:     13,057  (10,633 rd   +  2,424 wr)\n"
           "==8064== LLd misses:     10,735  ( 8,916 rd   +  1,819 wr)\n"
           "==8064== D1  miss rate:    27.5% (  30.9%     +   18.6%  )\n"
           "==8064== LLd miss rate:    22.6% (  25.9%     +   13.9%  )\n"
           "==8064== \n"
           "==8064== LL refs:        19,548  (17,124 rd   +  2,424 wr)\n"
           "==8064== LL misses:      16,724  (14,905 rd   +  1,819 wr)\n"
           "==8064== LL miss rate:      7.6% (   7.2%     +   13.9%  )\n");
}

static void test_summary_without_caches(void **state)
{
    struct spool_header h = { .pid = 5564, .flags = SPOOL_F_BRANCH_SIM };
    const uint64_t counts[FINISH_EVENTS] = {
        171968, 0, 0, 0, 0, 0, 0, 0, 0, 33471, 3694, 741, 167
    };

    (void)state;
    prints(&h, counts,
           "==5564== I   refs:      171,968\n"
           "==5564== \n"
           "==5564== Branches:       34,212  (33,471 cond + 741 ind)\n"
           "==5564== Mispredicts:     3,861  ( 3,694 cond + 167 ind)\n"
           "==5564== Mispred rate:     11.3% (  11.0%     + 22.5%   )\n");
    h.flags = 0;
    prints(&h, counts, "==5564== I   refs:      171,968\n");
}

static void test_summary_of_next_to_nothing(void **state)
{
    struct spool_header h = { .pid = 1, .flags = SPOOL_F_CACHE_SIM };
    const uint64_t counts[FINISH_EVENTS] = { 3, 1, 1 };

    (void)state;
    // DIFFERS: the last line; Cachegrind prints 25.0% (it divides by 4).
    prints(&h, counts,
           "==1== I   refs:      3\n"
           "==1== I1  misses:    1\n"
           "==1== LLi misses:    1\n"
           "==1== I1  miss rate: 33.33%\n"
           "==1== LLi miss rate: 33.33%\n"
           "==1== \n"
           "==1== D   refs:      0  (0 rd   + 0 wr)\n"
           "==1== D1  misses:    0  (0 rd   + 0 wr)\n"
           "==1== LLd misses:    0  (0 rd   + 0 wr)\n"
           "==1== D1  miss rate: 0.0% (0.0%     + 0.0%  )\n"
           "==1== LLd miss rate: 0.0% (0.0%     + 0.0%  )\n"
           "==1== \n"
           "==1== LL refs:       1  (1 rd   + 0 wr)\n"
           "==1== LL misses:     1  (1 rd   + 0 wr)\n"
           "==1== LL miss rate:  33.3% (33.3%     + 0.0%  )\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_cache_parse),
        cmocka_unit_test(test_cache_fit),
        cmocka_unit_test(test_cache_detect),
        cmocka_unit_test(test_commas),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_summary_without_caches),
        cmocka_unit_test(test_summary_of_next_to_nothing),
    };

    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
