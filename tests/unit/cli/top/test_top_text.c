// SPDX-License-Identifier: MIT
//
// cli/top/top_text.c: names and numbers as they are on the screen.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/top_text.h"

static void clean(const char *text, int columns, bool unicode, int width, const char *expected)
{
    char *out = malloc(4 * (size_t)columns + 4); // as the header says: no byte more

    assert_int_equal(top_text_clean(out, text, strlen(text), columns, unicode), width);
    assert_string_equal(out, expected);
    free(out);
}

// Text that fits is whole; of what does not the last column is the ellipsis.
static void test_clean(void **state)
{
    (void)state;
    clean("", 0, true, 0, "");
    clean("abc", 3, true, 3, "abc");
    clean("abcd", 3, true, 3, "ab\xe2\x80\xa6");
    clean("abcd", 3, false, 3, "ab~");
    clean("ab", 1, false, 1, "~");
    clean("ab", 0, false, 0, "");
    clean("a~", 2, true, 2, "a~"); // the last of ASCII that is one column
}

// A tab leads to the next multiple of eight, or to the end.
static void test_tabs(void **state)
{
    (void)state;
    clean("a\tb", 9, true, 9, "a       b");
    clean("\tb", 9, true, 9, "        b");
    clean("12345678\tb", 17, true, 17, "12345678        b");
    clean("1234567\tb", 9, true, 9, "1234567 b");
    clean("a\tb", 8, false, 8, "a      ~");
    clean("a\tb", 5, false, 5, "a   ~");
}

// Two columns are not cut in halves; without UTF-8 a letter is a question mark.
static void test_wide(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    clean("\xe4\xb8\xad\xe4\xb8\xad", 4, true, 4, "\xe4\xb8\xad\xe4\xb8\xad");
    clean("\xe4\xb8\xad\xe4\xb8\xad", 3, true, 3, "\xe4\xb8\xad\xe2\x80\xa6");
    clean("\xe4\xb8\xad\xe4\xb8\xad", 2, true, 1, "\xe2\x80\xa6");
    clean("\xc3\xa4x", 2, true, 2, "\xc3\xa4x");
    clean("\xc3\xa4x", 2, false, 2, "?x");
    clean("e\xcc\x81", 2, true, 2, "e\xef\xbf\xbd"); // an accent of its own has no column
    setlocale(LC_CTYPE, "C");
}

// What a terminal obeys is written out, all of it or not at all.
static void test_escaped(void **state)
{
    (void)state;
    clean("\x1b[1m", 7, true, 7, "\\033[1m");
    clean("a\x1b", 5, true, 5, "a\\033");
    clean("a\x1b", 4, false, 2, "a~");
    clean("a\x1b"
          "b",
          5, false, 2, "a~");
    clean("a\xff", 5, true, 5, "a\\377");
    clean("\x7f", 4, true, 4, "\\177");
}

static void shortened(const char *name, const char *expected)
{
    char *is = top_text_short((const uint8_t *)name, strlen(name), false);

    assert_string_equal(is, expected);
    free(is);
}

// Arguments of templates have an ellipsis, as deep as they are; operators are no brackets, and what
// is not balanced stays.
static void test_short(void **state)
{
    const uint8_t nul[] = { 'a', 0, 'b' };
    char *is;

    (void)state;
    shortened("f", "f");
    shortened("<T>::f", "<~>::f");
    shortened("f<int>", "f<~>");
    shortened("a<b<c>, d>::e<f>(g)", "a<~>::e<~>(g)");
    shortened("operator<", "operator<");
    shortened("operator<<", "operator<<");
    shortened("operator<< <int>(x)", "operator<< <int>(x)");
    shortened("operator->", "operator->");
    shortened("A<operator>>::b", "A<operator>>::b");
    shortened("perator<x>", "perator<~>");
    shortened("f<int", "f<int");
    shortened("f>int", "f>int");
    is = top_text_short((const uint8_t *)"f<int>", 6, true);
    assert_string_equal(is, "f<\xe2\x80\xa6>");
    free(is);
    is = top_text_short(nul, 3, false);
    assert_string_equal(is, "a?b");
    free(is);
}

static void value(struct value v, int64_t scale, unsigned side, struct value new_, struct value old,
                  const char *expected)
{
    char out[TOP_TEXT_NUMBER];

    top_text_value(out, v, scale, side, new_, old);
    assert_string_equal(out, expected);
}

static struct value exact(int64_t n)
{
    return (struct value){ .is_exact = true, .exact = n, .approx = (double)n };
}

static struct value about(double n)
{
    return (struct value){ .approx = n };
}

static void test_values(void **state)
{
    const struct value no = exact(0), two = exact(2);

    (void)state;
    value(exact(1234567), 1, VALUES_NEW, no, no, "1,234,567");
    value(exact(1234567), 1, VALUES_DIFFERENCE, no, no, "+1,234,567");
    value(exact(0), 1, VALUES_DIFFERENCE, no, no, "0");
    value(exact(-5), 1, VALUES_DIFFERENCE, no, no, "-5");
    value(exact(5), 1, VALUES_OLD, no, no, "5");
    value(about(0.125), 1, VALUES_NEW, no, no, "~0.125");
    value(about(0.125), 1, VALUES_DIFFERENCE, no, no, "~+0.125");
    value(about(-0.125), 1, VALUES_DIFFERENCE, no, no, "~-0.125");
    value(about(0), 1, VALUES_DIFFERENCE, no, no, "~0");
    value(about(NAN), 1, VALUES_NEW, no, no, "-");
    value(about(1.5), 1, VALUES_FACTOR, two, two, "x1.50");
    value(about(NAN), 1, VALUES_FACTOR, two, two, "-");
    value(about(1.5), 1, VALUES_FACTOR, no, no, "-");
    value(about(1.5), 1, VALUES_FACTOR, two, no, "new");
    value(about(1.5), 1, VALUES_FACTOR, no, two, "gone");
}

static void test_shares(void **state)
{
    static const struct {
        double part, whole;
        const char *text;
    } row[] = {
        { 1, 3, "33.3%" }, { 1, 10, "10.0%" }, { 1, 30, "3.33%" }, { -1, 10, "-10.0%" },
        { 5, 0, "" },      { 0, 5, "0.00%" },  { NAN, 5, "" },
    };
    char out[TOP_TEXT_NUMBER];

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        top_text_share(out, about(row[i].part), about(row[i].whole));
        assert_string_equal(out, row[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),   cmocka_unit_test(test_tabs),  cmocka_unit_test(test_wide),
        cmocka_unit_test(test_escaped), cmocka_unit_test(test_short), cmocka_unit_test(test_values),
        cmocka_unit_test(test_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
