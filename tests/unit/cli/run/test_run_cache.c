// SPDX-License-Identifier: MIT
//
// Cache geometries: as options give them, as a processor says they are, as they can be simulated.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/run.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_parse),
        cmocka_unit_test(test_cache_fit),
        cmocka_unit_test(test_cache_detect),
    };

    return cmocka_run_group_tests_name("run_cache", tests, NULL, NULL);
}
