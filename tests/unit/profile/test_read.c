// SPDX-License-Identifier: MIT
//
// The meaning of a line in its context, and the remarks on wrong lines.
#include "tests/unit/profile/text.h"

#include <errno.h>

static struct quern_record nth(const struct quern_profile *p, size_t n)
{
    struct quern_cursor *c = quern_cursor_new(p);
    struct quern_record r = { .kind = QUERN_REC_NONE };

    for (size_t i = 0; i <= n; i++)
        assert_int_equal(quern_cursor_next(c, &r), 1);
    quern_cursor_free(c);
    r.counts = NULL;
    return r;
}

static const char *file_of(const struct quern_profile *p, uint32_t func)
{
    return quern_profile_str(p, quern_profile_func_get(p, func).file);
}

static void test_callee_defaults(void **state)
{
    struct quern_error err;
    struct quern_profile *p = quern_profile_read("tests/golden/cfn-reset.callgrind", NULL, &err);

    (void)state;
    assert_non_null(p);
    struct quern_func g = quern_profile_func_get(p, nth(p, 2).to.func);
    assert_string_equal(quern_profile_str(p, g.name), "g");
    assert_string_equal(quern_profile_str(p, g.object), "o1");
    assert_string_equal(quern_profile_str(p, g.file), "a.c");
    quern_profile_free(p);
    // after fi= a callee without cfi= is in that file (the call in line 8 is from inlined code)
    p = read_text(
        "version: 1\nevents: Ir\nfl=a.c\nfn=f\n1 1\nfi=a.h\n5 1\ncfn=g\ncalls=1 8\n5 2\n");
    assert_string_equal(file_of(p, nth(p, 2).to.func), "a.h");
    assert_string_equal(file_of(p, nth(p, 2).at.func), "a.c");
    quern_profile_free(p);
}

static void test_relative_positions(void **state)
{
    struct quern_error err;
    struct quern_profile *p =
        quern_profile_read("tests/golden/position-compression.callgrind", NULL, &err);
    static const uint64_t addr[] = { 0x80001234, 0x80001237, 0x80001238, 0x80001230 };
    static const uint64_t line[] = { 90, 90, 91, 89 };

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(nth(p, i).at.addr, addr[i]);
        assert_int_equal(nth(p, i).at.line, line[i]);
    }
    quern_profile_free(p);
    p = quern_profile_read("tests/golden/call-target-relative.callgrind", NULL, &err);
    assert_non_null(p);
    assert_int_equal(nth(p, 1).to.line, 41); // 10 + 31
    assert_int_equal(nth(p, 1).at.line, 10);
    assert_int_equal(nth(p, 2).at.line, 11); // not 42
    quern_profile_free(p);
}

static void test_jumps(void **state)
{
    struct quern_error err;
    struct quern_profile *p = quern_profile_read("tests/golden/jumps.callgrind", NULL, &err);
    struct quern_profile *q = quern_profile_read("tests/golden/jumps-manual.callgrind", NULL, &err);

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    for (int i = 0; i < 2; i++) {
        struct quern_record r = nth(i ? q : p, 1);
        assert_int_equal(r.kind, QUERN_REC_JCND);
        assert_int_equal(r.calls, 3);    // followed
        assert_int_equal(r.executed, 4); // reached
        assert_int_equal(r.to.line, 15);
        assert_int_equal(r.at.line, 10);
    }
    assert_int_equal(nth(p, 2).kind, QUERN_REC_JUMP);
    assert_int_equal(nth(p, 2).at.line, 11);
    quern_profile_free(p);
    quern_profile_free(q);
}

static void test_read_errors(void **state)
{
    (void)state;
    struct quern_error err;
    assert_null(quern_profile_read("/nonexistent/file", NULL, &err));
    assert_int_equal(err.code, ENOENT);
    assert_null(quern_profile_read("/tmp", NULL, &err));
    assert_int_equal(err.code, EISDIR);
    assert_null(quern_profile_read_mem("int main(void)\n{\n}\n", 19, "x.c", NULL, &err));
    assert_non_null(strstr(err.msg, "events:"));
    assert_string_equal(err.file, "x.c");
}

static void test_strict_error_names_the_place(void **state)
{
    static const char text[] = "events: Ir\nfl=a\nfn=f\n1 5\n2 6 7\n";
    struct quern_read_opts o = { .sz = sizeof(o), .strict = 1 };

    (void)state;
    struct quern_error err;
    assert_null(quern_profile_read_mem(text, sizeof(text) - 1, "t", &o, &err));
    assert_int_equal(err.line, 5);
    assert_int_equal(err.col, 5);
    assert_string_equal(err.text, "2 6 7");
}

static int stop_at_once(void *ctx, uint64_t done, uint64_t size)
{
    (void)ctx;
    assert_true(done <= size);
    return 1;
}

