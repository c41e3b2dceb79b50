// SPDX-License-Identifier: MIT
// engine/objects/ranges.c against a table of every address at every time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/objects/pages.h"
#include "engine/objects/ranges.h"

#define CELLS 64u
#define TIMES 3000u

static u32 at_time[TIMES + 1][CELLS];
static u32 seed = 1;
static u64 base; // of the times of a test: there is one clock for all ranges

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
        ranges_put(r, from * unit, to * unit, object, base + now, 7);
    else
        ranges_clear(r, from * unit, to * unit, base + now);
}

static void agree(const struct ranges *r, u64 unit, u32 time)
{
    for (u32 i = 0; i < CELLS; i++) {
        assert_int_equal(ranges_find(r, i * unit, base + time, 7, NULL), at_time[time][i]);
        assert_int_equal(ranges_find(r, (i + 1) * unit - 1, base + time, 7, NULL),
                         at_time[time][i]);
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
        base += TIMES + 1;
    }
}

// As every_time(), with small ones by their granules: several in one, and some that are not small.
// Another set has other objects at the same addresses.
static void by_granules(void **state)
{
    static const u64 units[] = { 1, 5, 16, 48, 100, 1000, 4096, 5000 };
    static struct ranges r = { .granules = true }, other = { .set = 24, .forgets = true };

    (void)state;
    base += 2000;
    for (u32 u = 0; u < ARRAY_SIZE(units); u++) {
        ranges_clear(&r, 0, 1ul << 40, base);
        memset(at_time[0], 0, sizeof(at_time[0]));
        for (u32 now = 1; now <= TIMES; now++) {
            u64 at = below(CELLS) * units[u];

            change(&r, units[u], now);
            if (now % 2)
                ranges_clear(&other, 0, 1ul << 40, 0);
            ranges_put(&other, at, at + 3 * units[u], 99999, 0, 7);
            agree(&r, units[u], now);
            if (now % 40 == 0)
                agree(&r, units[u], now - below(40));
            if (now % 500 == 0) // of many pages, above all others
                ranges_put(&r, 1ul << 32, 3ul << 32, 5, base + now, 7);
        }
        base += TIMES + 1;
    }
    assert_int_equal(ranges_find(&r, 1ul << 33, base, 7, NULL), 5);
    ranges_put(&r, 0, 1ul << 46, 6, base, 7);
    for (u64 addr = 0; addr < 1ul << 46; addr += 1ul << 28)
        assert_int_equal(ranges_find(&r, addr + below(1000), base, 7, NULL), 6);
    ranges_clear(&r, 0, 1ul << 46, base);
}

// Small ones live where they are put, with what others are told of them; a span is at least the
// address, and no more than what is the same.
static void small(void **state)
{
    static struct ranges r = { .granules = true };
    struct ranges_range in;
    struct ranges_span span = { 0, ~0ul };
    struct found found;
    const u64 at = 0x555500000ff0;

    (void)state;
    base += 10;
    ranges_put(&r, at, at + 64, 7, base, 3); // across two pages
    assert_true(ranges_now(&r, at + 63, &in));
    assert_int_equal(in.start, at);
    assert_int_equal(in.end, at + 64);
    assert_int_equal(in.born, base);
    assert_int_equal(in.object, 7);
    assert_int_equal(in.who, 3);
    assert_false(ranges_now(&r, at + 64, &in));
    assert_false(ranges_now(&r, at - 1, &in));
    ranges_span(&r, at + 20, &span);
    assert_int_equal(span.start, at);
    assert_int_equal(span.end, at + 64);
    span = (struct ranges_span){ 0, ~0ul };
    ranges_span(&r, at + 100, &span);
    assert_in_range(span.start, at + 64, at + 100);
    assert_true(span.end > at + 100);
    ranges_put(&r, at + 16, at + 32, 8, base + 1, 4);
    assert_int_equal(ranges_find(&r, at, base + 1, 3, &found), 7);
    assert_int_equal(found.start, at);
    assert_int_equal(found.end, at + 16);
    assert_int_equal(ranges_find(&r, at + 40, base + 1, 3, &found), 7);
    assert_int_equal(found.start, FOUND_UNKNOWN);
    assert_int_equal(ranges_find(&r, at + 20, base, 3, &found), 7); // as of then
    assert_int_equal(found.start, FOUND_UNKNOWN);
    assert_int_equal(ranges_find(&r, at + 20, base + 1, 3, &found), 8);
    assert_int_equal(found.start, at + 16);
    // at the granule of another one; that goes, and its memory is found in the treap no less
    ranges_put(&r, at + 70, at + 75, 9, base + 2, 3);
    ranges_put(&r, at + 75, at + 79, 10, base + 2, 3);
    assert_int_equal(ranges_find(&r, at + 74, base + 2, 3, NULL), 9);
    assert_int_equal(ranges_find(&r, at + 75, base + 2, 3, NULL), 10);
    ranges_clear(&r, at + 70, at + 75, base + 3);
    assert_int_equal(ranges_find(&r, at + 74, base + 3, 3, NULL), 0);
    assert_int_equal(ranges_find(&r, at + 75, base + 3, 3, NULL), 10);
    // within a large one
    ranges_put(&r, at & -4096ul, at + 0x4000, 11, base + 4, 3);
    ranges_put(&r, at + 0x1000, at + 0x1040, 12, base + 5, 3);
    assert_int_equal(ranges_find(&r, at + 75, base + 5, 3, NULL), 11);
    assert_int_equal(ranges_find(&r, at + 0x103f, base + 5, 3, NULL), 12);
    assert_int_equal(ranges_find(&r, at + 0x1040, base + 5, 3, &found), 11);
    assert_int_equal(found.start, FOUND_UNKNOWN);
    assert_int_equal(found.end, at + 0x4000);
    ranges_clear(&r, 0, 1ul << 47, base + 6);
    assert_false(ranges_now(&r, at + 0x103f, &in));
    assert_false(ranges_now(&r, at + 0x2000, &in));
}

