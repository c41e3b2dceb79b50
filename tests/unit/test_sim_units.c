// SPDX-License-Identifier: MIT
//
// sim/units.c: ports, paths, buffers, units and tables of keys, asked out of the order of time. By
// hand.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/units.h"

static void test_ports(void **state)
{
    static struct units_ports p;

    (void)state;
    assert_int_equal(units_port(&p, 10, 3), 10); // port 0
    assert_int_equal(units_port(&p, 10, 1), 11);
    assert_int_equal(units_port(&p, 10, 3), 10); // port 1
    assert_int_equal(units_port(&p, 10, 3), 11); // port 1: port 0 is taken
    assert_int_equal(units_port(&p, 10, 3), 12);
    assert_int_equal(units_port(&p, 5, 3), 5); // an earlier cycle
    assert_int_equal(units_port(&p, 10, 0), 10);
    // a cycle in the place of a later one: the later one is kept
    assert_int_equal(units_port(&p, 5 + UNITS_CYCLES, 1), 5 + UNITS_CYCLES);
    assert_int_equal(units_port(&p, 5, 1), 5);
    assert_int_equal(units_port(&p, 5, 1), 5);
    assert_int_equal(units_port(&p, 5 + UNITS_CYCLES, 1), 6 + UNITS_CYCLES);
}

static void test_path(void **state)
{
    static struct units_path p;

    (void)state;
    assert_int_equal(units_path(&p, 4, 9), 9); // 8 to 11
    assert_int_equal(units_path(&p, 4, 9), 12);
    assert_int_equal(units_path(&p, 4, 8), 16);
    assert_int_equal(units_path(&p, 4, 5), 5); // before them
    assert_int_equal(units_path(&p, 4, 5), 20);
}

// More lines wait than the ring has slots: each still takes its own cycles. Some are requested when
// the path is free, and in the middle of the queue.
static void test_queue(void **state)
{
    static struct units_path p;
    const uint64_t lines = 5 * UNITS_LINES;

    (void)state;
    assert_int_equal(units_path(&p, 4, 4 * 2000), 4 * 2000);
    for (uint64_t i = 0; i < lines; i++)
        assert_int_equal(units_path(&p, 4, 1000), 4 * (250 + i + (i >= 1750)));
    assert_int_equal(units_path(&p, 4, 4 * 300 + 1), 4 * (250 + lines + 1));
    assert_int_equal(units_path(&p, 4, 4 * (250 + lines + 9)), 4 * (250 + lines + 9));
    assert_int_equal(units_path(&p, 4, 1000), 4 * (250 + lines + 2));
}

static void test_buffers(void **state)
{
    static struct units_buffers b;

    (void)state;
    assert_int_equal(units_buffer_free(&b, 2, 10), 10);
    units_buffer_take(&b, 10, 30);
    assert_int_equal(units_buffer_free(&b, 2, 10), 10);
    units_buffer_take(&b, 20, 40);
    assert_int_equal(units_buffer_free(&b, 2, 10), 10); // one is taken
    assert_int_equal(units_buffer_free(&b, 2, 20), 30);
    assert_int_equal(units_buffer_free(&b, 2, 30), 30);
    assert_int_equal(units_buffer_free(&b, 1, 5), 5);
    assert_int_equal(units_buffer_free(&b, 1, 10), 40);
}

// The same by its definition: of the last UNITS_BUFFERS intervals.
static uint64_t free_by_search(const uint64_t (*taken)[2], uint32_t n, uint32_t most, uint64_t t)
{
    for (;;) {
        uint64_t first = UINT64_MAX;
        uint32_t count = 0;

        for (uint32_t i = n > UNITS_BUFFERS ? n - UNITS_BUFFERS : 0; i < n; i++) {
            if (taken[i][0] > t || taken[i][1] <= t)
                continue;
            count++;
            first = taken[i][1] < first ? taken[i][1] : first;
        }
        if (count < most)
            return t;
        t = first;
    }
}

// More intervals than it keeps, not in the order of time, some empty, many with the same end.
static void test_buffers_replaced(void **state)
{
    static struct units_buffers b;
    static uint64_t taken[2000][2];
    uint32_t r = 1;

    (void)state;
    for (uint32_t n = 0; n < 2000; n++) {
        uint64_t t = n * 3;

        r = r * 1103515245 + 12345;
        taken[n][0] = t + r % 64;
        taken[n][1] = n % 50 == 0 ? 0 : taken[n][0] + (r >> 16) % 200;
        units_buffer_take(&b, taken[n][0], taken[n][1]);
        for (uint64_t at = t > 100 ? t - 100 : 0; at < t + 300; at += 23) {
            uint32_t most = 1 + (r >> 8) % 40;

            assert_int_equal(units_buffer_free(&b, most, at),
                             free_by_search(taken, n + 1, most, at));
        }
    }
}

static void test_first(void **state)
{
    uint64_t unit[2] = { 0 };

    (void)state;
    assert_int_equal(units_first(unit, 2, 5, 10), 5);
    assert_int_equal(units_first(unit, 2, 6, 20), 6);
    assert_int_equal(units_first(unit, 2, 7, 1), 15); // the first of them
    assert_int_equal(units_first(unit, 2, 30, 1), 30);
}

static void test_known(void **state)
{
    static uint32_t keys[3 * UNITS_WAYS];

    (void)state;
    for (uint32_t k = 1; k <= UNITS_WAYS; k++)
        assert_false(units_known(keys, 2, k, 3));
    for (uint32_t k = 1; k <= UNITS_WAYS; k++)
        assert_true(units_known(keys, 2, k, 3));
    assert_true(units_known(keys, 2, 1, 3)); // now 2 is the oldest
    assert_false(units_known(keys, 2, 9, 3));
    assert_true(units_known(keys, 2, 1, 3));
    assert_false(units_known(keys, 2, 2, 3));
    assert_false(units_known(keys, 2, 1, 2)); // the other set
    // Three sets: the remainder says which.
    memset(keys, 0, sizeof(keys));
    for (uint32_t i = 0; i < 300; i++)
        assert_false(units_known(keys, 3, i + 1, i));
    for (uint32_t i = 300 - 3 * UNITS_WAYS; i < 300; i++)
        assert_true(units_known(keys, 3, i + 1, i % 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_buffers_replaced),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
