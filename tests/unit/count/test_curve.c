// SPDX-License-Identifier: MIT
// engine/count/curve.c: what a reference counts, for which series and sizes; each thread's own
// stacks, and one of LL; how the number of lines grows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/count/curve.h"
#include "engine/spool/spooler.h"

#define WEIGHT (1u << CURVE_RATE)

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static struct thread one, two;
static u64 counted[2][10 + SPOOL_CURVE_COUNTERS];
static u64 *counts;    // of the thread to be looked at
static u64 line[4096]; // of the sample, and also of that of the stack for large sizes

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void *heap_large(u64 bytes)
{
    u64 size = PAGE_UP(bytes);

    return memset(aligned_alloc(4096, size), 0, size); // pages of its own
}

u32 spooler_counters(u32 n)
{
    assert_int_equal(n, SPOOL_CURVE_COUNTERS);
    return 10;
}

static void begin(u64 flags)
{
    u32 n = 0;

    tb_config = (struct tb_config){ .curve = true, .d1_shift = 6, .i1_shift = 6 };
    header = (struct spool_header){
        .flags = flags, .i1.line = 64, .d1.line = 64, .ll.line = 64, .curve.on = 1
    };
    one = (struct thread){ .misses = counted[0], .curve = one.curve };
    two = (struct thread){ .misses = counted[1], .curve = two.curve };
    memset(counted, 0, sizeof(counted));
    counts = counted[0];
    for (u64 i = 0; n < 4096; i++)
        if (sim_curve_samples(i, 8))
            line[n++] = i;
    curve_init();
    curve_thread_init(&one);
    curve_thread_init(&two);
}

// The references of a series that hit caches of this size and larger ones alone.
static u64 told(u32 series, u32 stack, u32 size)
{
    return counts[10 + spool_curve_counter(series, stack, size)];
}

static u64 all(void)
{
    u64 n = 0;

    for (u32 i = 0; i < 10 + SPOOL_CURVE_COUNTERS; i++)
        n += counts[i];
    return n;
}

static void load(u64 n)
{
    curve_data(&one, n * 64 + 8, 8, false);
}

static void test_off(void **state)
{
    struct thread none = { .curve = NULL };

    (void)state;
    tb_config = (struct tb_config){ .curve = false };
    curve_init();
    curve_thread_init(&none);
    assert_null(none.curve);
    assert_false(curve_samples(line[0]));
}

// 2 others of the sample, each for 32 lines: 64 lines or more, so 4 KiB miss and 6 KiB hit.
static void test_sizes(void **state)
{
    (void)state;
    begin(0);
    load(line[0]);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), WEIGHT);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_LARGE, SIM_CURVE_SIZES), 256);
    load(line[0]);
    load(line[1]);
    load(line[0]); // of the sample for large sizes: 256 lines, 16 KiB
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_LARGE, 5), 256);
    assert_int_equal(all(), 2 * (WEIGHT + 256) + 256);
    load(line[2]);
    load(line[1]);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, 1), WEIGHT);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_LARGE, 7), 256); // 512 lines: 32 KiB miss
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), 3 * WEIGHT);
}

static void test_others(void **state)
{
    u64 n = 0;

    (void)state;
    begin(0);
    while (curve_samples(n))
        n++;
    load(n);
    curve_fetch(&one, n * 64, 4);
    curve_data_missed(&one, n * 64, 4, true);
    assert_int_equal(all(), 0);
    // the first byte is in a line that is not in the sample
    while (curve_samples(n) || !curve_samples(n + 1))
        n++;
    curve_data(&one, n * 64 + 60, 4, true);
    assert_int_equal(all(), 0);
    curve_data(&one, n * 64 + 60, 5, true);
    assert_int_equal(told(SPOOL_CURVE_WRITE, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), WEIGHT);
}

