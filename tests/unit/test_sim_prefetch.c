// SPDX-License-Identifier: MIT
//
// sim/prefetch.h: streams up and down, their distance, the ends of a page, other pages between, the
// 33rd page; pairs. By hand.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/prefetch.h"

static struct sim_prefetch p;
static uint64_t lines[SIM_AHEAD_MAX];

// A reference, and the lines that it names: `n` from `first` on, by `by`.
static void expect(uint64_t line, uint32_t n, uint64_t first, int by)
{
    assert_int_equal(sim_prefetch(&p, line, true, lines), n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(lines[i], first + (uint64_t)((int64_t)i * by));
}

static void test_up(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .distance = 5, .batch = 2 };
    expect(640, 0, 0, 0);
    expect(641, 0, 0, 0); // one step
    expect(642, 2, 643, 1);
    expect(642, 0, 0, 0); // the same line
    expect(643, 2, 645, 1);
    expect(644, 2, 647, 1);
    expect(645, 2, 649, 1);
    expect(646, 1, 651, 1); // five ahead
    expect(647, 1, 652, 1);
    expect(660, 2, 661, 1); // overtaken
    expect(700, 2, 701, 1);
    expect(701, 1, 703, 1); // the last line of the page
    expect(702, 0, 0, 0);
    expect(703, 0, 0, 0);
}

static void test_down(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .distance = 3, .batch = 8 };
    expect(20, 0, 0, 0);
    expect(15, 0, 0, 0);
    expect(14, 3, 13, -1);
    expect(13, 1, 10, -1);
    expect(16, 0, 0, 0); // turns round
    expect(17, 3, 18, 1);
    expect(2, 0, 0, 0);
    expect(1, 1, 0, -1); // the first line of the page
    expect(0, 0, 0, 0);
}

static void test_pages(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .distance = 1, .batch = 1 };
    for (uint64_t step = 0; step < 2; step++)
        for (uint64_t page = 0; page < SIM_STREAMS; page++)
            expect(page * 64 + step, 0, 0, 0);
    expect(SIM_STREAMS * 64, 0, 0, 0); // takes the place of page 0
    expect(64 + 2, 1, 64 + 3, 1);      // page 1 still has its steps
    expect(2, 0, 0, 0);                // page 0 begins anew
    expect(3, 0, 0, 0);
    expect(4, 1, 5, 1);
}

static void test_pairs(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .pairs = true };
    expect(8, 1, 9, 1);
    expect(11, 1, 10, 1);
    assert_int_equal(sim_prefetch(&p, 8, false, lines), 0);
    p = (struct sim_prefetch){ .pairs = true, .distance = 4, .batch = 2 };
    expect(8, 1, 9, 1);
    expect(9, 1, 8, 1);
    assert_int_equal(sim_prefetch(&p, 10, true, lines), 3);
    assert_int_equal(lines[0], 11); // its pair is the first line of the stream, too
    assert_int_equal(lines[1], 11);
    assert_int_equal(lines[2], 12);
}

// The next line, of odd lines, too, of the first one of a page; not the one of another page. A page
// is new again when 32 others have been between.
static void test_next(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .next = true };
    expect(8, 1, 9, 1);
    expect(11, 0, 0, 0);
    expect(64 + 11, 1, 64 + 12, 1);
    expect(20, 0, 0, 0);
    assert_int_equal(sim_prefetch(&p, 128 + 8, false, lines), 0);
    expect(128 + 9, 0, 0, 0);
    expect(192 + 63, 0, 0, 0);
    for (uint64_t page = 4; page < SIM_STREAMS + 1; page++)
        expect(page * 64, 1, page * 64 + 1, 1);
    expect(30, 0, 0, 0);
    expect(64 + 30, 1, 64 + 31, 1); // page 1 was the least recent one
    p = (struct sim_prefetch){ .pairs = true, .next = true, .distance = 4, .batch = 2 };
    assert_int_equal(sim_prefetch(&p, 8, true, lines), 2);
    assert_int_equal(lines[0], 9);
    assert_int_equal(lines[1], 9);
    expect(9, 1, 8, 1);
    assert_int_equal(sim_prefetch(&p, 11, true, lines), 3);
    assert_int_equal(lines[0], 10);
    assert_int_equal(lines[1], 12);
    assert_int_equal(lines[2], 13);
}

// Steps of two lines are a stream's, those of three are none: the stream begins anew.
static void test_reach(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .distance = 5, .batch = 2, .reach = 2 };
    expect(10, 0, 0, 0);
    expect(12, 0, 0, 0);
    expect(14, 2, 15, 1);
    expect(17, 0, 0, 0);
    expect(18, 0, 0, 0);
    expect(20, 2, 21, 1);
    expect(18, 0, 0, 0); // downwards
    expect(16, 2, 15, -1);
    expect(13, 0, 0, 0);
    expect(10, 0, 0, 0);
    expect(9, 0, 0, 0);
    expect(8, 2, 7, -1);
    p.reach = 3;
    expect(64 + 10, 0, 0, 0);
    expect(64 + 13, 0, 0, 0);
    expect(64 + 16, 2, 64 + 17, 1);
}

// From the third step of a page on each one is of a stream, whichever way it goes.
static void test_dense(void **state)
{
    (void)state;
    for (uint32_t dense = 0; dense <= 3; dense += 3) {
        p = (struct sim_prefetch){ .distance = 5, .batch = 2, .dense = dense };
        expect(10, 0, 0, 0);
        expect(20, 0, 0, 0); // up
        expect(15, 0, 0, 0); // down
        expect(18, dense ? 2 : 0, 19, 1);
        expect(12, dense ? 2 : 0, 11, -1);
        expect(40, dense ? 2 : 0, 41, 1);
    }
}

static void test_off(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .batch = 4 };
    for (uint64_t line = 0; line < 20; line++)
        expect(line, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up),    cmocka_unit_test(test_down),  cmocka_unit_test(test_pages),
        cmocka_unit_test(test_pairs), cmocka_unit_test(test_next),  cmocka_unit_test(test_off),
        cmocka_unit_test(test_reach), cmocka_unit_test(test_dense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
