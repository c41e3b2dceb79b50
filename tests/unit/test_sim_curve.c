// SPDX-License-Identifier: MIT
//
// sim/curve.c: by hand; against a list in order of use, and against caches of each size that are
// simulated one by one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/curve.h"

static struct sim_curve make(uint32_t max, uint32_t rate, bool adapts)
{
    struct sim_curve c;

    sim_curve_init_zeroed(&c, max, rate, adapts, calloc(1, sim_curve_bytes(max)));
    return c;
}

static void drop(struct sim_curve *c)
{
    free(c->at);
}

static void test_by_hand(void **state)
{
    struct sim_curve c = make(16, 0, false);

    (void)state;
    assert_int_equal(sim_curve_bytes(16) % 8, 0);
    assert_int_equal(sim_curve_use(&c, 0), SIM_CURVE_FAR);
    assert_int_equal(sim_curve_use(&c, 0), 0);
    assert_int_equal(sim_curve_use(&c, 7), SIM_CURVE_FAR);
    assert_int_equal(sim_curve_use(&c, 8), SIM_CURVE_FAR); // 8 7 0
    assert_int_equal(sim_curve_use(&c, 0), 2);             // 0 8 7
    assert_int_equal(sim_curve_use(&c, 8), 1);             // 8 0 7
    assert_int_equal(sim_curve_use(&c, 8), 0);
    assert_int_equal(sim_curve_use(&c, 7), 2); // 7 8 0
    assert_int_equal(sim_curve_use(&c, 0), 2);
    drop(&c);
}

// A line that is 16 others down is no longer known, whether it was dropped already or not.
static void test_bound(void **state)
{
    struct sim_curve c = make(16, 0, false);

    (void)state;
    for (uint64_t i = 0; i < 16; i++)
        assert_int_equal(sim_curve_use(&c, i), SIM_CURVE_FAR);
    for (uint64_t i = 0; i < 1600; i++)
        assert_int_equal(sim_curve_use(&c, i % 16), 15);
    assert_int_equal(sim_curve_use(&c, 100), SIM_CURVE_FAR);
    for (uint64_t i = 0; i < 1600; i++)
        assert_int_equal(sim_curve_use(&c, i % 16), i < 16 ? SIM_CURVE_FAR : 15);
    drop(&c);
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

// Lines of which some are used much more often than others, in runs.
static uint64_t pattern(uint64_t *seed, uint64_t *line, uint32_t lines)
{
    uint64_t r = next(seed);

    switch (r % 4) {
    case 0: *line = next(seed) % lines; break;
    case 1: *line = next(seed) % (1 + next(seed) % lines); break;
    default: *line = (*line + 1) % lines;
    }
    return *line * 3; // not all lines exist
}

struct list {
    uint64_t line[4096]; // the last one used first
    uint32_t n;
};

static uint32_t list_use(struct list *l, uint64_t line)
{
    uint32_t i = 0;
    bool known;

    while (i < l->n && l->line[i] != line)
        i++;
    known = i < l->n;
    l->n += !known;
    memmove(l->line + 1, l->line, i * sizeof(l->line[0]));
    l->line[0] = line;
    return known ? i : SIM_CURVE_FAR;
}

static void against_list(uint32_t max, uint32_t lines, bool adapts)
{
    static struct list l;
    struct sim_curve c = make(max, 0, adapts);
    uint64_t seed = max + lines, line = 0;

    l.n = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t used = pattern(&seed, &line, lines);
        uint32_t expected = list_use(&l, used);

        if (expected != SIM_CURVE_FAR && expected >= max)
            expected = SIM_CURVE_FAR;
        assert_int_equal(sim_curve_use(&c, used), expected);
    }
    assert_int_equal(c.rate, 0);
    drop(&c);
}

static void test_list(void **state)
{
    (void)state;
    against_list(16, 10, false);
    against_list(16, 50, false);
    against_list(64, 64, true);
    against_list(64, 300, false);
    against_list(1024, 1000, true); // three levels of sums
    against_list(1024, 3000, false);
}

#define CACHE_LINES 6 // 2, 3, 4, 6, 8 and 12 lines, one after the other in sim_curve_size()

