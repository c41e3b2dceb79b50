// SPDX-License-Identifier: MIT
// engine/count/lineids.c: a number for each line; lines of an earlier run keep theirs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/count/lineids.h"

// Memory is freed with the size with which it was allocated.
static u64 held;

void *heap_alloc(u64 bytes)
{
    held += bytes;
    return calloc(1, bytes);
}

void heap_free(void *p, u64 bytes)
{
    held -= bytes;
    free(p);
}

#define BYTES_FOR(lines) ((lines)*12ul) // 8 bytes for the line and 4 for its number

static int begin(void **state)
{
    (void)state;
    lineids_init();
    return held != BYTES_FOR(4096);
}

// The lines that the tests ask for, in this order: there is one table.
static const u64 first[] = { 0x401, 0, ~0ul - 1 };

// An earlier run's lines, more than half of the table: first[] get numbers 1 to 3.
#define TAKEN 10000u

static u64 taken(u32 i)
{
    return i < ARRAY_SIZE(first) ? first[i] : 0x10000000 + i * 0x40ul;
}

static void test_take(void **state)
{
    static u64 line[TAKEN];

    (void)state;
    assert_int_equal(lineids_count(), 0);
    lineids_preset(line, 0);
    assert_int_equal(lineids_count(), 0);
    assert_int_equal(held, BYTES_FOR(4096));
    for (u32 i = 0; i < TAKEN; i++)
        line[i] = taken(i);
    lineids_preset(line, TAKEN);
    assert_int_equal(lineids_count(), TAKEN);
    assert_int_equal(held, BYTES_FOR(32768)); // it is at most half full
}

// Each line keeps its number, and a new line gets the next.
static void test_numbers(void **state)
{
    (void)state;
    for (u32 i = 0; i < TAKEN; i++)
        assert_int_equal(lineids_of(taken(i)), i + 1);
    assert_int_equal(lineids_count(), TAKEN);
    assert_int_equal(lineids_of(7), TAKEN + 1);
    assert_int_equal(lineids_of(8), TAKEN + 2);
    assert_int_equal(lineids_of(7), TAKEN + 1);
    assert_int_equal(lineids_count(), TAKEN + 2);
}

static void test_list(void **state)
{
    static u64 line[TAKEN + 3];

    (void)state;
    line[TAKEN + 2] = 4711;
    lineids_list(line);
    for (u32 i = 0; i < TAKEN; i++)
        assert_int_equal(line[i], taken(i));
    assert_int_equal(line[TAKEN], 7);
    assert_int_equal(line[TAKEN + 1], 8);
    assert_int_equal(line[TAKEN + 2], 4711);
}

// The table of 32768 grows when it is half full, and loses nothing.
static void test_grow(void **state)
{
    static u64 line[20000];

    (void)state;
    for (u32 i = lineids_count(); i < ARRAY_SIZE(line); i++)
        assert_int_equal(lineids_of(i), i + 1);
    assert_int_equal(held, BYTES_FOR(65536));
    lineids_list(line);
    for (u32 i = 0; i < TAKEN; i++)
        assert_int_equal(line[i], taken(i));
    for (u32 i = TAKEN + 2; i < ARRAY_SIZE(line); i++)
        assert_int_equal(line[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_grow),
    };

    return cmocka_run_group_tests_name("count/lineids", tests, begin, NULL);
}
