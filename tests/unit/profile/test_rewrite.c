// SPDX-License-Identifier: MIT
//
// s/old/new/flags.
#include "tests/unit/profile/text.h"

#include <errno.h>

static void rewrite_is(const char *expr, const char *from, const char *to)
{
    struct quern_error err;
    struct quern_rewrite *r = quern_rewrite_new(expr, &err);

    if (!r)
        fail_msg("%s: %s", expr, err.msg);
    char *got = quern_rewrite_apply(r, from);
    assert_non_null(got);
    if (strcmp(got, to))
        fail_msg("%s on %s: expected %s, got %s", expr, from, to, got);
    free(got);
    quern_rewrite_free(r);
}

static void test_rewrite(void **state)
{
    (void)state;
    rewrite_is("s/version[0-9]/versionN/", "version1/prog.c", "versionN/prog.c");
    rewrite_is("s/o/0/", "foo", "f0o");
    rewrite_is("s/o/0/g", "foo", "f00");
    rewrite_is("s/FOO/bar/i", "foo", "bar");
    rewrite_is("s|/usr/src|/src|", "/usr/src/a.c", "/src/a.c");
    rewrite_is("s{a(b)c}{[$1]}", "xabcx", "x[b]x");
    rewrite_is("s/(a)(b)/\\2\\1/", "ab", "ba");
    rewrite_is("s/(a)(b)/$2$1/", "ab", "ba");
    rewrite_is("s/(\\w+)/<$&>/", "hi there", "<hi> there");
    rewrite_is("s/\\.[0-9]+$//", "T.1234", "T");
    rewrite_is("s/a\\/b/c/", "a/b", "c");
    rewrite_is("s/x/$/", "axb", "a$b");
    rewrite_is("s/nothing/else/", "same", "same");
    rewrite_is("s/\xff/y/",
               "a\xff"
               "b",
               "ayb"); // bytes, not UTF-8
    struct quern_error err;
    assert_null(quern_rewrite_new("s/a/b", &err));
    assert_non_null(strstr(err.msg, "delimiter"));
    assert_null(quern_rewrite_new("s/(/b/", &err));
    assert_non_null(strstr(err.msg, "character"));
    assert_null(quern_rewrite_new("s/a/b/q", &err));
    assert_non_null(strstr(err.msg, "'q'"));
    assert_null(quern_rewrite_new("tr/a/b/", &err));
    assert_null(quern_rewrite_new("", &err));
    assert_null(quern_rewrite_new("s", &err));
}

static void test_flags(void **state)
{
    (void)state;
    rewrite_is("s/a.b/x/", "a\nb", "a\nb");
    rewrite_is("s/a.b/x/s", "a\nb", "x");
    rewrite_is("s/^b/x/", "a\nb", "a\nb");
    rewrite_is("s/^b/x/m", "a\nb", "a\nx");
    rewrite_is("s/a b/x/", "ab", "ab");
    rewrite_is("s/a b/x/x", "ab", "x");
    rewrite_is("s/A/x/gi", "aAa", "xxx");
    rewrite_is("s/A/x/ig", "aAa", "xxx");
}

// Brackets nest, and may be separate; an escaped one is not a delimiter.
static void test_delimiters(void **state)
{
    struct quern_error err;

    (void)state;
    rewrite_is("s{a{2}}{b}", "aaa", "ba");
    rewrite_is("s(a(b))(<$1>)", "xab", "x<b>");
    rewrite_is("s[a] [b]", "aa", "ba");
    rewrite_is("s<a><b>g", "aa", "bb");
    rewrite_is("s{a}/b/", "a", "b");
    rewrite_is("s{a\\}b}{c}", "a}b", "c"); // a literal brace, not a delimiter
    rewrite_is("s,a\\,b,c,", "a,b", "c");
    rewrite_is("s/a/b\\/c/", "a", "b/c");
    assert_null(quern_rewrite_new("s{a{b}{c}", &err)); // one is still open
    assert_null(quern_rewrite_new("s{a}", &err));
    assert_null(quern_rewrite_new("s{a} ", &err));
    assert_null(quern_rewrite_new("sxaxbx", &err));
    assert_null(quern_rewrite_new("s a b ", &err));
    assert_null(quern_rewrite_new("s1a1b1", &err));
    assert_null(quern_rewrite_new("s_a_b_", &err));
    assert_int_equal(err.code, EINVAL);
}

