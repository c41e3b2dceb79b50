// SPDX-License-Identifier: MIT
// engine/replay/pace.c: who replays, for buffers whose times the test makes up. Expected numbers
// follow from pace.c: 24 buffers, 6 that are timed, 2 or 8 between, 6 of the other way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/replay/pace.h"

static struct pace p;
static u64 now;
static bool here; // how the last buffer was replayed

// n buffers that take so long, each with the way that was said for it; how many were replayed here.
static u32 buffers(u32 n, u64 beside_takes, u64 here_takes)
{
    u32 count = 0;

    for (u32 i = 0; i < n; i++) {
        now += here ? here_takes : beside_takes;
        here = pace_is_here(&p, now);
        count += here;
    }
    return count;
}

static int setup(void **state)
{
    (void)state;
    pace_init(&p);
    now = 5000000000;
    here = false;
    return 0;
}

// The other way is tried for 2 + 6 buffers, each time after twice as many, at most 1536.
static void test_beside_is_faster(void **state)
{
    (void)state;
    assert_int_equal(buffers(24 + 5, 100, 200), 0);
    assert_int_equal(buffers(8, 100, 200), 8);
    assert_int_equal(buffers(1 + 48 + 5, 100, 200), 0);
    assert_int_equal(buffers(8, 100, 200), 8);
    assert_int_equal(buffers(1 + 96 + 5, 100, 200), 0);
    assert_int_equal(buffers(8, 100, 200), 8);
    assert_int_equal(buffers(1 + 192 + 5, 100, 200), 0);
    buffers(8 + 384 + 6 + 8 + 768 + 6 + 8 + 1536 + 6, 100, 200);
    assert_int_equal(buffers(8, 100, 200), 8);
    assert_int_equal(buffers(1 + 1536 + 5, 100, 200), 0);
    assert_int_equal(buffers(8, 100, 200), 8);
}

// Then handing over is tried for 8 + 6.
static void test_here_is_faster(void **state)
{
    (void)state;
    buffers(24 + 5, 200, 100);
    assert_int_equal(buffers(8 + 1 + 24 + 5, 200, 100), 8 + 1 + 24 + 5);
    assert_int_equal(buffers(14, 200, 100), 0);
    assert_int_equal(buffers(1 + 48 + 5, 200, 100), 1 + 48 + 5);
    assert_int_equal(buffers(14, 200, 100), 0);
    // and where that has become faster it stays
    assert_int_equal(buffers(1 + 96 + 5, 100, 200), 1 + 96 + 5);
    assert_int_equal(buffers(14 + 1 + 24 + 5, 100, 200), 0);
    assert_int_equal(buffers(8, 100, 200), 8);
}

// Of 4 that count: 448 for 112 is less than 400 and an eighth, 452 for 113 is not.
static void test_an_eighth(void **state)
{
    (void)state;
    buffers(24 + 5 + 8, 100, 113);
    assert_int_equal(buffers(10, 100, 113), 0);
    setup(NULL);
    buffers(24 + 5 + 8, 100, 112);
    assert_int_equal(buffers(10, 100, 112), 10);
}

// Back it goes for three sixteenths: 336 and 63 are less than 400, 340 and 63 are not.
static void test_back(void **state)
{
    (void)state;
    buffers(24 + 5 + 8 + 1, 85, 95);
    assert_int_equal(buffers(24 + 5, 85, 100), 24 + 5);
    assert_int_equal(buffers(14, 85, 100), 0);
    assert_int_equal(buffers(10, 85, 100), 10);
    setup(NULL);
    buffers(24 + 5 + 8 + 1, 84, 94);
    assert_int_equal(buffers(24 + 5, 84, 100), 24 + 5);
    assert_int_equal(buffers(24, 84, 100), 0);
}

// Two buffers of six may take any time: something else ran, or the program waited.
static void test_what_lasts_is_left_out(void **state)
{
    (void)state;
    buffers(24, 100, 90);
    buffers(1, 100, 90);
    buffers(1, 100000, 90);
    buffers(2, 100, 90);
    buffers(1, 70000, 90);
    assert_int_equal(buffers(1, 100, 90), 1);
    assert_int_equal(buffers(2, 100, 90), 2);
    assert_int_equal(buffers(1, 100, 60000), 1);
    assert_int_equal(buffers(2, 100, 90), 2);
    assert_int_equal(buffers(1, 100, 50000), 1);
    assert_int_equal(buffers(10, 100, 90), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_beside_is_faster, setup),
        cmocka_unit_test_setup(test_here_is_faster, setup),
        cmocka_unit_test_setup(test_an_eighth, setup),
        cmocka_unit_test_setup(test_back, setup),
        cmocka_unit_test_setup(test_what_lasts_is_left_out, setup),
    };

    return cmocka_run_group_tests_name("replay/pace", tests, NULL, NULL);
}