// With lines of 2 KiB, 4 KiB are two lines. Each cache is a list that is cut to its lines.
static void test_caches(void **state)
{
    static struct list cache[CACHE_LINES];
    uint64_t misses[CACHE_LINES] = { 0 }, told[CACHE_LINES] = { 0 }, seed = 1, line = 0;
    struct sim_curve c = make(64, 0, true);

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t used = pattern(&seed, &line, 20);
        uint32_t distance = sim_curve_use(&c, used);
        uint32_t fits = distance == SIM_CURVE_FAR ? SIM_CURVE_SIZES : sim_curve_fits(distance, 11);

        for (uint32_t k = 0; k < CACHE_LINES; k++) {
            uint32_t lines = (uint32_t)(sim_curve_size(k) >> 11);

            misses[k] += list_use(&cache[k], used) == SIM_CURVE_FAR;
            if (cache[k].n > lines)
                cache[k].n = lines;
            told[k] += k < fits;
        }
    }
    for (uint32_t k = 0; k < CACHE_LINES; k++)
        assert_int_equal(told[k], misses[k]);
    assert_true(misses[0] > misses[5]);
    drop(&c);
}

// Of each aligned group of 2^rate lines one, wherever the groups are.
static void test_sample(void **state)
{
    static const uint64_t from[] = { 0, 0x7fff00000, 0x155550000 };

    (void)state;
    for (uint32_t rate = 0; rate <= 12; rate++) {
        uint64_t group = UINT64_C(1) << rate;

        for (size_t k = 0; k < sizeof(from) / sizeof(*from); k++) {
            for (uint64_t g = 0; g < 0x10000; g += group) {
                uint32_t n = 0;

                for (uint64_t i = 0; i < group; i++) {
                    uint64_t line = from[k] + g + i;

                    n += sim_curve_samples(line, rate);
                    if (rate && sim_curve_samples(line, rate))
                        assert_true(sim_curve_samples(line, rate - 1));
                }
                assert_int_equal(n, 1);
            }
        }
    }
}

// Lines 16 apart: which of the groups' lines is in the sample must not repeat itself.
static void test_sample_strides(void **state)
{
    (void)state;
    for (uint64_t stride = 16; stride <= 1024; stride *= 2) {
        uint32_t n = 0;

        for (uint64_t i = 0; i < 32768; i++)
            n += sim_curve_samples(i * stride + 5, 5);
        assert_in_range(n, 1024 - 128, 1024 + 128); // four times the deviation of a random choice
    }
}

// 1000 lines in a loop: of at most 64 one in 16 remains, and between two uses of a line there are
// as many of the others as are in the sample.
static void test_adapts(void **state)
{
    struct sim_curve c = make(64, 0, true);
    uint32_t sample = 0;

    (void)state;
    for (int round = 0; round < 10; round++) {
        for (uint64_t line = 0; line < 1000; line++) {
            uint32_t distance;

            if (!sim_curve_samples(line, c.rate))
                continue;
            distance = sim_curve_use(&c, line);
            if (round < 2)
                continue;
            assert_int_equal(c.rate, 4);
            sample += round == 2;
            assert_in_range(distance, 61, 62);
        }
    }
    assert_int_equal(sample, 63); // 62 groups of 16, and in the last 8 lines one
    drop(&c);
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(sim_curve_size(0), 4096);
    assert_int_equal(sim_curve_size(1), 6144);
    assert_int_equal(sim_curve_size(2), 8192);
    assert_int_equal(sim_curve_size(6), 32768);
    assert_int_equal(sim_curve_size(7), 49152);
    assert_int_equal(sim_curve_size(36), 1 << 30);
    assert_int_equal(sim_curve_fits(0, 6), 0);
    assert_int_equal(sim_curve_fits(63, 6), 0);
    assert_int_equal(sim_curve_fits(64, 6), 1);
    assert_int_equal(sim_curve_fits(95, 6), 1);
    assert_int_equal(sim_curve_fits(96, 6), 2);
    assert_int_equal(sim_curve_fits(0xffffff, 6), 36);
    assert_int_equal(sim_curve_fits(0x1000000, 6), SIM_CURVE_SIZES);
    assert_int_equal(sim_curve_fits(UINT64_C(1) << 40, 6), SIM_CURVE_SIZES);
    for (uint32_t shift = 4; shift < 12; shift++) {
        for (uint32_t i = 0; i < SIM_CURVE_SIZES; i++) {
            uint64_t lines = sim_curve_size(i) >> shift;

            assert_int_equal(sim_curve_fits(lines - 1, shift), i);
            assert_int_equal(sim_curve_fits(lines, shift), i + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_list),    cmocka_unit_test(test_caches),
        cmocka_unit_test(test_sample),  cmocka_unit_test(test_sample_strides),
        cmocka_unit_test(test_adapts),  cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
