// SPDX-License-Identifier: MIT
// engine/spool/slotmem.c: addresses of slots' memory. The map of client memory, which finds free
// space, is a fake.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/spool/slotmem.h"

#define NEAR 1120u
#define GIB  (1ul << 30)

static u64 room; // what there is
static u64 asked_bytes, asked_top;

static u64 find(u64 len, u64 top)
{
    asked_bytes = len;
    asked_top = top;
    return room;
}

static int begin(void **state)
{
    (void)state;
    slotmem_rows = 0;
    slotmem_find = find;
    room = 0;
    return 0;
}

static void assert_slot(u64 addr, u32 slot, u64 offset)
{
    u64 o = ~0ul;

    assert_int_equal(slotmem_slot_of(addr, &o), slot);
    if (slot != SPOOL_THREADS_MAX)
        assert_int_equal(o, offset);
}

// 288 MiB for each, from the start of the range.
static void test_llfork(void **state)
{
    (void)state;
    assert_int_equal(slotmem_count(), NEAR);
    assert_int_equal(slotmem_area(0), 0x7ed200000000);
    assert_int_equal(slotmem_area(1119), 0x7ed200000000 + 1119 * 288ul * 1024 * 1024);
    assert_int_equal((u64)slotmem_counters(3), slotmem_area(3) + 0x2000000);
    assert_int_equal(slotmem_calls(0), 0x7ea810000000);
    assert_int_equal(slotmem_calls(7), 0x7ea810000000 + 7 * GIB);
    assert_int_equal(slotmem_calls(9), 0x7ea810000000 + 8 * GIB + GIB / 16);
    assert_int_equal(slotmem_calls(SPOOL_THREADS_MAX), 0x7ea810000000 + 8 * GIB + 1112 * GIB / 16);
    assert_slot(0x7ed200000000 - 1, SPOOL_THREADS_MAX, 0);
    assert_slot(0x7ed200000000, 0, 0);
    assert_slot(slotmem_area(1) - 1, 0, 288 * 1024 * 1024 - 1);
    assert_slot(slotmem_area(1119) + 5, 1119, 5);
    assert_slot(slotmem_area(1119) + 288 * 1024 * 1024, SPOOL_THREADS_MAX, 0);
}

// Rows of 256 slots, half a GiB each, aligned to that size, in the free space.
static void test_far(void **state)
{
    (void)state;
    room = 0x600000001000;
    assert_true(slotmem_more(NEAR));
    assert_int_equal(asked_bytes, 128 * GIB + GIB / 2);
    assert_int_equal(asked_top, 0x7a0000000000);
    assert_int_equal(slotmem_count(), NEAR + 256);
    assert_int_equal(slotmem_area(NEAR), 0x600020000000);
    assert_int_equal(slotmem_area(NEAR + 255), 0x600020000000 + 255 * GIB / 2);
    assert_int_equal((u64)slotmem_counters(NEAR + 1), slotmem_area(NEAR + 1) + 0x2000000);
    assert_int_equal(slotmem_calls(NEAR + 1), slotmem_area(NEAR + 1) + 0x14000000);
    assert_slot(0x600020000000 - 1, SPOOL_THREADS_MAX, 0);
    assert_slot(0x600020000000, NEAR, 0);
    assert_slot(slotmem_calls(NEAR + 255) + 7, NEAR + 255, 0x14000007);
    assert_slot(0x600020000000 + 128 * GIB, SPOOL_THREADS_MAX, 0);
    room = 0x500000000000;
    assert_true(slotmem_more(NEAR + 256));
    assert_int_equal(slotmem_area(NEAR + 256), 0x500000000000);
    assert_slot(0x500000000000, NEAR + 256, 0);
    assert_slot(0x600020000000, NEAR, 0); // where it was
}

// Another thread has added a row since `count` was read; there is no space; there are 125 rows.
static void test_no_more(void **state)
{
    (void)state;
    assert_false(slotmem_more(NEAR));
    assert_int_equal(slotmem_count(), NEAR);
    room = 0x600000000000;
    assert_true(slotmem_more(NEAR));
    assert_true(slotmem_more(NEAR));
    assert_int_equal(slotmem_count(), NEAR + 256);
    for (u32 i = 1; i < 125; i++)
        assert_true(slotmem_more(NEAR + i * 256));
    assert_int_equal(slotmem_count(), SPOOL_THREADS_MAX);
    assert_false(slotmem_more(SPOOL_THREADS_MAX));
    slotmem_find = NULL;
    slotmem_rows = 0;
    assert_false(slotmem_more(NEAR));
}

// The same in the file: after everything else, 320 MiB for each.
static void test_file(void **state)
{
    (void)state;
    assert_int_equal(spool_counters_at(0), GIB);
    assert_int_equal(spool_counters_at(1119), GIB + 1119 * GIB / 4);
    assert_true(spool_counters_at(NEAR) > SPOOL_HELD_OFF + SPOOL_HELD_TABLE);
    assert_int_equal(spool_counters_at(NEAR), 1024 * GIB);
    assert_int_equal(spool_counters_at(NEAR + 2), 1024 * GIB + 640 * 1024 * 1024);
    assert_int_equal(SPOOL_STACKS_OFF + spool_stack_at(NEAR + 2),
                     spool_counters_at(NEAR + 2) + GIB / 4);
    assert_int_equal(spool_stack_size(NEAR), GIB / 16);
    assert_int_equal(SPOOL_STACKS_OFF + spool_stack_at(SPOOL_THREADS_MAX) + GIB / 16,
                     SPOOL_HELD_OFF);
}

// Offset of an address from the start of its slot's calls, wherever the row is.
static void test_offset(void **state)
{
    static const u32 slots[] = { 0, 7, 8, 1119, NEAR, NEAR + 255, SPOOL_THREADS_MAX };

    (void)state;
    room = 0x600000000000;
    assert_true(slotmem_more(NEAR));
    for (u32 i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        assert_int_equal(spool_stack_offset(slots[i], slotmem_calls(slots[i]) + 0x1230, CALLS_BASE),
                         0x1230);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_llfork, begin),  cmocka_unit_test_setup(test_far, begin),
        cmocka_unit_test_setup(test_no_more, begin), cmocka_unit_test_setup(test_file, begin),
        cmocka_unit_test_setup(test_offset, begin),
    };

    return cmocka_run_group_tests_name("spool/slotmem", tests, NULL, NULL);
}