static void test_series(void **state)
{
    (void)state;
    begin(0);
    curve_data(&one, line[0] * 64, 4, true);
    assert_int_equal(told(SPOOL_CURVE_WRITE, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), WEIGHT);
    curve_fetch(&one, line[0] * 64, 4); // a stack of its own
    assert_int_equal(told(SPOOL_CURVE_FETCH, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), WEIGHT);
    curve_data_missed(&one, line[0] * 64, 4, false);
    assert_int_equal(told(SPOOL_CURVE_LL + SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES),
                     WEIGHT);
    curve_fetch_missed(&one, line[1] * 64, 4);
    assert_int_equal(told(SPOOL_CURVE_LL + SPOOL_CURVE_FETCH, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES),
                     WEIGHT);
    curve_data_missed(&one, line[2] * 64, 4, false);
    curve_data_missed(&one, line[0] * 64, 4, true); // LL is of code and data
    assert_int_equal(told(SPOOL_CURVE_LL + SPOOL_CURVE_WRITE, SPOOL_CURVE_SMALL, 1), WEIGHT);
}

static void test_threads(void **state)
{
    (void)state;
    begin(0);
    load(line[0]);
    curve_data(&two, line[0] * 64, 4, false);
    counts = counted[1];
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), WEIGHT);
    curve_data_missed(&one, line[0] * 64, 4, false);
    curve_data_missed(&two, line[1] * 64, 4, false);
    curve_data_missed(&two, line[2] * 64, 4, false);
    curve_data_missed(&two, line[0] * 64, 4, false); // LL has it, after two others
    assert_int_equal(told(SPOOL_CURVE_LL, SPOOL_CURVE_SMALL, 1), WEIGHT);
    // another thread in the slot
    curve_thread_init(&two);
    curve_data(&two, line[0] * 64, 4, false);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), 2 * WEIGHT);
}

// In time, as estimated from the sample: each reference to it is WEIGHT.
static void test_growth(void **state)
{
    const struct spool_curve *c = &header.curve;
    u64 each = SPOOL_CURVE_INTERVAL / WEIGHT;

    (void)state;
    begin(0);
    assert_int_equal(c->interval, SPOOL_CURVE_INTERVAL);
    for (u64 i = 0; i < each; i++)
        load(line[0]);
    curve_data_missed(&one, line[0] * 64, 4, false); // the first of interval 1
    assert_int_equal(c->refs, SPOOL_CURVE_INTERVAL);
    curve_fetch_missed(&one, line[1] * 64, 4);
    assert_int_equal(c->lines[0][0], 0);
    assert_int_equal(c->lines[0][1], WEIGHT);
    assert_int_equal(c->lines[1][1], WEIGHT);
    curve_data_missed(&one, line[0] * 64, 4, false); // is not new
    assert_int_equal(c->lines[0][1], WEIGHT);
    for (u64 i = 0; i < each * (SPOOL_CURVE_POINTS - 1); i++)
        load(line[0]);
    curve_data_missed(&one, line[2] * 64, 4, false); // interval 512 becomes 256
    assert_int_equal(c->interval, 2 * SPOOL_CURVE_INTERVAL);
    assert_int_equal(c->lines[0][0], WEIGHT);
    assert_int_equal(c->lines[0][1], 0);
    assert_int_equal(c->lines[0][256], 2 * WEIGHT);
    assert_int_equal(c->lines[1][256], WEIGHT);
    assert_int_equal(c->lines[0][257], 0);
}

static void test_lines(void **state)
{
    (void)state;
    begin(0);
    assert_true(curve_lines_agree());
    header.ll.line = 128;
    assert_false(curve_lines_agree());
}

// The last one: all later threads have the first one's.
static void test_serial(void **state)
{
    (void)state;
    begin(SPOOL_F_SERIALIZE);
    load(line[0]);
    curve_data(&two, line[1] * 64, 4, false);
    curve_data(&two, line[2] * 64, 4, false);
    curve_data(&two, line[0] * 64, 4, false);
    counts = counted[1];
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, SIM_CURVE_SIZES), 2 * WEIGHT);
    assert_int_equal(told(SPOOL_CURVE_READ, SPOOL_CURVE_SMALL, 1), WEIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_others),  cmocka_unit_test(test_series),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_growth),
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_serial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
