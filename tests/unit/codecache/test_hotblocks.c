// SPDX-License-Identifier: MIT
// engine/codecache/hotblocks.c: the buffers, which fragments are watched, and until when. The
// thread's area is memory of the test, at a multiple of 64 KiB as the real ones are.
//
// Expected numbers: a buffer has 16,384 entries of 4 bytes, with --small-buffers 1024; a fragment
// is watched that has a 4000th of all executions and at least 200, until it has been seen 255
// times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/codecache/hotblocks.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/spool/config.h"

#define N 6

struct tb_config tb_config;
static struct fragment fragment[N], *by_number[N];
static struct thread *t;
static u64 counter[64];
static char led[64]; // indices of fragments whose entry has changed: links, then tables

static u64 asked[2]; // bytes

void *heap_pages(u64 bytes)
{
    void *p = calloc(1, bytes);

    asked[0] = asked[1];
    asked[1] = bytes;

    assert_non_null(p);
    return p;
}

static void note(char c, const struct fragment *f)
{
    u64 end = strlen(led);

    assert_true(end + 2 < sizeof(led));
    led[end] = c;
    led[end + 1] = (char)('0' + (f - fragment));
}

void links_repatch(struct fragment *f)
{
    note('l', f);
}

void ibl_move(const struct fragment *f)
{
    note('t', f);
}

static int setup(void **state)
{
    (void)state;
    if (!t)
        t = aligned_alloc(0x10000, TA_HOT_END);
    assert_non_null(t);
    memset(t, 0, sizeof(*t));
    memset(counter, 0, sizeof(counter));
    memset(led, 0, sizeof(led));
    t->self = t;
    t->counters = counter;
    tb_config = (struct tb_config){ .watch = true };
    hotblocks_init(by_number);
    for (u32 i = 0; i < N; i++) {
        fragment[i] =
            (struct fragment){ .index = i, .hpc = 0x1000 * i, .counter = 10 * i + 3, .watch = 9 };
        by_number[i] = &fragment[i];
        hotblocks_published(&fragment[i]);
    }
    return 0;
}

static void test_buffer(void **state)
{
    u64 end = (u64)t + TA_HOT_END;
    u32 n;

    (void)state;
    assert_int_equal(end & 0xffff, 0);
    // An address and a counter for each index that a fragment may have: 8 Mi.
    assert_int_equal(asked[0], 64 << 20);
    assert_int_equal(asked[1], 32 << 20);
    hotblocks_begin(t);
    assert_int_equal(t->record_at, end - 65536);
    assert_int_equal(t->bodies[5], 0x5000);
    assert_null(hotblocks_full(t, &n));
    t->record_at = end - 4;
    assert_null(hotblocks_full(t, &n));
    t->record_at = end;
    assert_ptr_equal(hotblocks_full(t, &n), (const u32 *)(end - 65536));
    assert_int_equal(n, 16384);
}

static void test_small_buffer(void **state)
{
    u64 end = (u64)t + TA_HOT_END;
    u32 n;

    (void)state;
    assert_int_equal(fragment[1].flags, 0);
    tb_config.hotblocks_all = true;
    hotblocks_begin(t);
    assert_int_equal(t->record_at, end - 4096);
    t->record_at = end;
    assert_ptr_equal(hotblocks_full(t, &n), (const u32 *)(end - 4096));
    assert_int_equal(n, 1024);
    hotblocks_published(&fragment[1]); // from its first execution on
    assert_int_equal(fragment[1].flags, FRAGMENT_WATCHED);
    fragment[2].watch = 0;
    hotblocks_published(&fragment[2]);
    assert_int_equal(fragment[2].flags, 0);
}

// Where fragments record, the buffer holds their records.
static void test_off(void **state)
{
    (void)state;
    tb_config.watch = false;
    t->record_at = 77;
    hotblocks_begin(t);
    assert_int_equal(t->record_at, 77);
}

static void test_least(void **state)
{
    (void)state;
    counter[3] = 199;
    counter[13] = 200;
    counter[23] = 1000;
    hotblocks_most(t, N);
    assert_string_equal(led, "l1t1l2t2");
    assert_int_equal(fragment[0].flags, 0);
    assert_int_equal(fragment[1].flags, FRAGMENT_WATCHED);
    assert_int_equal(fragment_entry(&fragment[1]), 0x1009);
    hotblocks_most(t, N); // they are watched already
    assert_string_equal(led, "l1t1l2t2");
}

// 8,000,000 executions and a few: a 4000th is 2000.
static void test_share(void **state)
{
    (void)state;
    counter[3] = 7996000;
    counter[13] = 1999;
    counter[23] = 2001;
    hotblocks_most(t, N);
    assert_string_equal(led, "l0t0l2t2");
    memset(led, 0, sizeof(led));
    counter[33] = 1u << 30; // no fragment has this index
    hotblocks_most(t, 3);
    assert_string_equal(led, "");
}

static void test_not_these(void **state)
{
    (void)state;
    for (u32 i = 0; i < N; i++)
        counter[10 * i + 3] = 1000;
    fragment[0].flags = FRAGMENT_DEAD;
    fragment[1].flags = FRAGMENT_PAST;
    fragment[2].watch = 0;
    hotblocks_most(t, 4);
    assert_string_equal(led, "l3t3");
}

static void test_seen(void **state)
{
    (void)state;
    counter[43] = 1000;
    hotblocks_most(t, N);
    hotblocks_seen(&fragment[4], 254);
    assert_int_equal(fragment[4].flags, FRAGMENT_WATCHED);
    assert_int_equal(fragment[4].seen, 254);
    hotblocks_seen(&fragment[4], 1);
    assert_int_equal(fragment[4].flags, 0);
    assert_int_equal(fragment_entry(&fragment[4]), 0x4000);
    assert_string_equal(led, "l4t4l4t4");
    hotblocks_seen(&fragment[4], 1000); // it is not watched
    assert_string_equal(led, "l4t4l4t4");
    hotblocks_most(t, N);
    assert_int_equal(fragment[4].seen, 0);
    hotblocks_seen(&fragment[4], 70000);
    assert_int_equal(fragment[4].seen, 255);
    assert_string_equal(led, "l4t4l4t4l4t4l4t4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_buffer, setup),
        cmocka_unit_test_setup(test_small_buffer, setup),
        cmocka_unit_test_setup(test_off, setup),
        cmocka_unit_test_setup(test_least, setup),
        cmocka_unit_test_setup(test_share, setup),
        cmocka_unit_test_setup(test_not_these, setup),
        cmocka_unit_test_setup(test_seen, setup),
    };

    return cmocka_run_group_tests_name("codecache/hotblocks", tests, NULL, NULL);
}
