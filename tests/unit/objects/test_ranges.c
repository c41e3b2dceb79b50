// SPDX-License-Identifier: MIT
// engine/objects/ranges.c against a table of every address at every time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/objects/ranges.h"

#define CELLS 64u
#define TIMES 3000u

static u32 at_time[TIMES + 1][CELLS];
static u32 seed = 1;

static u32 below(u32 n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

// One change of cells of this size, in the table and in r.
static void change(struct ranges *r, u64 unit, u32 now)
{
    u32 from = below(CELLS), to = from + 1 + below(CELLS - from), object = below(3) ? now : 0;

    memcpy(at_time[now], at_time[now - 1], sizeof(at_time[now]));
    for (u32 i = from; i < to; i++)
        at_time[now][i] = object;
    if (object)
        ranges_put(r, from * unit, to * unit, object, now, 7);
    else
        ranges_clear(r, from * unit, to * unit, now);
}

static void agree(const struct ranges *r, u64 unit, u32 time)
{
    for (u32 i = 0; i < CELLS; i++) {
        assert_int_equal(ranges_find(r, i * unit, time, 7), at_time[time][i]);
        assert_int_equal(ranges_find(r, (i + 1) * unit - 1, time, 7), at_time[time][i]);
    }
}

// Cells of every order of magnitude: what is gone is found by tables for sizes.
static void every_time(void **state)
{
    static const u64 units[] = { 1, 16, 4096, 100000, 1ul << 20, 3ul << 28, 1ul << 38 };
    static struct ranges sets[ARRAY_SIZE(units)];

    (void)state;
    for (u32 u = 0; u < ARRAY_SIZE(units); u++) {
        struct ranges *r = &sets[u];

        r->set = u;
        memset(at_time[0], 0, sizeof(at_time[0]));
        for (u32 now = 1; now <= TIMES; now++)
            change(r, units[u], now);
        for (u32 now = 0; now <= TIMES; now += 1 + below(40))
            agree(r, units[u], now);
        agree(r, units[u], TIMES);
    }
}

// A thread does not see what it has not made yet, but what others have made since.
static void of_others(void **state)
{
    static struct ranges r = { .set = 20 };

    (void)state;
    ranges_put(&r, 100, 200, 5, 1000, 1);
    assert_int_equal(ranges_find(&r, 150, 999, 1), 0);
    assert_int_equal(ranges_find(&r, 150, 999, 2), 5);
    assert_int_equal(ranges_find(&r, 150, 1000, 1), 5);
    ranges_put(&r, 120, 160, 6, 1001, 2);
    assert_int_equal(ranges_find(&r, 150, 1000, 1), 5); // as of then
    assert_int_equal(ranges_find(&r, 150, 999, 1), 6);
    assert_int_equal(ranges_find(&r, 119, 1001, 1), 5);
    assert_int_equal(ranges_find(&r, 160, 1001, 1), 5);
}

// A range keeps its birth and its maker when a part of it is taken.
static void cut(void **state)
{
    static struct ranges r = { .set = 21 };
    struct ranges_range in;

    (void)state;
    ranges_put(&r, 0x1000, 0x9000, 3, 10, 4);
    ranges_clear(&r, 0x3000, 0x4000, 11);
    assert_true(ranges_now(&r, 0x2fff, &in));
    assert_int_equal(in.start, 0x1000);
    assert_int_equal(in.end, 0x3000);
    assert_false(ranges_now(&r, 0x3000, &in));
    assert_false(ranges_now(&r, 0x3fff, &in));
    assert_true(ranges_now(&r, 0x4000, &in));
    assert_int_equal(in.start, 0x4000);
    assert_int_equal(in.end, 0x9000);
    assert_int_equal(in.born, 10);
    assert_int_equal(in.object, 3);
    assert_int_equal(in.who, 4);
    assert_false(ranges_now(&r, 0x9000, &in));
    assert_false(ranges_now(&r, 0xfff, &in));
    ranges_put(&r, 0x5000, 0x5000, 9, 12, 4); // empty: nothing
    assert_int_equal(ranges_find(&r, 0x5000, 12, 4), 3);
}

// The ring holds RANGES_GONE: the oldest is forgotten, the others are not.
static void forgotten(void **state)
{
    static struct ranges r = { .set = 22 };

    (void)state;
    for (u32 i = 1; i <= RANGES_GONE + 1; i++) { // puts at 2 i, clears at 2 i + 1
        ranges_put(&r, 64, 128, i, 2ul * i, 0);
        ranges_clear(&r, 64, 128, 2ul * i + 1);
    }
    assert_int_equal(ranges_find(&r, 64, 2, 0), 0);
    assert_int_equal(ranges_find(&r, 64, 4, 0), 2);
    assert_int_equal(ranges_find(&r, 64, 5, 0), 0);
    assert_int_equal(ranges_find(&r, 64, 2ul * (RANGES_GONE + 1), 0), RANGES_GONE + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_time), cmocka_unit_test(of_others), cmocka_unit_test(cut),
        cmocka_unit_test(forgotten), // last: it forgets the others' past
    };

    ranges_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
