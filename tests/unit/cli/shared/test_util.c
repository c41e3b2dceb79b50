// SPDX-License-Identifier: MIT
//
// Numbers, with and without commas, and paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/shared/util.h"

static void test_commas(void **state)
{
    char buf[32];

    (void)state;
    assert_string_equal(util_commas(buf, 0), "0");
    assert_string_equal(util_commas(buf, 999), "999");
    assert_string_equal(util_commas(buf, 1000), "1,000");
    assert_string_equal(util_commas(buf, 1234567), "1,234,567");
    assert_string_equal(util_commas(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_numbers(void **state)
{
    uint64_t n = 7;

    (void)state;
    assert_true(util_number("0", 10, &n));
    assert_int_equal(n, 0);
    assert_true(util_number("18446744073709551615", UINT64_MAX, &n));
    assert_true(n == UINT64_MAX);
    assert_false(util_number("18446744073709551616", UINT64_MAX, &n));
    assert_false(util_number("11", 10, &n));
    assert_false(util_number("", 10, &n));
    assert_false(util_number("+1", 10, &n));
    assert_false(util_number(" 1", 10, &n));
    assert_false(util_number("1 ", 10, &n));
}

static void test_paths(void **state)
{
    static const struct {
        const char *cwd, *path, *absolute, *dirname, *basename;
    } cases[] = {
        { "/a/b", "c", "/a/b/c", ".", "c" },
        { "/a/b", "./c", "/a/b/c", ".", "c" },
        { "/a/b", ".//./c/d", "/a/b/c/d", ".//./c", "d" },
        { "/a/b", "../c", "/a/b/../c", "..", "c" },
        { "/a/b", "/c", "/c", "/", "c" },
        { "/", "c", "/c", ".", "c" },
        { "/a", ".", "/a", ".", "." },
        { "/a", "./", "/a", ".", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *s = util_absolute(cases[i].cwd, cases[i].path);

        assert_string_equal(s, cases[i].absolute);
        free(s);
        s = util_dirname(cases[i].path);
        assert_string_equal(s, cases[i].dirname);
        free(s);
        assert_string_equal(util_basename(cases[i].path), cases[i].basename);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
