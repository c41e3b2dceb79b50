// SPDX-License-Identifier: MIT
// engine/objects/pages.c: what is known of a page, and since when.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/objects/pages.h"
#include "engine/objects/ranges.h"

#define AT 0x5000000ul

static struct found found;
static bool block;

static bool finds(u64 addr, u64 at)
{
    return pages_find(addr, at, &found, &block);
}

static void keep(u64 addr, u64 start, u64 end, u32 of)
{
    struct found what = { of, start - 64, end, 5, NULL, false };

    pages_keep(addr, start, end, &what, of == 7);
}

static void one_page(void **state)
{
    (void)state;
    pages_changed(AT, AT + 0x3000, 10);
    assert_false(finds(AT, 10));
    assert_false(pages_wants(AT, 9)); // of before the change nothing is known
    assert_true(pages_wants(AT, 10));
    keep(AT + 5, AT, AT + 0x3000, 7);
    assert_true(finds(AT + 4095, 10));
    assert_int_equal(found.object, 7);
    assert_int_equal(found.start, AT - 64);
    assert_int_equal(found.born, 5);
    assert_true(block);
    assert_true(finds(AT, 1000));
    assert_false(finds(AT, 9));
    assert_false(finds(AT + 4096, 10));
    assert_false(pages_wants(AT, 10));
    // not all of the page: it is not asked for again, nor found
    keep(AT + 0x2000, AT, AT + 0x2fff, 8);
    assert_false(finds(AT + 0x2000, 10));
    assert_false(pages_wants(AT + 0x2000, 10));
    // a change anywhere in the page
    pages_changed(AT + 8, AT + 9, 11);
    assert_false(finds(AT + 4095, 11));
    assert_false(pages_wants(AT, 10));
    keep(AT, AT, AT + 0x3000, 9);
    assert_true(finds(AT, 11));
    assert_false(block);
    assert_false(finds(AT, 10));
    // one that is as of an earlier time, as a block's: since the later one
    pages_changed(AT, AT + 1, 5);
    assert_true(pages_wants(AT, 11));
    assert_false(pages_wants(AT, 10));
}

static void many_pages(void **state)
{
    (void)state;
    pages_changed(AT, AT + 1, 20);
    keep(AT, AT, AT + 0x1000, 7);
    assert_true(finds(AT, 20));
    pages_changed(AT + 0x100000, AT + 0x100000 + 64 * 4096, 21); // one by one
    assert_true(finds(AT, 20));
    pages_changed(AT + 0x100000, AT + 0x100001 + 64 * 4096, 22); // all
    assert_false(finds(AT, 22));
    assert_false(pages_wants(AT, 21));
    assert_true(pages_wants(AT, 22));
    keep(AT, AT, AT + 0x1000, 7);
    assert_true(finds(AT, 22));
    assert_false(finds(AT, 21));
}

static bool seen(u64 addr)
{
    assert_true(finds(addr, 30));
    return found.seen;
}

// Lines that have missed: of the page's block, until it changes.
static void lines(void **state)
{
    (void)state;
    pages_changed(AT, AT + 1, 30);
    pages_missed(AT + 128, 5, 1 << 2); // nothing is known of it
    keep(AT, AT, AT + 0x1000, 7);
    assert_false(seen(AT + 128));
    pages_missed(AT + 128, 6, 1 << 2); // another block
    assert_false(seen(AT + 128));
    pages_missed(AT + 128, 5, 1 << 2);
    assert_true(seen(AT + 128));
    assert_true(seen(AT + 191));
    assert_false(seen(AT + 127));
    assert_false(seen(AT + 192));
    pages_missed(AT + 4095, 5, 1 << 2 | 1ul << 63);
    assert_true(seen(AT + 128));
    assert_true(seen(AT + 4095));
    pages_changed(AT, AT + 1, 30);
    keep(AT, AT, AT + 0x1000, 7);
    assert_false(seen(AT + 128));
    pages_changed(AT, AT + 1, 30);
    keep(AT, AT, AT + 0x1000, 8); // no block
    pages_missed(AT + 128, 5, 1 << 2);
    assert_false(seen(AT + 128));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_page), cmocka_unit_test(many_pages),
                                        cmocka_unit_test(lines) };

    pages_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
