// SPDX-License-Identifier: MIT
//
// The lines of a profile of the data: cli/profiles/walks.c, fields.c, lifetimes.c and lineuse.c.
// Each line that is damaged is left out, and the next one is read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profiles/fields.h"
#include "cli/profiles/lifetimes.h"
#include "cli/profiles/lineuse.h"
#include "cli/profiles/read.h"
#include "cli/profiles/walks.h"
#include "quern/profile.h"

static struct quern_profile *profile;
static uint32_t func; // "stack" of file "a.c"

struct quern_cursor *read_cursor(const struct quern_profile *p)
{
    return quern_cursor_new(p);
}

static int begin(void **state)
{
    static const char *const events[] = { "D1mr", "D1mw" };

    (void)state;
    profile = quern_profile_new();
    func = quern_profile_func(profile, QUERN_NONE, quern_profile_string(profile, "a.c", -1),
                              quern_profile_string(profile, "stack", -1));
    return quern_profile_set_events(profile, events, 2);
}

static int end(void **state)
{
    (void)state;
    quern_profile_free(profile);
    return 0;
}

static void desc(const char *key, const char *line)
{
    assert_int_equal(quern_profile_add_desc(profile, key, line), 0);
}

static void is_text(char *is, const char *expected)
{
    assert_string_equal(is, expected);
    free(is);
}

static void test_walks(void **state)
{
    const struct walk **list;
    struct walks w;
    size_t n;

    (void)state;
    desc("Walk", "stride 5600 by pointers\t99\t100\tstack");
    desc("Walk at", "random\t3\t3\tstack\tf\ta.c:12");
    desc("Walk at", "near\t1\t3\tstack\tf\ta.c:13");
    desc("Walk at", "near\t1\t3\tstack\tf\tb:c.c:12");
    desc("Walk at", "near\t2\t4\theap\tg\ta.c:12");
    desc("Walk at", "back\t2\t4\theap\tf\ta.c:12");
    desc("Walk", "near\t4\t3\tdamaged");       // more than all
    desc("Walk", "near\t3\tdamaged");          // a column less
    desc("Walk", "near\t-3\t3\tdamaged");      // no number
    desc("Walk", "near\t3\t3x\tdamaged");      // the same
    desc("Walk at", "near\t3\t3\tdamaged\tf"); // without a file
    desc("Walk at", "near\t3\t3\tdamaged\tf\ta.c");
    desc("Walk at", "near\t3\t3\tdamaged\tf\ta.c:");
    desc("Walker", "near\t3\t3\tdamaged");
    assert_true(walks_are("Walk: x"));
    assert_true(walks_are("Walk at: x"));
    assert_false(walks_are("Walks: x"));
    walks_read(&w, profile);
    assert_int_equal(w.count, 6);
    is_text(walks_text(walks_of_object(&w, "stack")), "stride 5,600 by pointers, 99 %");
    assert_null(walks_of_object(&w, "heap")); // of a line alone
    assert_null(walks_of_object(&w, "damaged"));
    is_text(walks_text(walks_at(&w, "stack", "f", "a.c", 12)), "random, 100 %");
    is_text(walks_text(walks_at(&w, "stack", "f", "a.c", 13)), "near, 33 %");
    is_text(walks_text(walks_at(&w, "stack", "f", "b:c.c", 12)), "near, 33 %");
    is_text(walks_text(walks_at(&w, "heap", "f", "a.c", 12)), "back, 50 %");
    assert_null(walks_at(&w, "stack", "f", "a.c", 11));
    assert_null(walks_at(&w, "stack", "f", "a.c", 14));
    assert_null(walks_at(&w, "stack", "g", "a.c", 12));
    list = walks_of_line(&w, "a.c", 12, &n);
    assert_int_equal(n, 3);
    assert_int_equal(list[0]->steps, 4);
    assert_int_equal(list[1]->steps, 4);
    assert_string_equal(list[2]->object, "stack");
    free(list);
    assert_null(walks_of_line(&w, "a.c", 1, &n));
    assert_int_equal(n, 0);
    walks_free(&w);
    assert_int_equal(w.count, 0);
    is_text(walks_text(&(struct walk){ .how = (char *)(uintptr_t) "near" }), "near, 0 %");
}

