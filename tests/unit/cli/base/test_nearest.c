// SPDX-License-Identifier: MIT
//
// Which name was probably meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base/nearest.h"

static const char *of(const char *name, const char *const *known)
{
    struct nearest n = nearest_begin(name, strlen(name));

    while (*known)
        nearest_offer(&n, *known++);
    return n.best ? n.best : "none";
}

static void test_letters(void **state)
{
    static const char *const known[] = { "annotate", "merge", "report", "recover", "top", NULL };

    (void)state;
    assert_string_equal(of("anotate", known), "annotate");   // one inserted
    assert_string_equal(of("annnotate", known), "annotate"); // one deleted
    assert_string_equal(of("mirge", known), "merge");   // one changed: of five one may be wrong
    assert_string_equal(of("mrege", known), "merge");   // two exchanged
    assert_string_equal(of("mirgo", known), "none");    // two of five are too many
    assert_string_equal(of("rexoxt", known), "report"); // two of six are not
    assert_string_equal(of("tap", known), "top");       // one of three
    assert_string_equal(of("", known), "none");
    assert_string_equal(of("t", known), "none"); // one letter says nothing
    assert_string_equal(of("frobnicate", known), "none");
}

static void test_beginnings(void **state)
{
    static const char *const known[] = { "--context", "report", "Ir", "ILmr", NULL };

    (void)state;
    assert_string_equal(of("rep", known), "report");
    assert_string_equal(of("report-to-html", known), "report");
    assert_string_equal(of("REPORT", known), "report"); // case is no difference
    assert_string_equal(of("ir", known), "Ir");
    assert_string_equal(of("Dr", known), "none"); // one of two is too many
    assert_string_equal(of("ilMr", known), "ILmr");
}

// The nearest wins, the first of two that are equal; without its length the name would be longer.
static void test_best(void **state)
{
    static const char *const known[] = { "threshold", "threads", "treads", "thread", NULL };
    struct nearest n = nearest_begin("treads=2", 6);

    (void)state;
    for (size_t i = 0; known[i]; i++)
        nearest_offer(&n, known[i]);
    assert_string_equal(n.best, "treads");
    assert_int_equal(n.distance, 0);
    n = nearest_begin("threaxs", 7);
    for (size_t i = 0; known[i]; i++)
        nearest_offer(&n, known[i]);
    assert_string_equal(n.best, "threads");
    assert_int_equal(n.distance, 1);
}

// Names that are longer than what is compared: nothing outside is written, and the first letters
// decide.
static void test_long(void **state)
{
    char a[201], b[201];
    const char *known[] = { b, NULL };

    (void)state;
    memset(a, 'a', 200);
    memset(b, 'a', 200);
    a[200] = b[200] = '\0';
    a[3] = 'x';
    assert_ptr_equal(of(a, known), b);
    memset(b, 'b', 63);
    assert_string_equal(of(a, known), "none");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
