// SPDX-License-Identifier: MIT
// engine/callgraph/patterns.c: which patterns match a name, and their combined options. Expected: *
// is any number of characters, ? is one, and an option with a pattern precedes one for all
// functions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/callgraph/patterns.h"
#include "engine/spool/spooler.h"

static struct spool_header header;
struct spool_header *spool = &header;

// The rules as `quern run` writes them. The first for all functions, for they say the least.
static const char text[] = "r2 \0"
                           "c3 ma?n\0"
                           "s0 *_*x\0"
                           "g7 a*b*c\0"
                           "t0 main\0"
                           "c1 \0"
                           "r5 *";

const char *spooler_string(u32 offset)
{
    assert_int_equal(offset, 16);
    return text;
}

static int set_up(void **state)
{
    (void)state;
    header.s_patterns = 16;
    header.patterns_bytes = sizeof(text);
    patterns_init();
    return 0;
}

// Bits by place in the list: 1 "ma?n", 2 "*_*x", 3 "a*b*c", 4 "main", 6 "*".
static void test_match(void **state)
{
    static const struct {
        const char *name;
        u64 rules;
    } rows[] = {
        { "main", 1 << 1 | 1 << 4 | 1 << 6 },
        { "maan", 1 << 1 | 1 << 6 },
        { "man", 1 << 6 },
        { "mains", 1 << 6 },
        { "_x", 1 << 2 | 1 << 6 },
        { "a_x_b_xx", 1 << 2 | 1 << 6 },
        { "a_xb", 1 << 6 },
        { "abc", 1 << 3 | 1 << 6 },
        { "abbcbc", 1 << 3 | 1 << 6 }, // the second * gives back what it has taken
        { "abcb", 1 << 6 },
        { "", 1 << 6 },
    };

    (void)state;
    assert_true(patterns_any());
    assert_true(patterns_has("xg"));
    assert_true(patterns_has("t"));
    assert_false(patterns_has("xyz"));
    assert_false(patterns_has(""));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(patterns_match(rows[i].name), rows[i].rules);
}

static void test_said(void **state)
{
    struct patterns r = patterns_of(0);

    (void)state;
    assert_int_equal(r.callers, 1);
    assert_int_equal(r.recs, 2);
    assert_int_equal(r.group, 0);
    assert_false(r.skip || r.toggle);
    r = patterns_of(patterns_match("main"));
    assert_int_equal(r.callers, 3);
    assert_int_equal(r.recs, 5);
    assert_true(r.toggle && !r.skip);
    r = patterns_of(patterns_match("ab_cxc"));
    assert_int_equal(r.callers, 1);
    assert_int_equal(r.group, 7);
    assert_false(r.skip || r.toggle);
    assert_true(patterns_of(patterns_match("f_x")).skip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_said),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