static void test_replacement(void **state)
{
    struct quern_error err;

    (void)state;
    rewrite_is("s/b/[$&]/", "abc", "a[b]c");
    rewrite_is("s/b/[\\&]/", "abc", "a[&]c");
    rewrite_is("s/b/$0/", "abc", "abc");
    rewrite_is("s/(a)|(b)/[$1$2]/g", "abc", "[a][b]c"); // a group that is not set is empty
    rewrite_is("s/(.)(.)/${2}0${1}/", "ab", "b0a");
    rewrite_is("s/b/\\U$&/", "abc", "aBc");
    rewrite_is("s/b/a$/", "b", "a$");
    rewrite_is("s/b/$(/", "b", "$(");
    rewrite_is("s/b/\\n/", "b", "\n");
    // Each two characters become four before the check.
    rewrite_is("s/(b)/\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1/", "abc", "abbbbbbbbbbbbc");
    rewrite_is("s/b//", "abc", "ac");
    rewrite_is("s/x*/-/g", "ab", "-a-b-");
    assert_null(quern_rewrite_new("s/a*/${/", &err));
    assert_non_null(strstr(err.msg, "replacement"));
}

static void refused(const char *expr, const char *why)
{
    struct quern_error err = { 0 };

    if (quern_rewrite_new(expr, &err))
        fail_msg("%s is taken", expr);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(err.code, EINVAL);
    if (!strstr(err.msg, why))
        fail_msg("%s: %s", expr, err.msg);
}

// Reported at once, before any name that the pattern matches.
static void test_bad_replacement(void **state)
{
    static const char group[] =
        "'s/(a)b/\\2/': the replacement names a group that the pattern does "
        "not have";

    (void)state;
    refused("s/(a)b/\\2/", group);
    refused("s/ab/$1/", "names a group");
    refused("s/(a)b/${x}/", "names a group");
    refused("s/(a)|(b)/\\3/g", "names a group");
    refused("s/ab/${1/", "not understood");
    refused("s/ab/\\q/", "not understood");
    refused("s,\\Qa.b,\\9,", "names a group"); // quoted up to its end
    refused("s/a b # (/\\1/x", "names a group");
    refused("s{ab}{c\\}", "a delimiter is missing"); // a backslash at its end escapes the delimiter
    rewrite_is("s/(?<x>a)b/<${x}>/", "ab", "<a>");
    rewrite_is("s/(a)(b)?/\\2\\1/", "ac", "ac");
    rewrite_is("s/(?|(a)|(b))c/\\1/", "bc", "b");
    rewrite_is("s/(*UTF)\xc3\xa9+/e/", "\xc3\xa9\xc3\xa9", "e");
    rewrite_is("s/a/\\\\/", "a", "\\");
}

// A text that grows to a hundred times its length, more than the first buffer has space for.
static void test_long(void **state)
{
    char expr[200], text[51], *expected = malloc(50 * 100 + 1);
    int n = sprintf(expr, "s/a/");

    (void)state;
    memset(expr + n, 'b', 100);
    strcpy(expr + n + 100, "/g");
    memset(text, 'a', 50);
    text[50] = 0;
    memset(expected, 'b', 5000);
    expected[5000] = 0;
    rewrite_is(expr, text, expected);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrite),         cmocka_unit_test(test_flags),
        cmocka_unit_test(test_delimiters),      cmocka_unit_test(test_replacement),
        cmocka_unit_test(test_bad_replacement), cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests_name("profile rewrite", tests, NULL, NULL);
}
