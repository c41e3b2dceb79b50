// SPDX-License-Identifier: MIT
//
// Profiles side by side: parts after parts, with their names, header fields and numbers.
#include <errno.h>

#include "tests/unit/profile/text.h"

#define A "version: 1\ncreator: one\ncmd: a\npid: 1\nevents: Ir Dr\nfl=x\nfn=f\n1 1 2\n"
#define B                                                                                     \
    "version: 1\ncreator: two\ncmd: b\npid: 2\npart: 1\nevents: Ir Dr\nfl=y\nfn=f\n3 10 20\n" \
    "cfn=g\ncalls=4 9\n3 5\njcnd=6/7 8\n3\npart: 2\nevents: Ir Dr\nfl=x\nfn=f\n1 100\n"

static int append(struct quern_profile *p, const char *text, const char *name)
{
    struct quern_profile *from = read_text(text);
    struct quern_error err;
    int rc = quern_profile_append(p, "p", from, name, &err);

    assert_int_equal(err.code, -rc);
    assert_int_equal(err.msg[0] != 0, rc != 0);

    quern_profile_free(from);
    return rc;
}

static void test_parts(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_part part;

    (void)state;
    assert_int_equal(append(p, A, "first"), 0);
    assert_int_equal(append(p, B, "second"), 0);
    assert_int_equal(append(p, A, NULL), 0);
    assert_int_equal(quern_profile_part_count(p), 4);
    static const struct {
        const char *creator, *cmd, *desc;
        uint64_t pid;
    } want[] = { { "one", "a", "Profile: first", 1 },
                 { "two", "b", "Profile: second", 2 },
                 { NULL, NULL, "Profile: second", 0 },
                 { "one", "a", NULL, 1 } };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(quern_profile_part(p, i, &part), 0);
        if (want[i].creator) {
            assert_string_equal(part.creator, want[i].creator);
            assert_string_equal(part.cmd, want[i].cmd);
        } else {
            assert_null(part.creator);
            assert_null(part.cmd);
        }
        assert_int_equal(part.has_pid, want[i].pid != 0);
        assert_int_equal(part.pid, want[i].pid);
        assert_int_equal(part.desc_count, want[i].desc != NULL);
        if (want[i].desc)
            assert_string_equal(part.desc[0], want[i].desc);
    }
    assert_int_equal(quern_profile_part(p, 4, &part), -ENOENT);
    assert_int_equal(total(p, 0), 1 + 10 + 100 + 1);
    assert_int_equal(total(p, 1), 2 + 20 + 2);
    // f of x, f and g of y: the f of x in the second part of B is that of A.
    assert_int_equal(quern_profile_func_count(p), 3);
    quern_profile_free(p);
}

// A part that has a name keeps it: a profile of ranks can be appended to another.
static void test_names_stay(void **state)
{
    struct quern_profile *p = quern_profile_new(), *q = quern_profile_new();
    struct quern_part part;
    struct quern_error err;

    (void)state;
    assert_int_equal(append(p, "version: 1\ndesc: Timerange: all\n" A, "rank 0"), 0);
    assert_int_equal(quern_profile_append(q, "q", p, "other", &err), 0);
    assert_int_equal(quern_profile_part(q, 0, &part), 0);
    assert_int_equal(part.desc_count, 2);
    assert_string_equal(part.desc[0], "Timerange: all");
    assert_string_equal(part.desc[1], "Profile: rank 0");
    quern_profile_free(p);
    quern_profile_free(q);
}

// Every field of a record is copied: a cost, a call and a jump of the second part.
static void test_records(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_record r;

    (void)state;
    assert_int_equal(append(p, A, NULL), 0);
    assert_int_equal(append(p, B, NULL), 0);
    struct quern_cursor *c = quern_cursor_new(p);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.part, 0);
    uint32_t f = r.at.func;
    assert_true(r.counts[0] == 1 && r.counts[1] == 2 && r.at.line == 1);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.part, 1);
    assert_true(r.kind == QUERN_REC_COST && r.at.func != f && r.at.line == 3);
    assert_true(r.counts[0] == 10 && r.counts[1] == 20);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_true(r.kind == QUERN_REC_CALL && r.calls == 4 && r.to.line == 9 && r.at.line == 3);
    assert_string_equal(quern_profile_str(p, quern_profile_func_get(p, r.to.func).name), "g");
    assert_true(r.counts[0] == 5 && r.counts[1] == 0);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_true(r.kind == QUERN_REC_JCND && r.calls == 6 && r.executed == 7 && r.to.line == 8);
    assert_int_equal(r.part, 1);
    assert_int_equal(quern_cursor_next(c, &r), 1);
    assert_int_equal(r.part, 2);
    assert_int_equal(r.at.func, f);
    assert_true(r.counts[0] == 100);
    assert_int_equal(quern_cursor_next(c, &r), 0);
    quern_cursor_free(c);
    quern_profile_free(p);
}

static void test_refused(void **state)
{
    struct quern_profile *p = quern_profile_new(), *other;
    struct quern_error err;

    (void)state;
    assert_int_equal(append(p, A, NULL), 0);
    assert_int_equal(append(p, "events: Ir\nfl=a\nfn=f\n1 1\nsummary: 1\n", "other"), -EINVAL);
    assert_int_equal(quern_profile_append(p, "p", p, "p", &err), -EINVAL);
    assert_int_equal(err.code, EINVAL);
    // Nothing was counted: nothing is added.
    assert_int_equal(quern_profile_part_count(p), 1);
    other = quern_profile_new();
    assert_int_equal(quern_profile_append(p, "p", other, "empty", &err), 0);
    assert_int_equal(quern_profile_part_count(p), 1);
    assert_int_equal(total(p, 0), 1);
    quern_profile_free(other);
    quern_profile_free(p);
}

// An event with fractions in one profile has them in all: 0.5 and 3 are 3.5.
static void test_fractions(void **state)
{
    const char *half = "version: 1\nevents: Ir Dr\nfl=x\nfn=f\n1 0.5 1\n";

    (void)state;
    for (int order = 0; order < 2; order++) {
        struct quern_profile *p = quern_profile_new();
        const char *three = "version: 1\nevents: Ir Dr\nfl=x\nfn=f\n1 3 1\n";
        char text[64];
        assert_int_equal(append(p, order ? half : three, NULL), 0);
        assert_int_equal(append(p, order ? three : half, NULL), 0);
        quern_count_format(text, sizeof(text), quern_profile_totals(p)[0],
                           quern_profile_event_scale(p, 0));
        assert_string_equal(text, "3.5");
        assert_int_equal(quern_profile_event_scale(p, 1), 1);
        assert_int_equal(total(p, 1), 2);
        quern_profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_records),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fractions),
    };
    return cmocka_run_group_tests_name("profile append", tests, NULL, NULL);
}
