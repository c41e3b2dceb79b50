// SPDX-License-Identifier: MIT
// engine/base/huge.c: what is asked of the kernel, which writes it down in /proc/self/smaps ("hg"
// among a mapping's VmFlags), and that nothing is asked once it is forbidden.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/huge.h"
#include "engine/base/mini.h"
#include "engine/base/sys.h"

static u64 map(void)
{
    return (u64)sys_mmap(0, 3 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
}

// Whether the mapping that has the address is to be of large pages.
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

static void test_prefer(void **state)
{
    u64 at = map(), without;

    (void)state;
    if (sys_madvise(map(), HUGE_PAGE, MADV_HUGEPAGE))
        skip(); // a kernel without them
    huge_prefer(at + HUGE_PAGE, HUGE_PAGE);
    assert_false(is_asked_for(at));
    assert_true(is_asked_for(at + HUGE_PAGE));
    assert_false(is_asked_for(at + 2 * HUGE_PAGE));
    huge_forbid();
    without = map();
    huge_prefer(without, 3 * HUGE_PAGE);
    assert_false(is_asked_for(without));
    assert_true(is_asked_for(at + HUGE_PAGE));
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_prefer) };

    return cmocka_run_group_tests_name("base/huge", tests, NULL, NULL);
}
