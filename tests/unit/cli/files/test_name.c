// SPDX-License-Identifier: MIT
//
// Names with %p and %q{VAR}.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/files/name.h"

static void expands(const char *name, const char *expected)
{
    char err[256] = "";
    char *s = name_expand(name, 4711, err, sizeof(err));

    assert_string_equal(s ? s : err, expected);
    free(s);
}

static void test_names(void **state)
{
    (void)state;
    setenv("TEST_A", "one", 1);
    setenv("TEST_EMPTY", "", 1);
    setenv("TEST_PERCENT", "%p", 1);
    unsetenv("TEST_UNSET");
    expands("", "");
    expands("plain", "plain");
    expands("%p", "4711");
    expands("a%pb%p", "a4711b4711");
    expands("%%p", "%p");
    expands("%%%p", "%4711");
    expands("%q{TEST_A}", "one");
    expands("x%q{TEST_A}%q{TEST_A}.%p", "xoneone.4711");
    expands("x%q{TEST_EMPTY}y", "xy");
    expands("%q{TEST_PERCENT}", "%p"); // the value of a variable is not expanded again
    expands("%q{TEST_UNSET}", "the environment variable TEST_UNSET of %q{TEST_UNSET} is not set");
    expands("%q", "%q is not followed by {VARIABLE}");
    expands("%q{}", "%q is not followed by {VARIABLE}");
    expands("%q{TEST_A", "%q is not followed by {VARIABLE}");
    expands("%qTEST_A", "%q is not followed by {VARIABLE}");
    expands("%", "% at the end; write %% for a percent sign");
    expands("%d", "%d is not one of %p, %q{VARIABLE}, %%");
}

static void test_escape(void **state)
{
    const char *const names[] = { "", "a", "%", "%%", "a%p%q{X}%", "/100%/x" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *escaped = name_escape(names[i]);

        expands(escaped, names[i]);
        free(escaped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_escape),
    };

    return cmocka_run_group_tests_name("name", tests, NULL, NULL);
}
