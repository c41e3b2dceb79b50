// SPDX-License-Identifier: MIT
//
// Cache geometries: from options, from CPUID, and as they can be simulated.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "machines.h"

static void test_cache_parse(void **state)
{
    struct spool_geometry g;
    char err[256];

    (void)state;
    assert_true(run_cache_parse("32768,8,64", false, &g, err, sizeof(err)));
    assert_int_equal(g.size, 32768);
    assert_int_equal(g.assoc, 8);
    assert_int_equal(g.line, 64);
    assert_true(run_cache_parse("2147483648,16,64", false, &g, err, sizeof(err)));
    assert_false(run_cache_parse("4294967296,16,64", false, &g, err, sizeof(err)));
    assert_string_equal(err, "the size \"4294967296\" is not a number from 1 to 4294967295");
    assert_false(run_cache_parse("32768,,64", false, &g, err, sizeof(err)));
    assert_string_equal(err,
                        "the associativity is missing; SIZE,ASSOCIATIVITY,LINESIZE is wanted, for "
                        "example 32768,8,64");
}

static void test_cache_fit(void **state)
{
    // The last level of an EPYC by CPUID: 480 MB, 16-way: 491520 sets.
    struct spool_geometry ll = { 503316480, 16, 64 };
    struct spool_geometry good = { 32768, 8, 64 };
    struct spool_geometry line = { 503316480, 16, 48 };
    char *said;

    (void)state;
    assert_null(run_cache_fit(&good, false, "I1"));
    assert_int_equal(good.size, 32768);
    assert_null(run_cache_fit(&ll, true, "LL"));
    assert_int_equal(ll.size, 503316480);
    assert_int_equal(ll.assoc, 16);
    said = run_cache_fit(&ll, false, "D1"); // of a first level it is the number of sets
    assert_non_null(said);
    assert_int_equal(ll.size, 503316480);
    assert_int_equal(ll.assoc, 15);
    assert_int_equal(ll.line, 64);
    assert_non_null(
        strstr(said, "D1 cache of 503,316,480 B, 16-way, 64 B lines cannot be simulated: "));
    assert_non_null(strstr(said, "; simulating 503,316,480 B, 15-way, 64 B lines"));
    free(said);
    said = run_cache_fit(&line, true, "LL");
    assert_non_null(said);
    assert_non_null(strstr(said, "the line size must be a power of two; simulating "));
    free(said);
}

static void test_cache_parse_last(void **state)
{
    struct spool_geometry g;
    char err[256];

    (void)state;
    assert_true(run_cache_parse("37748736,12,64", true, &g, err, sizeof(err))); // 3 * 2^14 sets
    assert_int_equal(g.size, 37748736);
    assert_false(run_cache_parse("37748736,12,64", false, &g, err, sizeof(err)));
    assert_non_null(strstr(err, "the number of sets"));
    assert_false(run_cache_parse("37748736,12,63", true, &g, err, sizeof(err)));
    assert_non_null(strstr(err, "the line size must be a power of two"));
}

static void test_cache_detect(void **state)
{
    struct run_caches all = { { { 32768, 8, 64 }, true },
                              { { 16384, 4, 64 }, true },
                              { { 1048576, 16, 64 }, true },
                              NULL,
                              0,
                              NULL };
    struct run_caches none = { 0 };
    char *said;

    (void)state;
    machine = &emerald;
    run_cache_detect(&all);
    assert_int_equal(all.d1.g.size, 16384);
    said = run_cache_sentence(&all);
    assert_string_equal(
        said, "Caches: I1 32,768 B, 8-way, 64 B lines (given); D1 16,384 B, 4-way, 64 B lines "
              "(given); LL 1,048,576 B, 16-way, 64 B lines (given)");
    free(said);
    run_cache_detect(&none);
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

// The caches that one core of each processor can use, and the leaf that describes them.
static void test_cache_machines(void **state)
{
    static const struct {
        const struct processor *on;
        struct spool_geometry i1, d1, ll;
        unsigned level;
        const char *source;
    } machines[] = {
        { &thuban,
          { 65536, 2, 64 },
          { 65536, 2, 64 },
          { 6291456, 48, 64 },
          3,
          "CPUID leaves 0x80000005 and 0x80000006" },
        { &vermeer,
          { 32768, 8, 64 },
          { 32768, 8, 64 },
          { 33554432, 16, 64 },
          3,
          "CPUID leaf 0x8000001d" },
        { &raphael,
          { 32768, 8, 64 },
          { 32768, 8, 64 },
          { 33554432, 16, 64 },
          3,
          "CPUID leaf 0x8000001d" },
        { &emerald, { 32768, 8, 64 }, { 49152, 12, 64 }, { 314572800, 20, 64 }, 3, "CPUID leaf 4" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        struct run_caches c = { 0 };

        machine = machines[i].on;
        run_cache_detect(&c);
        assert_string_equal(c.source, machines[i].source);
        assert_memory_equal(&c.i1.g, &machines[i].i1, sizeof(c.i1.g));
        assert_memory_equal(&c.d1.g, &machines[i].d1, sizeof(c.d1.g));
        assert_memory_equal(&c.ll.g, &machines[i].ll, sizeof(c.ll.g));
        assert_int_equal(c.ll_level, machines[i].level);
    }
}

// A third level without a size, or without associativity, does not count: the second is the last.
static void test_cache_without_a_third(void **state)
{
    static const uint32_t none[] = { 0x0000b140, 0x00300140, 0 };
    static const struct spool_geometry second = { 524288, 16, 64 };

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        struct processor without = thuban;
        struct run_caches c = { 0 };

        for (size_t k = 0; k < sizeof(without.leaf) / sizeof(*without.leaf); k++)
            if (without.leaf[k].leaf == 0x80000006)
                without.leaf[k].d = none[i];
        machine = &without;
        run_cache_detect(&c);
        assert_memory_equal(&c.ll.g, &second, sizeof(second));
        assert_int_equal(c.ll_level, 2);
    }
    machine = &thuban;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_parse),    cmocka_unit_test(test_cache_parse_last),
        cmocka_unit_test(test_cache_fit),      cmocka_unit_test(test_cache_detect),
        cmocka_unit_test(test_cache_machines), cmocka_unit_test(test_cache_without_a_third),
    };

    return cmocka_run_group_tests_name("run_cache", tests, NULL, NULL);
}