static void test_progress_cancels(void **state)
{
    struct quern_read_opts o = { .sz = sizeof(o), .progress = stop_at_once };

    (void)state;
    struct quern_error err;
    assert_null(quern_profile_read("tests/golden/calls.callgrind", &o, &err));
    assert_int_equal(err.code, ECANCELED);
}

// ---- Wrong lines and their positions ----

// Reads text; its only remark above a note is of that kind and severity, at that position.
static void remark_is(const char *text, const char *kind, enum quern_severity severity,
                      uint64_t line, uint32_t col, const char *shown)
{
    struct quern_error err;
    struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "t", NULL, &err);
    size_t n = 0;

    if (!p)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < quern_profile_diag_count(p); i++) {
        const struct quern_diag *d = quern_profile_diag(p, i);
        if (d->severity == QUERN_NOTE)
            continue;
        n++;
        assert_string_equal(d->kind, kind);
        assert_int_equal(d->severity, severity);
        assert_int_equal(d->line, line);
        assert_int_equal(d->col, col);
        assert_string_equal(d->text, shown);
    }
    assert_int_equal(n, 1);
    quern_profile_free(p);
}

static void test_empty_file(void **state)
{
    struct quern_read_opts o = { .sz = sizeof(o), .strict = 1 };
    struct quern_error err;

    (void)state;
    remark_is("", "empty-file", QUERN_ERROR, 1, 1, "");
    assert_null(quern_profile_read_mem("", 0, "t", &o, &err));
    assert_int_equal(err.code, EBADMSG);
    assert_int_equal(err.line, 1);
    assert_int_equal(err.col, 1);
    // not empty, but nothing either
    assert_null(quern_profile_read_mem("\n", 1, "t", NULL, &err));
    assert_non_null(strstr(err.msg, "no 'events:' line"));
}

#define CALLS "version: 1\nevents: A\nfl=x\nfn=f\n1 1\ncfn=g\n"

// calls= is followed by the end of the file, a name, a jump, another call, a header, another part.
static void test_call_without_cost(void **state)
{
    static const char *const next[] = {
        "",         "fn=h\n",    "jump=1 1\n1\n", "cfn=g\ncalls=4 1\n1 2\n",
        "cmd: x\n", "part: 2\n", "totals: 1\n"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(next) / sizeof(*next); i++) {
        char text[200];
        snprintf(text, sizeof(text), CALLS "calls=3 1\n%s", next[i]);
        struct quern_profile *p = read_text(text);
        struct quern_costs *c = quern_costs_new(p);
        assert_int_equal(quern_costs_edge_count(c), 1);
        assert_int_equal(quern_costs_edge(c, 0).calls, i == 3 ? 7 : 3);
        assert_true(quern_costs_edge(c, 0).counts[0] == (i == 3 ? 2 : 0));
        assert_int_equal(total(p, 0), 1);
        quern_costs_free(c);
        quern_profile_free(p);
        if (i != 4) // that one has a remark of its own
            remark_is(text, "calls-without-cost", QUERN_ERROR, 7, 1, "calls=3 1");
    }
    // without a newline at the end, or CR LF: the remark shows the line
    remark_is(CALLS "calls=3 1", "calls-without-cost", QUERN_ERROR, 7, 1, "calls=3 1");
    remark_is(CALLS "calls=3 1\r\n", "calls-without-cost", QUERN_ERROR, 7, 1, "calls=3 1");
    // with its cost line, whose count is 0: correct
    struct quern_profile *p = read_text(CALLS "calls=3 1\n1 0\n");
    assert_int_equal(quern_profile_diag_count(p), 0);
    quern_profile_free(p);
}

// The line with calls= is the last of the reader's buffer of 256 KB, or the first of the next, or
// anywhere between; the remark shows its first 200 bytes.
static void test_call_at_buffer_edge(void **state)
{
    enum { BUF = 256 << 10 };
    char *text = malloc(3 * BUF), call[301];

    (void)state;
    memset(call, '1', sizeof(call));
    memcpy(call, "calls=3 ", 8);
    call[300] = 0;
    for (int at = BUF - 320; at <= BUF + 1; at++) {
        int n = sprintf(text, "%s#", CALLS);
        memset(text + n, '-', (size_t)(at - n - 1));
        text[at - 1] = '\n';
        n = at + sprintf(text + at, "%s\n#", call);
        memset(text + n, '+', BUF); // overwrites the whole buffer
        strcpy(text + n + BUF, "\nfn=h\n1 1\n");
        struct quern_profile *p = read_text(text);
        const struct quern_diag *d = NULL;
        for (size_t i = 0; i < quern_profile_diag_count(p); i++)
            if (strcmp(quern_profile_diag(p, i)->kind, "calls-without-cost") == 0)
                d = quern_profile_diag(p, i);
        assert_non_null(d);
        assert_int_equal(d->line, 8);
        assert_int_equal(d->col, 1);
        assert_int_equal(strlen(d->text), 200);
        assert_memory_equal(d->text, call, 200);
        quern_profile_free(p);
    }
    free(text);
}

