// SPDX-License-Identifier: MIT
// engine/replay/autotune.c: who replays, for buffers whose times the test makes up. Expected
// numbers follow from autotune.c: 24 buffers, 10 that are timed by twos, 2 or 8 between, 10 of the
// other way, or 4 if those show that the thread itself is slower.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/replay/autotune.h"

static struct autotune p;
static u64 now;
static bool here; // how the last buffer was replayed

// n buffers, with the time that each takes in either way; returns how many were replayed here.
static u32 buffers(u32 n, u64 beside_takes, u64 here_takes)
{
    u32 count = 0;

    for (u32 i = 0; i < n; i++) {
        now += here ? here_takes : beside_takes;
        here = autotune_is_here(&p, now);
        count += here;
    }
    return count;
}

static int setup(void **state)
{
    (void)state;
    autotune_init(&p, false);
    now = 5000000000;
    here = false;
    return 0;
}

// The other way is tried for 2 + 4 buffers, each time after twice as many, at most 384.
static void test_beside_is_faster(void **state)
{
    (void)state;
    assert_int_equal(buffers(24 + 9, 100, 200), 0);
    assert_int_equal(buffers(6, 100, 200), 6);
    assert_int_equal(buffers(1 + 48 + 9, 100, 200), 0);
    assert_int_equal(buffers(6, 100, 200), 6);
    assert_int_equal(buffers(1 + 96 + 9, 100, 200), 0);
    assert_int_equal(buffers(6, 100, 200), 6);
    assert_int_equal(buffers(1 + 192 + 9, 100, 200), 0);
    buffers(6 + 384 + 10, 100, 200);
    assert_int_equal(buffers(6, 100, 200), 6);
    assert_int_equal(buffers(1 + 384 + 9, 100, 200), 0);
    assert_int_equal(buffers(6, 100, 200), 6);
}

// Then handing over is tried for 8 + 10.
static void test_here_is_faster(void **state)
{
    (void)state;
    buffers(24 + 9, 200, 100);
    assert_int_equal(buffers(12 + 1 + 24 + 9, 200, 100), 12 + 1 + 24 + 9);
    assert_int_equal(buffers(18, 200, 100), 0);
    assert_int_equal(buffers(1 + 48 + 9, 200, 100), 1 + 48 + 9);
    assert_int_equal(buffers(18, 200, 100), 0);
    // where that has become faster it stays
    assert_int_equal(buffers(1 + 96 + 9, 100, 200), 1 + 96 + 9);
    assert_int_equal(buffers(18 + 1 + 24 + 9, 100, 200), 0);
    assert_int_equal(buffers(6, 100, 200), 6);
}

// Of 3 times 2 that count: 672 for 112 is less than 600 and an eighth, 678 for 113 is not.
static void test_an_eighth(void **state)
{
    (void)state;
    buffers(24 + 9 + 12, 100, 113);
    assert_int_equal(buffers(10, 100, 113), 0);
    setup(NULL);
    buffers(24 + 9 + 12, 100, 112);
    assert_int_equal(buffers(10, 100, 112), 10);
}

// Back it goes for three sixteenths: 504 and 94 are less than 600, 510 and 95 are not.
static void test_back(void **state)
{
    (void)state;
    buffers(24 + 9 + 12 + 1, 85, 95);
    assert_int_equal(buffers(24 + 9, 85, 100), 24 + 9);
    assert_int_equal(buffers(18, 85, 100), 0);
    assert_int_equal(buffers(10, 85, 100), 10);
    setup(NULL);
    buffers(24 + 9 + 12 + 1, 84, 94);
    assert_int_equal(buffers(24 + 9, 84, 100), 24 + 9);
    assert_int_equal(buffers(28, 84, 100), 0);
}

// Two of five times may be any: something else ran, or the program waited.
static void test_what_lasts_is_left_out(void **state)
{
    (void)state;
    buffers(24, 100, 90);
    buffers(1, 100, 90);
    buffers(1, 100000, 90);
    buffers(4, 100, 90);
    buffers(1, 70000, 90);
    buffers(2, 100, 90);
    assert_int_equal(buffers(1, 100, 90), 1);
    assert_int_equal(buffers(2, 100, 90), 2);
    assert_int_equal(buffers(1, 100, 60000), 1);
    assert_int_equal(buffers(4, 100, 90), 4);
    assert_int_equal(buffers(1, 100, 50000), 1);
    assert_int_equal(buffers(14, 100, 90), 14);
}

// The trial is over after four buffers only if both timings are too long.
static void test_early(void **state)
{
    (void)state;
    buffers(24 + 9, 100, 113);
    assert_int_equal(buffers(6, 100, 113), 6);
    assert_int_equal(buffers(1, 100, 113), 0);
    setup(NULL);
    buffers(24 + 9, 100, 113);
    buffers(4, 100, 113);
    assert_int_equal(buffers(1, 100, 113), 1);
    assert_int_equal(buffers(6, 100, 90), 6);
}

// Where the thread simulates beside the process it has to save an eighth to be left alone: 534 and
// an eighth are more than 600, 528 and 66 are less. And it is not left alone any more for anything.
static void test_shares(void **state)
{
    (void)state;
    autotune_init(&p, true);
    buffers(24 + 9, 100, 89);
    assert_int_equal(buffers(6, 100, 89), 6);
    assert_int_equal(buffers(1, 100, 89), 0);
    setup(NULL);
    autotune_init(&p, true);
    buffers(24 + 9 + 12, 100, 88);
    assert_int_equal(buffers(10, 100, 88), 10);
    setup(NULL);
    autotune_init(&p, true);
    buffers(24 + 9 + 12 + 1, 100, 88);
    assert_int_equal(buffers(24 + 9, 99, 100), 24 + 9);
    assert_int_equal(buffers(28, 99, 100), 0);
}

// A thread that waits until two buffers are empty waits long, then not at all.
static void test_by_twos(void **state)
{
    u32 n = 0;

    (void)state;
    for (u32 i = 0; i < 24 + 10 + 12; i++)
        n = buffers(1, i % 2 ? 200 : 0, 110);
    assert_int_equal(n, 1);
    assert_int_equal(buffers(20, 100, 110), 20);
    setup(NULL);
    for (u32 i = 0; i < 24 + 10 + 12; i++)
        n = buffers(1, i % 2 ? 200 : 0, 120);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_beside_is_faster, setup),
        cmocka_unit_test_setup(test_here_is_faster, setup),
        cmocka_unit_test_setup(test_an_eighth, setup),
        cmocka_unit_test_setup(test_back, setup),
        cmocka_unit_test_setup(test_what_lasts_is_left_out, setup),
        cmocka_unit_test_setup(test_by_twos, setup),
        cmocka_unit_test_setup(test_early, setup),
        cmocka_unit_test_setup(test_shares, setup),
    };

    return cmocka_run_group_tests_name("replay/autotune", tests, NULL, NULL);
}
