// SPDX-License-Identifier: MIT
//
// s/old/new/flags.
#include "tests/unit/profile/text.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrite),
    };
    return cmocka_run_group_tests_name("profile rewrite", tests, NULL, NULL);
}