// The present range, and the gap, around an address.
static void spans(void **state)
{
    static struct ranges r = { .set = 23 };
    struct ranges_span span = { 0, 1000 };

    (void)state;
    ranges_put(&r, 100, 200, 1, base + 1, 1);
    ranges_put(&r, 300, 400, 2, base + 2, 1);
    ranges_span(&r, 150, &span);
    assert_int_equal(span.start, 100);
    assert_int_equal(span.end, 200);
    span = (struct ranges_span){ 0, 1000 };
    ranges_span(&r, 200, &span);
    assert_int_equal(span.start, 200);
    assert_int_equal(span.end, 300);
    span = (struct ranges_span){ 0, 1000 };
    ranges_span(&r, 400, &span);
    assert_int_equal(span.start, 400);
    assert_int_equal(span.end, 1000);
    span = (struct ranges_span){ 120, 130 };
    ranges_span(&r, 125, &span);
    assert_int_equal(span.start, 120);
    assert_int_equal(span.end, 130);
}

// A thread does not see what it has not made yet, but what others have made since.
static void of_others(void **state)
{
    static struct ranges r = { .set = 20 };

    (void)state;
    // a block of the time of the call that made it, found behind one that was gone later
    ranges_put(&r, 0x10000, 0x10080, 1, base + 10, 1);
    ranges_put(&r, 0x20000, 0x20100, 2, base + 11, 1);
    ranges_clear(&r, 0x20000, 0x20100, base + 20);
    ranges_put(&r, 0x10000, 0x10080, 3, base + 15, 1);
    assert_int_equal(ranges_find(&r, 0x10000, base + 12, 1, NULL), 1);
    assert_int_equal(ranges_find(&r, 0x10000, base + 15, 1, NULL), 3);
    assert_int_equal(ranges_find(&r, 0x20000, base + 19, 1, NULL), 2);
    ranges_clear(&r, 0x10000, 0x10080, base + 21);
    assert_int_equal(ranges_find(&r, 0x10000, base + 16, 1, NULL), 3);
    assert_int_equal(ranges_find(&r, 0x10000, base + 12, 1, NULL), 1);
    ranges_put(&r, 100, 200, 5, base + 1000, 1);
    assert_int_equal(ranges_find(&r, 150, base + 999, 1, NULL), 0);
    assert_int_equal(ranges_find(&r, 150, base + 999, 2, NULL), 5);
    assert_int_equal(ranges_find(&r, 150, base + 1000, 1, NULL), 5);
    ranges_put(&r, 120, 160, 6, base + 1001, 2);
    assert_int_equal(ranges_find(&r, 150, base + 1000, 1, NULL), 5); // as of then
    assert_int_equal(ranges_find(&r, 150, base + 999, 1, NULL), 6);
    assert_int_equal(ranges_find(&r, 119, base + 1001, 1, NULL), 5);
    assert_int_equal(ranges_find(&r, 160, base + 1001, 1, NULL), 5);
}

// A range keeps its birth and its maker when a part of it is taken.
static void cut(void **state)
{
    static struct ranges r = { .set = 21 };
    struct ranges_range in;
    struct found found;

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
    assert_int_equal(in.who, 4 | RANGES_PART); // it does not begin where its object does
    assert_false(ranges_now(&r, 0x9000, &in));
    assert_false(ranges_now(&r, 0xfff, &in));
    ranges_put(&r, 0x5000, 0x5000, 9, 12, 4); // empty: nothing
    assert_int_equal(ranges_find(&r, 0x5000, 12, 4, NULL), 3);
    assert_int_equal(ranges_find(&r, 0x2fff, 12, 4, &found), 3);
    assert_int_equal(found.start, 0x1000);
    assert_int_equal(ranges_find(&r, 0x5000, 12, 4, &found), 3);
    assert_int_equal(found.start, FOUND_UNKNOWN);
    assert_int_equal(ranges_find(&r, 0x3000, 10, 4, &found), 3); // as of then: a piece that is gone
    assert_int_equal(found.start, FOUND_UNKNOWN);
    ranges_clear(&r, 0x1000, 0x3000, 13);
    assert_int_equal(ranges_find(&r, 0x1800, 12, 4, &found), 3); // gone, from its beginning
    assert_int_equal(found.start, 0x1000);
}