static void test_lifetimes(void **state)
{
    struct lifetimes l;

    (void)state;
    desc("Blocks", "1\t2\t3\t4\t5\t6\t7\t8\t1\tstack\ta.c");
    desc("Blocks", "10\t20\t30\t40\t50\t60\t4\t80\t90\theap\t???");
    desc("Blocks", "1000\t2000\t3000\t4000\t5000\t6000\t4\t7\t9\tstack\ta.c");
    desc("Blocks", "1\t2\t3\t4\t5\t6\t-\t-\t-\tlost\tb.c");
    desc("Blocks",
         "1\t2\t3\t4\t5\t-\t7\t8\t9\tdamaged\ta.c"); // only those of misses may be unknown
    desc("Blocks", "1\t2\t3\t4\t5\tx\t7\t8\t9\tdamaged\ta.c");
    desc("Blocks", "1\t2\t3\t4\t5\t6 \t7\t8\t9\tdamaged\ta.c");
    desc("Blocks", "1\t2\t3\t4\t5\t6\t7\t8\t9\tdamaged");
    assert_true(lifetimes_are("Blocks: "));
    assert_false(lifetimes_are("Blocks"));
    lifetimes_read(&l, profile);
    assert_int_equal(l.count, 3);
    for (int i = 0; i < LIFETIMES_MISSED; i++) {
        assert_int_equal(lifetimes_named(&l, "heap", "")->n[i], 10 * (i + 1));
        assert_int_equal(lifetimes_find(&l, profile, func)->n[i], 1001 + i * 1001);
    }
    assert_null(lifetimes_named(&l, "damaged", "a.c"));
    assert_null(lifetimes_named(&l, "stack", "b.c"));
    is_text(lifetimes_text(lifetimes_find(&l, profile, func)),
            "1,001 blocks, 2,002 bytes; at most 6,006 bytes; 990 never missed; 10 misses cold");
    is_text(lifetimes_text(lifetimes_named(&l, "heap", "")),
            "10 blocks, 20 bytes; at most 60 bytes; 6 never missed; 90 misses cold");
    is_text(lifetimes_text(lifetimes_named(&l, "lost", "b.c")),
            "1 block, 2 bytes; at most 6 bytes");
    lifetimes_free(&l);
    is_text(lifetimes_text(&(struct lifetime){ .n = { 1, 2, 3, 4, 5, 6, 7, 8, 1 } }),
            "1 block, 2 bytes; at most 6 bytes; 0 never missed; 1 miss cold");
    lifetimes_read_parts(&l, profile, 0, 2); // several parts
    assert_int_equal(l.count, 0);
    assert_null(lifetimes_named(&l, "stack", "a.c"));
    lifetimes_free(&l);
    lifetimes_read_parts(&l, profile, 1, 2); // not there
    assert_int_equal(l.count, 0);
    lifetimes_free(&l);
}