// ---- Names ----

// Ids near and far: in an array up to 262,144 plus four times its size, in a table beyond; far ones
// move to the array when it reaches them.
static void test_ids(void **state)
{
    char *text = malloc(1 << 20), *o = text;
    uint64_t id[200];

    (void)state;
    o += sprintf(o, "version: 1\nevents: A\nfl=(1) x\n");
    for (unsigned i = 0; i < 200; i++) {
        // 600,000 and on, up to 2^63; and every fourth one small
        id[i] = i % 4 == 3 ? i : i % 4 == 0 ? 600000 + i * 977 : ((uint64_t)1 << (i % 44 + 20)) + i;
        o += sprintf(o, "fn=(%llu) f%u\n%u 1\n", (unsigned long long)id[i], i, i);
    }
    for (unsigned i = 0; i < 60000; i += 500) // the near ones grow past 800,000
        o += sprintf(o, "fn=(%u) n%u\n1 1\n", i * 14 + 1001, i);
    for (unsigned i = 0; i < 200; i++)
        o += sprintf(o, "fn=(%llu)\n%u 1000\n", (unsigned long long)id[i], i);
    struct quern_profile *p = read_text(text);
    struct quern_costs *c = quern_costs_new(p);
    for (unsigned i = 0; i < 200; i++) {
        char name[20];
        snprintf(name, sizeof(name), "f%u", i);
        if (quern_costs_self(c, func_named(p, name))[0] != 1001)
            fail_msg("id %llu", (unsigned long long)id[i]);
    }
    assert_int_equal(quern_profile_diag_count(p), 0);
    quern_costs_free(c);
    quern_profile_free(p);
    free(text);
}

// A far id exactly at the end of the array: 1 makes space for 1025, 200000 for 301024, 400000 for
// 601024.
static void test_id_at_the_end(void **state)
{
    struct quern_profile *p =
        read_text("version: 1\nevents: A\nfl=x\nfn=(1) a\n1 1\nfn=(301024) far\n1 2\n"
                  "fn=(200000) b\n1 4\nfn=(400000) c\n1 8\nfn=(301024)\n1 16\nfn=(400000)\n1 32\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_int_equal(quern_profile_diag_count(p), 0);
    assert_true(quern_costs_self(c, func_named(p, "far"))[0] == 18);
    assert_true(quern_costs_self(c, func_named(p, "c"))[0] == 40);
    quern_costs_free(c);
    quern_profile_free(p);
}

// ---- Numbers ----

// The count of a line "1 NUMBER", in units of 10^-9, with the fast paths and without them.
static void number_is(const char *number, quern_count nano)
{
    char text[100];

    snprintf(text, sizeof(text), "events: A\nfn=f\n1 %s\n", number);
    for (int no_fast = 0; no_fast < 2; no_fast++) {
        struct quern_read_opts o = { .sz = sizeof(o), .no_fast = no_fast };
        struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "t", &o, NULL);
        assert_non_null(p);
        if (quern_profile_totals(p)[0] * (1000000000 / quern_profile_event_scale(p, 0)) != nano)
            fail_msg("%s", number);
        quern_profile_free(p);
    }
}

static void test_numbers(void **state)
{
    const quern_count nano = 1000000000;
    const quern_count most = (quern_count)10000000000 * 10000000000 * nano; // 10^20

    (void)state;
    number_is("0", 0);
    number_is("9999999999999999999", (quern_count)9999999999999999999u * nano); // 19 digits
    number_is("10000000000000000000", (quern_count)10000000000000000000u * nano);
    number_is("18446744073709551615", (quern_count)UINT64_MAX * nano);
    number_is("18446744073709551616", ((quern_count)UINT64_MAX + 1) * nano);
    number_is("99999999999999999999", most - nano);
    number_is("100000000000000000000", most);
    number_is("100000000000000000001", most);
    number_is("0000000000000000000000000000000000000007", 7 * nano);
    number_is("-3", -3 * nano);
    number_is("+3", 3 * nano);
    number_is("0x10", 16 * nano);
    number_is("0XfF", 255 * nano);
    number_is("1.000000001", nano + 1);
    number_is("1.0000000019", nano + 1);
    number_is(".5", nano / 2);
    number_is("5.", 5 * nano);
    number_is("1e3", 1000 * nano);
    number_is("1.5E+2", 150 * nano);
    number_is("25e-1", 5 * nano / 2);
    number_is("1e-9", 1);
    number_is("1e-10", 0);
    number_is("1e20", most);
    number_is("1e99999", most);
    number_is("0e99999", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callee_defaults),
        cmocka_unit_test(test_relative_positions),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_strict_error_names_the_place),
        cmocka_unit_test(test_progress_cancels),
        cmocka_unit_test(test_empty_file),
        cmocka_unit_test(test_call_without_cost),
        cmocka_unit_test(test_call_at_buffer_edge),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_id_at_the_end),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests_name("profile reader", tests, NULL, NULL);
}
