// SPDX-License-Identifier: MIT
//
// sim/prefetch.h: streams up and down, their distance, the ends of a page, other pages between, the
// 33rd page, the next one; pairs; regions. By hand.
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
    assert_int_equal(sim_prefetch(&p, line, 0, true, lines), n);
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
        for (uint64_t page = 0; page < SIM_PAGES; page++)
            expect(page * 64 + step, 0, 0, 0);
    expect(SIM_PAGES * 64, 0, 0, 0); // takes the place of page 0
    expect(64 + 2, 1, 64 + 3, 1);    // page 1 still has its steps
    expect(2, 0, 0, 0);              // page 0 begins anew
    expect(3, 0, 0, 0);
    expect(4, 1, 5, 1);
}

static void test_pairs(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .pairs = true };
    expect(8, 1, 9, 1);
    expect(11, 1, 10, 1);
    assert_int_equal(sim_prefetch(&p, 8, 0, false, lines), 0);
    p = (struct sim_prefetch){ .pairs = true, .distance = 4, .batch = 2 };
    expect(8, 1, 9, 1);
    expect(9, 1, 8, 1);
    assert_int_equal(sim_prefetch(&p, 10, 0, true, lines), 3);
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
    assert_int_equal(sim_prefetch(&p, 128 + 8, 0, false, lines), 0);
    expect(128 + 9, 0, 0, 0);
    expect(192 + 63, 0, 0, 0);
    for (uint64_t page = 4; page < SIM_PAGES + 1; page++)
        expect(page * 64, 1, page * 64 + 1, 1);
    expect(30, 0, 0, 0);
    expect(64 + 30, 1, 64 + 31, 1); // page 1 was the least recent one
    p = (struct sim_prefetch){ .pairs = true, .next = true, .distance = 4, .batch = 2 };
    assert_int_equal(sim_prefetch(&p, 8, 0, true, lines), 2);
    assert_int_equal(lines[0], 9);
    assert_int_equal(lines[1], 9);
    expect(9, 1, 8, 1);
    assert_int_equal(sim_prefetch(&p, 11, 0, true, lines), 3);
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

// At a page's last line five lines of the next page, three at the line before; a stream that has
// named them goes on there, and back where it came from as well.
static void test_across(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .distance = 20, .batch = 3, .across = 5 };
    expect(60, 0, 0, 0);
    expect(61, 0, 0, 0);
    expect(62, 3, 63, 1); // three is the batch; two of them beyond
    expect(63, 3, 66, 1); // up to the fifth of the next page
    expect(63, 0, 0, 0);
    expect(64, 3, 69, 1); // goes on
    expect(65, 3, 72, 1);
    expect(128 + 61, 0, 0, 0);
    expect(128 + 62, 0, 0, 0);
    expect(128 + 63, 3, 192, 1);
    expect(192 + 3, 0, 0, 0); // not one that it has named
    expect(192 + 4, 0, 0, 0);
    expect(192 + 5, 3, 192 + 6, 1);
    expect(640 + 3, 0, 0, 0);
    expect(640 + 2, 0, 0, 0);
    expect(640 + 1, 3, 640, -1);
    expect(640, 3, 640 - 3, -1);
    expect(640 - 1, 3, 640 - 6, -1);
    p.across = 0;
    expect(1280 + 61, 0, 0, 0);
    expect(1280 + 62, 0, 0, 0);
    expect(1280 + 63, 0, 0, 0);
    expect(1280 + 64, 0, 0, 0);
}

// An instruction's regions, with a page of its own for each: the lines at +2 and -1 follow.
static void region(uint64_t page, uint32_t code, bool both)
{
    sim_prefetch(&p, page * 64 + 20, code, false, lines);
    sim_prefetch(&p, page * 64 + 22, 7, false, lines);
    if (both)
        sim_prefetch(&p, page * 64 + 19, 7, false, lines);
}

