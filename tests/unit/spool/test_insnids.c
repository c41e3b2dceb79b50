// SPDX-License-Identifier: MIT
// engine/spool/insnids.c: instructions by the first of their counters.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/spool/insnids.h"
#include "share/spool.h"

static void test_before(void **state)
{
    (void)state;
    assert_false(insnids_on());
    assert_int_equal(insnids_first(7), 7);
}

static void test_instructions(void **state)
{
    (void)state;
    insnids_init();
    assert_true(insnids_on());
    assert_int_equal(insnids_first(7), 7);
    insnids_note(100, 7);
    insnids_note(101, 8);
    insnids_note(100, 20);
    assert_int_equal(insnids_first(7), 7);
    assert_int_equal(insnids_first(8), 8);
    assert_int_equal(insnids_first(20), 7);
    for (u32 i = 0; i < 20000; i++) // the table grows
        insnids_note(1000 + i, 1000 + i);
    insnids_note(101, 30000);
    assert_int_equal(insnids_first(30000), 8);
    insnids_note(1500, 30001);
    assert_int_equal(insnids_first(30001), 1500);
    assert_int_equal(insnids_first(SPOOL_COUNTERS_MAX), SPOOL_COUNTERS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_instructions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
