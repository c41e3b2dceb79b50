// SPDX-License-Identifier: MIT
// engine/objects/pools.c: which blocks end with what.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/objects/alloc.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pages.h"
#include "engine/objects/pools.h"
#include "engine/objects/ranges.h"
#include "engine/spool/config.h"

struct tb_config tb_config = { .data = true };
static u8 there[0x1000]; // by address: whether it is in a block
static struct thread t;
static bool locked;

void objtable_lock(void)
{
    assert_false(locked);
    locked = true;
}

void objtable_unlock(void)
{
    locked = false;
}

void alloc_block(struct thread *of, u64 at, u64 start, u64 bytes)
{
    assert_ptr_equal(of, &t);
    assert_int_equal(at, 7);
    assert_false(locked);
    memset(there + start, 1, bytes);
}

void alloc_cleared(struct thread *of, u64 start, u64 end)
{
    assert_ptr_equal(of, &t);
    assert_in_range(start, 0, end - 1);
    memset(there + start, 0, end - start);
}

void alloc_freed(struct thread *of, u64 start)
{
    (void)of;
    there[start] = 2;
}

static void is(u64 start, u64 bytes, u8 what)
{
    for (u64 i = start; i < start + bytes; i++)
        assert_int_equal(there[i], what);
}

static void destroyed(void **state)
{
    (void)state;
    pools_create(0x900);
    pools_create(0x910);
    pools_alloc(&t, 7, 0x900, 0x100, 32);
    pools_alloc(&t, 7, 0x910, 0x120, 32); // between those of the first one
    pools_alloc(&t, 7, 0x900, 0x140, 32);
    is(0x100, 96, 1);
    pools_destroy(&t, 0x900);
    is(0x100, 32, 0);
    is(0x120, 32, 1);
    is(0x140, 32, 0);
    pools_alloc(&t, 7, 0x900, 0x140, 32); // of no pool
    pools_destroy(&t, 0x900);
    is(0x140, 32, 1);
    pools_create(0x920); // has the number of the one that is gone
    pools_destroy(&t, 0x920);
    is(0x120, 64, 1);
    pools_destroy(&t, 0x910);
    is(0x120, 32, 0);
    pools_destroy(&t, 0x910);
}

static void freed(void **state)
{
    (void)state;
    pools_create(0x900);
    pools_alloc(&t, 7, 0x900, 0x200, 32);
    pools_alloc(&t, 7, 0x900, 0x220, 32);
    pools_free(&t, 0x900, 0x200);
    is(0x200, 32, 0);
    is(0x220, 32, 1);
    pools_free(&t, 0x910, 0x220); // another one's, which is none: as a block of no pool
    assert_int_equal(there[0x220], 2);
    pools_free(&t, 0x900, 0x220);
    is(0x220, 32, 0);
    pools_destroy(&t, 0x900);
}

static void trimmed(void **state)
{
    (void)state;
    pools_create(0x900);
    for (u64 i = 0; i < 8; i++)
        pools_alloc(&t, 7, 0x900, 0x300 + 16 * i, 16);
    pools_trim(&t, 0x900, 0x318, 0x30); // [0x318, 0x348)
    is(0x300, 0x18, 0);
    is(0x318, 0x30, 1);
    is(0x348, 0x38, 0);
    pools_destroy(&t, 0x900);
    is(0x300, 0x80, 0);
}

static void moved(void **state)
{
    (void)state;
    pools_create(0x900);
    pools_alloc(&t, 7, 0x900, 0x400, 32);
    pools_change(&t, 7, 0x900, 0x400, 0x440, 48);
    is(0x400, 32, 0);
    is(0x440, 48, 1);
    pools_move(0x900, 0x930);
    pools_destroy(&t, 0x900);
    is(0x440, 48, 1);
    pools_destroy(&t, 0x930);
    is(0x440, 48, 0);
}

static void many(void **state)
{
    (void)state;
    for (u64 i = 0; i < 1000; i++)
        pools_create(0x10000 + i);
    pools_alloc(&t, 7, 0x10000 + 999, 0x500, 16);
    for (u64 i = 0; i < 999; i++)
        pools_destroy(&t, 0x10000 + i);
    is(0x500, 16, 1);
    pools_destroy(&t, 0x10000 + 999);
    is(0x500, 16, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroyed), cmocka_unit_test(freed), cmocka_unit_test(trimmed),
        cmocka_unit_test(moved),     cmocka_unit_test(many),
    };

    pages_init();
    ranges_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