// Pages are forgotten 32 pages later. The third time a line is likely.
static void test_regions(void **state)
{
    uint64_t page = 100;

    (void)state;
    p = (struct sim_prefetch){ .has_regions = true };
    for (uint32_t i = 0; i < 2; i++)
        region(page++, 1, true);
    for (uint32_t i = 0; i < SIM_PAGES; i++)
        region(page++, 2, false);
    assert_int_equal(sim_prefetch(&p, page++ * 64 + 20, 1, false, lines), 0);
    region(page++, 1, true);
    for (uint32_t i = 0; i < SIM_PAGES; i++)
        assert_int_equal(sim_prefetch(&p, page++ * 64 + 40, 9, false, lines), 0);
    // it was seen three times, then once not, with the page that asked: two, and now three
    assert_int_equal(sim_prefetch(&p, page * 64 + 30, 1, false, lines), 0);
    page++;
    for (uint32_t i = 0; i < 8; i++)
        region(page++, 1, true);
    for (uint32_t i = 0; i < SIM_PAGES; i++)
        sim_prefetch(&p, page++ * 64 + 40, 9, false, lines);
    assert_int_equal(sim_prefetch(&p, page * 64 + 30, 1, false, lines), 2);
    assert_int_equal(lines[0], page * 64 + 29);
    assert_int_equal(lines[1], page * 64 + 32);
    // what is within it begins no other one; what is behind it does, seven further
    assert_int_equal(sim_prefetch(&p, page * 64 + 36, 1, false, lines), 0);
    assert_int_equal(sim_prefetch(&p, page * 64 + 26, 1, false, lines), 0);
    assert_int_equal(sim_prefetch(&p, page * 64 + 37, 1, false, lines), 2);
    assert_int_equal(lines[0], page * 64 + 36);
    // only lines of the page
    assert_int_equal(sim_prefetch(&p, ++page * 64 + 62, 1, false, lines), 1);
    assert_int_equal(lines[0], page * 64 + 61);
    assert_int_equal(sim_prefetch(&p, ++page * 64, 1, false, lines), 1);
    assert_int_equal(lines[0], page * 64 + 2);
}

// Counters of an instruction, against an array of numbers; at the ends of a page lines that are not
// in it keep theirs.
static void test_regions_counters(void **state)
{
    static struct sim_regions r;
    uint32_t number[SIM_REGION_LINES] = { 0 };
    uint64_t s = 1;
    uint8_t slot;

    (void)state;
    sim_region_likely(&r, 20, 5, &slot);
    for (int i = 0; i < 100000; i++) {
        uint32_t at = (uint32_t[]){ 20, 0, 2, 63, 60 }[i % 5], likely = 0;
        struct sim_page_regions page = { .n = 1, .slot = { slot }, .code = { 5 } };

        s = s * 6364136223846793005u + 1442695040888963407u;
        page.at[0] = (uint8_t)at;
        page.touched = i / 1000 % 3 ? s ^ s >> 31 : s & s << 7;
        page.before[0] = UINT64_C(1) << at;
        sim_region_forget(&r, &page, 0);
        for (uint32_t k = 0; k < SIM_REGION_LINES; k++) {
            uint32_t line = at + k - SIM_REGION_BELOW;

            if (line >= SIM_PAGE_LINES || line == at)
                continue;
            if (page.touched >> line & 1)
                number[k] += number[k] < 7;
            else
                number[k] -= number[k] > 0;
            likely |= (uint32_t)(number[k] >= SIM_REGION_LIKELY) << k;
        }
        for (uint32_t k = 0; k < SIM_REGION_LINES; k++)
            assert_int_equal((r.seen[slot].bit[0] >> k & 1) + 2 * (r.seen[slot].bit[1] >> k & 1) +
                                 4 * (r.seen[slot].bit[2] >> k & 1),
                             number[k]);
        assert_int_equal(sim_region_likely(&r, at, 5, &slot), likely);
    }
}

// The fifth region of a page takes the place of the first, which teaches what was seen until then.
static void test_regions_of_a_page(void **state)
{
    (void)state;
    p = (struct sim_prefetch){ .has_regions = true };
    for (uint64_t line = 0; line < 64; line += 8) { // 0 and 2, 8 and 10 and so on
        uint32_t n = sim_prefetch(&p, line, 3, false, lines);

        assert_int_equal(n, line / 8 < 2 + SIM_PAGE_REGIONS ? 0 : 1);
        if (n)
            assert_int_equal(lines[0], line + 2);
        sim_prefetch(&p, line + 2, 4, false, lines);
    }
}

// The 129th instruction takes the place of the one that began a region longest ago.
static void test_regions_codes(void **state)
{
    uint64_t page = 0;

    (void)state;
    p = (struct sim_prefetch){ .has_regions = true };
    for (uint32_t i = 0; i < 4; i++)
        region(page++, 1000, false);
    for (uint32_t code = 0; code < SIM_REGION_CODES - 1; code++)
        region(page++, code + 2000, false);
    assert_int_equal(sim_prefetch(&p, page++ * 64, 1000, false, lines), 1);
    for (uint32_t code = 0; code < SIM_REGION_CODES; code++)
        region(page++, code + 3000, false);
    assert_int_equal(sim_prefetch(&p, page++ * 64, 1000, false, lines), 0);
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
        cmocka_unit_test(test_up),
        cmocka_unit_test(test_down),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_across),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_regions_of_a_page),
        cmocka_unit_test(test_regions_codes),
        cmocka_unit_test(test_regions_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