static void test_lineuse(void **state)
{
    struct lineuses l;

    (void)state;
    desc("Use", "30\t240\tstack\ta.c");
    desc("Use", "1\t64\theap\t???");
    desc("Use", "2\t17\tstack\ta.c");
    desc("Use", "3\t193\tmore than all\ta.c");
    desc("Use", "0\t0\tdamaged\ta.c");
    desc("Use", "1\t0\tdamaged\ta.c");
    desc("Use", "1\t-8\tdamaged\ta.c");
    desc("Use", "1\t8x\tdamaged\ta.c");
    desc("Use", "1099511627776\t8\tdamaged\ta.c"); // 2^40
    desc("Use", "99999999999999999999\t8\tdamaged\ta.c");
    desc("Use", "1\t8\tdamaged");
    desc("Use", "1");
    lineuse_read(&l, profile); // of which no line is known
    assert_int_equal(l.count, 0);
    lineuse_free(&l);
    desc("Use sample", "64\t64");
    assert_true(lineuse_are("Use: x"));
    assert_true(lineuse_are("Use sample: x"));
    assert_false(lineuse_are("User: x"));
    lineuse_read(&l, profile);
    assert_int_equal(l.count, 2);
    assert_int_equal(l.one_in, 64);
    assert_int_equal(l.line, 64);
    is_text(lineuse_text(&l, lineuse_named(&l, "heap", "")),
            "64 of 64 bytes of each line used, by a sample of 1 line");
    // 257 bytes of 32 lines: 8.03
    is_text(lineuse_text(&l, lineuse_find(&l, profile, func)),
            "8 of 64 bytes of each line used, by a sample of 32 lines");
    assert_null(lineuse_named(&l, "stack", ""));
    assert_null(lineuse_named(&l, "damaged", "a.c"));
    is_text(lineuse_average(&(struct lineuse){ .lines = 4, .bytes = 51 }), "12.8"); // 12.75
    l.one_in = 1;
    is_text(lineuse_text(&l, &(struct lineuse){ .lines = 2000, .bytes = 25000 }),
            "12.5 of 64 bytes of each line used, by 2,000 lines");
    lineuse_free(&l);
    assert_int_equal(l.count, 0);
    desc("Use sample", "64\tx");
    lineuse_read(&l, profile);
    assert_int_equal(l.count, 0);
    lineuse_free(&l);
}

static void test_fields(void **state)
{
    const struct quern_site at[] = { { .func = func, .addr = 16 },
                                     { .func = func, .addr = 8 },
                                     { .func = func, .addr = 16 } };
    const uint64_t counts[] = { 5, 6 };
    struct fields_row *rows;
    struct fields f;
    size_t n;

    (void)state;
    desc("Field", "8\tnodes[].left\tsub/list.c:12\tstack\ta.c");
    desc("Field", "16\tnode.right\tlist.c:13\tstack\ta.c\tinferred");
    desc("Field", "24\t(elsewhere)\t:0\tstack\ta.c");
    desc("Field", "32\tx\t:0\tstack\t???");
    desc("Field", "x8\tdamaged\ta.c:1\tstack\ta.c");
    desc("Field", "8x\tdamaged\ta.c:1\tstack\ta.c");
    desc("Field", "48\tdamaged\ta.c\tstack\ta.c"); // without a line
    desc("Field", "48\tdamaged\ta.c:1\tstack");
    for (int i = 0; i < 3; i++)
        assert_int_equal(quern_profile_add_cost(profile, &at[i], counts, 2), 0);
    assert_true(fields_are("Field: x"));
    assert_false(fields_are("Fields: x"));
    fields_read(&f, profile);
    assert_int_equal(f.count, 4);
    assert_false(f.data);
    assert_null(fields_rows(&f, profile, &n)); // it does not say that it is one of the data
    assert_int_equal(n, 0);
    fields_free(&f);
    desc("Functions", "objects of the data");
    fields_read(&f, profile);
    assert_true(f.data);
    rows = fields_rows(&f, profile, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].addr, 8);
    assert_int_equal(rows[0].counts[1], 6);
    assert_int_equal(rows[1].addr, 16);
    assert_int_equal(rows[1].counts[0], 10);
    assert_int_equal(rows[1].counts[1], 12);
    is_text(fields_text(&f, profile, &rows[0]), "nodes[].left (list.c:12)");
    is_text(fields_text(&f, profile, &rows[1]), "node.right (list.c:13, inferred)");
    is_text(fields_name(fields_find(&f, profile, func, 16)), "node.right (inferred)");
    rows[0].addr = 24;
    is_text(fields_text(&f, profile, &rows[0]), "(elsewhere)");
    rows[0].addr = 32; // of another file
    is_text(fields_text(&f, profile, &rows[0]), "+32");
    assert_null(fields_find(&f, profile, func, 48));
    fields_rows_free(rows, n);
    fields_free(&f);
    assert_null(fields_find(&f, profile, func, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_walks, begin, end),
        cmocka_unit_test_setup_teardown(test_lifetimes, begin, end),
        cmocka_unit_test_setup_teardown(test_fields, begin, end),
        cmocka_unit_test_setup_teardown(test_lineuse, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
