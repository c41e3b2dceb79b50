// SPDX-License-Identifier: MIT
// engine/base/pages.c: the hints to the kernel, as seen in /proc/self/smaps ("hg" among a mapping's
// VmFlags) and by mincore(); and no hints after they were turned off.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"

static u64 map(void)
{
    return (u64)sys_mmap(0, 3 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
}

// Whether large pages were requested for the mapping of this address.
static bool is_asked_for(u64 address)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    unsigned long start, end;
    bool in = false, found = false;
    char line[512];

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            in = address >= start && address < end;
        else if (in && !strncmp(line, "VmFlags:", 8))
            found = strstr(line, " hg") != NULL;
    }
    fclose(f);
    return found;
}

// How many pages from the n-th on are present; those before and after must not be.
static u32 there(u64 start, u32 first)
{
    unsigned char pages[256];
    u32 n = first;

    assert_int_equal(sys_call3(SYS_mincore, start, sizeof(pages) * PAGE_SIZE, (u64)pages), 0);
    assert_true(first == 0 || !(pages[first - 1] & 1));
    while (n < sizeof(pages) && (pages[n] & 1))
        n++;
    return n - first;
}

static u64 map_small(void)
{
    u64 at = (u64)sys_mmap(0, 256 * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);

    sys_madvise(at, 256 * PAGE_SIZE, MADV_NOHUGEPAGE);
    if (sys_madvise(at + 255 * PAGE_SIZE, PAGE_SIZE, MADV_POPULATE_WRITE))
        skip(); // a kernel before 5.14
    sys_madvise(at + 255 * PAGE_SIZE, PAGE_SIZE, MADV_DONTNEED);
    return at;
}

// 64 KiB at a time, again when less than a page of them is left, never above the limit.
static void test_up(void **state)
{
    u64 at = map_small(), asked = 0, limit = at + 40 * PAGE_SIZE;

    (void)state;
    pages_populate(&asked, at + 2 * PAGE_SIZE, limit);
    assert_int_equal(asked, at + 18 * PAGE_SIZE);
    assert_int_equal(there(at, 2), 16);
    pages_populate(&asked, at + 17 * PAGE_SIZE, limit);
    assert_int_equal(there(at, 2), 16);
    pages_populate(&asked, at + 17 * PAGE_SIZE + 1, limit);
    assert_int_equal(asked, at + 34 * PAGE_SIZE);
    assert_int_equal(there(at, 2), 32);
    pages_populate(&asked, at + 36 * PAGE_SIZE + 8, limit); // after what was requested
    assert_int_equal(asked, limit);
    assert_int_equal(there(at, 36), 4);
    pages_populate(&asked, limit, limit);
    assert_int_equal(there(at, 36), 4);
}

static void test_down(void **state)
{
    u64 at = map_small(), asked = ~0ul, limit = at + 10 * PAGE_SIZE;

    (void)state;
    pages_ahead_down(&asked, at + 50 * PAGE_SIZE, limit);
    assert_int_equal(asked, at + 34 * PAGE_SIZE);
    assert_int_equal(there(at, 34), 16);
    pages_ahead_down(&asked, at + 35 * PAGE_SIZE, limit);
    assert_int_equal(there(at, 34), 16);
    pages_ahead_down(&asked, at + 35 * PAGE_SIZE - 8, limit);
    assert_int_equal(there(at, 18), 32);
    pages_ahead_down(&asked, at + 14 * PAGE_SIZE, limit);
    assert_int_equal(asked, limit);
    assert_int_equal(there(at, 10), 4);
    pages_ahead_down(&asked, limit, limit);
    assert_int_equal(there(at, 10), 4);
}

static void test_huge(void **state)
{
    u64 at = map(), without;

    (void)state;
    if (sys_madvise(map(), HUGE_PAGE, MADV_HUGEPAGE))
        skip(); // a kernel without them
    pages_huge(at + HUGE_PAGE, HUGE_PAGE);
    assert_false(is_asked_for(at));
    assert_true(is_asked_for(at + HUGE_PAGE));
    assert_false(is_asked_for(at + 2 * HUGE_PAGE));
    pages_hints_off();
    without = map();
    pages_huge(without, 3 * HUGE_PAGE);
    assert_false(is_asked_for(without));
    assert_true(is_asked_for(at + HUGE_PAGE));
    at = map_small();
    pages_populate(&(u64){ 0 }, at, at + 40 * PAGE_SIZE);
    pages_ahead_down(&(u64){ ~0ul }, at + 40 * PAGE_SIZE, at);
    assert_int_equal(there(at, 0), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up), cmocka_unit_test(test_down),
        cmocka_unit_test(test_huge), // last: it turns the hints off
    };

    return cmocka_run_group_tests_name("base/pages", tests, NULL, NULL);
}