// One that is asked about the present only, with times before those of another set.
static void present(void **state)
{
    struct ranges late = { .set = 20 }, r = { .set = 21, .present = true };
    struct found out;

    (void)state;
    ranges_put(&late, 0x1000, 0x2000, 1, 1000001, 0);
    ranges_clear(&late, 0x1000, 0x2000, 2000000);
    ranges_put(&r, 0x1000, 0x1100, 2, 1000002, 0);
    assert_int_equal(ranges_find(&r, 0x1000, 1000001, 1, &out), 2);
    ranges_clear(&r, 0x1000, 0x1100, 1000003);
    assert_int_equal(ranges_find(&r, 0x1000, 1000003, 1, &out), 0);
    r.present = false; // it is noted, as gone since the other one is
    assert_int_equal(ranges_find(&r, 0x1000, 1000003, 1, &out), 2);
    assert_int_equal(ranges_find(&r, 0x1000, 2000000, 1, &out), 0);
}

// The ring holds RANGES_GONE: the oldest is forgotten, the others are not.
static void forgotten(void **state)
{
    static struct ranges r = { .set = 22 };

    (void)state;
    base += 2000;
    for (u32 i = 1; i <= RANGES_GONE + 1; i++) { // puts at 2 i, clears at 2 i + 1
        ranges_put(&r, 64, 128, i, base + 2ul * i, 0);
        ranges_clear(&r, 64, 128, base + 2ul * i + 1);
    }
    assert_int_equal(ranges_find(&r, 64, base + 2, 0, NULL), 0);
    assert_int_equal(ranges_find(&r, 64, base + 4, 0, NULL), 2);
    assert_int_equal(ranges_find(&r, 64, base + 5, 0, NULL), 0);
    assert_int_equal(ranges_find(&r, 64, base + 2ul * (RANGES_GONE + 1), 0, NULL), RANGES_GONE + 1);
}

static u64 asked_at, forgotten_until; // times
static u32 nforgotten, nasked;

static u64 asked_from(void)
{
    nasked++;
    return asked_at;
}

static void note_gone(u32 object, u64 bytes, bool begins)
{
    (void)object;
    (void)bytes;
    assert_true(begins);
}

static void note_cut(u64 start, u64 end, u64 born)
{
    (void)start;
    (void)end;
    (void)born;
    fail();
}

static void note_forgotten(u64 start, u64 end, u64 born, u32 who)
{
    assert_int_equal(start, 64 + 64 * (born % 100));
    assert_int_equal(end - start, 64);
    assert_int_equal(who, 0);
    assert_true(born > forgotten_until); // in their order
    assert_true(born + 1 <= asked_at);   // it was gone by then
    forgotten_until = born;
    nforgotten++;
}

// Where it is known what may still be asked for, what was gone before that is forgotten when there
// is no place: 4,096 at first, and twice as many where more than half are needed.
static void asked(void **state)
{
    static const struct ranges_watch watch = { note_gone, note_cut, note_forgotten };
    static struct ranges r;
    u64 now = 0;

    (void)state;
    ranges_asked = asked_from;
    ranges_watch = &watch;
    for (u32 back = 200; back <= 20000; back *= 10) {
        for (u32 i = 0; i < 50000; i++) {
            u64 at;

            now += 2;
            at = 64 + 64 * (now % 100);
            asked_at = now > back ? now - back : 0;
            ranges_put(&r, at, at + 64, i + 1, now, 0);
            ranges_clear(&r, at, at + 64, now + 1);
            for (u32 ago = 0; i % 16 == 0 && ago <= back && ago < 2ul * i; ago += 40)
                assert_int_equal(ranges_find(&r, 64 + 64 * ((now - ago) % 100), now - ago, 0, NULL),
                                 i + 1 - ago / 2);
            assert_int_equal(ranges_find(&r, at, now + 1, 0, NULL), 0);
        }
        // Of the last ones at most as many as there are places.
        assert_in_range(now / 2 - nforgotten, back / 2, back < 4096 ? 4096 : 2 * back);
    }
    // A thread that waits for long holds all of them: that is not asked at each change.
    ranges_watch = NULL;
    nasked = 0;
    for (u32 i = 0; i < 2 * RANGES_GONE; i++) {
        now += 2;
        ranges_put(&r, 64 + 64 * (now % 100), 128 + 64 * (now % 100), 1, now, 0);
        ranges_clear(&r, 64 + 64 * (now % 100), 128 + 64 * (now % 100), now + 1);
        if (i == RANGES_GONE)
            asked_at = now; // it goes on
    }
    assert_in_range(nasked, 1, 64);
    ranges_asked = NULL;
    base = now + 2;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked), // first: there are few places yet
        cmocka_unit_test(every_time), cmocka_unit_test(of_others),   cmocka_unit_test(cut),
        cmocka_unit_test(spans),      cmocka_unit_test(by_granules), cmocka_unit_test(small),
        cmocka_unit_test(forgotten), // it forgets the others' past
        cmocka_unit_test(present),   // last: with later times
    };

    pages_init();
    ranges_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
