// SPDX-License-Identifier: MIT
//
// Names of functions as typed: what their parameters are, what a pattern matches, what is near. The
// names are those that binutils' c++filt prints, and of Rust and C.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "cli/base/funcname.h"

static void test_length(void **state)
{
    // The | is where the parameters begin.
    static const char *const names[] = {
        "main|",
        "bench_hash|()",
        "f|(int, char const*)",
        "ns::f<int (*)(int)>|(int (*)(int))",
        "A::get|() const",
        "f|(int) [clone .constprop.0]",
        "A::operator()|(int) const",
        "A::operator()|",
        "(below main)|",
        "(anonymous namespace)::f|(int)",
        "(anonymous namespace)::f|",
        "main::{lambda()#1}::operator()|() const",
        "run<main::{lambda()#1}>|",
        "<alloc::vec::Vec<T> as core::ops::Drop>::drop|",
        "call<fn()>|",
        "odd)|",
        "|",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *bar = strchr(names[i], '|');
        char name[100] = "";

        strncat(name, names[i], (size_t)(bar - names[i]));
        strcat(name, bar + 1);
        assert_int_equal(funcname_length(name), bar - names[i]);
    }
}

static void test_is(void **state)
{
    (void)state;
    assert_true(funcname_is("f", "f"));
    assert_true(funcname_is("f", "f(int)"));
    assert_true(funcname_is("f(int)", "f(int)"));
    assert_false(funcname_is("f(char)", "f(int)"));
    assert_false(funcname_is("f", "ff(int)"));
    assert_false(funcname_is("ff", "f(int)"));
    assert_false(funcname_is("", "f(int)"));
}

static void test_matches(void **state)
{
    (void)state;
    assert_true(funcname_is_pattern("a*"));
    assert_true(funcname_is_pattern("?"));
    assert_false(funcname_is_pattern("operator[]"));
    assert_true(funcname_matches("*", "f(int)"));
    assert_true(funcname_matches("*", ""));
    assert_true(funcname_matches("bench_*", "bench_hash()"));
    assert_true(funcname_matches("*sh", "bench_hash()"));
    assert_true(funcname_matches("*sh()", "bench_hash()"));
    assert_true(funcname_matches("b?n*a*h", "bench_hash"));
    assert_true(funcname_matches("*aab", "aaab"));
    assert_false(funcname_matches("bench_?", "bench_hash()"));
    assert_false(funcname_matches("sh", "bench_hash()"));
    assert_true(funcname_matches_whole("bench_*", "bench_hash()"));
    assert_false(funcname_matches_whole("bench_hash", "bench_hash()"));
}

static const char *nearest(const char *typed, const char *const *names)
{
    struct funcname_nearest n = { .typed = typed };

    for (; *names; names++)
        funcname_try(&n, *names);
    return n.best ? n.best : "";
}

static void test_nearest(void **state)
{
    static const char *const names[] = { "main",         "cold_path()", "hush(int)", "hash(int)",
                                         "bench_sort()", "a",           NULL };

    (void)state;
    assert_string_equal(nearest("maim", names), "main");
    assert_string_equal(nearest("hasx", names), "hash(int)"); // hush: two letters
    assert_string_equal(nearest("cold", names), "cold_path()");
    assert_string_equal(nearest("sort", names), "bench_sort()");
    assert_string_equal(nearest("bench_sort(int)", names), "bench_sort()");
    // Two letters in the wrong order are one wrong letter.
    assert_string_equal(nearest("mian", names), "main");
    assert_string_equal(nearest("amin", names), "main");
    assert_string_equal(nearest("amni", names), "");                   // both pairs
    assert_string_equal(nearest("bcneh_osrt", names), "bench_sort()"); // three of ten letters
    assert_string_equal(nearest("zzzz", names), "");
    assert_string_equal(nearest("b", names), ""); // a third of a letter
    assert_string_equal(nearest("", names), "");
}

// Two letters of 300, of which 255 count; and a name that is too long to be near.
static void test_long(void **state)
{
    char typed[301], name[301], longer[901];
    const char *names[] = { longer, name, NULL };

    (void)state;
    memset(typed, 'x', 300);
    memset(name, 'x', 300);
    memset(longer, 'y', 900);
    typed[300] = name[300] = longer[900] = '\0';
    typed[0] = typed[100] = 'z';
    assert_ptr_equal(nearest(typed, names), name);
    memset(name, 'w', 300);
    assert_string_equal(nearest(typed, names), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),  cmocka_unit_test(test_is),   cmocka_unit_test(test_matches),
        cmocka_unit_test(test_nearest), cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
