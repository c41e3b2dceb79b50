// SPDX-License-Identifier: MIT
//
// Merging, subtracting, rewriting of names. Sums are added up in the comments or by eye.
#include "tests/unit/profile/text.h"

#include "profile/sum/merger.h"

#include <errno.h>

static void test_merge(void **state)
{
    struct quern_profile *a =
        read_text("version: 1\ncmd: a\nevents: Ir Dr\nfl=x\nfn=f\n1 1 1\ncfn=g\n"
                  "calls=2 9\n1 5 5\nfn=g\n9 5 5\n");
    struct quern_profile *b =
        read_text("version: 1\ncmd: b\nevents: Ir Dr\nfl=x\nfn=g\n9 7 7\nfn=f\n"
                  "1 2\n2 3\ncfn=g\ncalls=4 9\n1 7 7\n");
    struct quern_merger *m = quern_merger_new();

    (void)state;
    struct quern_error err;
    assert_int_equal(quern_merger_add(m, a, "a", &err), 0);
    assert_int_equal(quern_merger_add(m, b, "b", &err), 0);
    quern_profile_free(a);
    quern_profile_free(b);
    struct quern_profile *s = quern_merger_take(m, &err);
    assert_non_null(s);
    assert_int_equal(total(s, 0), 1 + 5 + 7 + 2 + 3);
    assert_int_equal(total(s, 1), 1 + 5 + 7);
    struct quern_costs *c = quern_costs_new(s);
    assert_int_equal(quern_costs_edge_count(c), 1);
    assert_int_equal(quern_costs_edge(c, 0).calls, 6);
    assert_true(quern_costs_edge(c, 0).counts[0] == 12);
    struct quern_part part;
    quern_profile_part(s, 0, &part);
    assert_string_equal(part.cmd, "a");
    quern_costs_free(c);
    quern_profile_free(s);
    quern_merger_free(m);
}

// A sum's header is the first one's, without what only a process of its own has. One profile, and
// the parts of a file, are the same.
static void test_merge_curve(void **state)
{
    static const char text[] =
        "desc: D1 cache: 64 B\ndesc: Curve sizes: 1 2\ndesc: Curve D1mr: 5 4\n"
        "desc: Curves: kept\nevents: Ir\nfl=x\nfn=f\n1 1\n";
    struct quern_profile *p = read_text(text), *s;
    struct quern_merger *m = quern_merger_new();
    struct quern_part part;
    struct quern_error err;

    (void)state;
    assert_int_equal(quern_merger_add(m, p, "a", &err), 0);
    s = quern_merger_take(m, &err);
    quern_profile_part(s, 0, &part);
    assert_int_equal(part.desc_count, 4);
    quern_profile_free(s);
    quern_merger_free(m);
    m = quern_merger_new();
    assert_int_equal(quern_merger_add(m, p, "a", &err), 0);
    assert_int_equal(quern_merger_add(m, p, "b", &err), 0);
    s = quern_merger_take(m, &err);
    quern_profile_part(s, 0, &part);
    assert_int_equal(part.desc_count, 2);
    assert_string_equal(part.desc[0], "D1 cache: 64 B");
    assert_string_equal(part.desc[1], "Curves: kept");
    quern_profile_free(s);
    quern_profile_free(p);
    quern_merger_free(m);
}

static void test_merge_refuses_other_events(void **state)
{
    struct quern_profile *a = read_text("events: Ir Dr\nfl=x\nfn=f\n1 1\n");
    struct quern_profile *b = read_text("events: Ir Dw\nfl=x\nfn=f\n1 1\n");
    struct quern_merger *m = quern_merger_new();

    (void)state;
    struct quern_error err;
    assert_int_equal(quern_merger_add(m, a, "one", &err), 0);
    assert_int_equal(quern_merger_add(m, b, "two", &err), -EINVAL);
    assert_non_null(strstr(err.msg, "Ir Dw"));
    assert_non_null(strstr(err.msg, "Ir Dr"));
    assert_non_null(strstr(err.msg, "one"));
    assert_string_equal(err.file, "two");
    quern_profile_free(a);
    quern_profile_free(b);
    quern_merger_free(m);
}

// 64-bit counts whose sum does not fit, fractions that appear only later, negative ones.
static void test_merge_wide(void **state)
{
    struct quern_profile *a =
        read_text("events: A\nfl=x\nfn=f\n1 18446744073709551615\n2 3\n3 1\n");
    struct quern_profile *b =
        read_text("events: A\nfl=x\nfn=f\n1 18446744073709551615\n2 0.25\n3 -7\n");
    struct quern_merger *m = quern_merger_new();
    char buf[64];

    (void)state;
    struct quern_error err;
    assert_int_equal(quern_merger_add(m, a, "a", &err), 0);
    assert_int_equal(quern_merger_add(m, b, "b", &err), 0);
    struct quern_profile *s = quern_merger_take(m, &err);
    quern_count_format(buf, sizeof(buf), quern_profile_totals(s)[0],
                       quern_profile_event_scale(s, 0));
    // 2 * (2^64 - 1) + 3.25 - 6
    assert_string_equal(buf, "36893488147419103227.25");
    quern_profile_free(a);
    quern_profile_free(b);
    quern_profile_free(s);
    quern_merger_free(m);
}

// Merging files with any number of threads gives the same bytes.
static void test_merge_files(void **state)
{
    enum { FILES = 24 };
    char names[FILES][40];
    const char *paths[FILES];
    char *texts[4];
    struct quern_error err;

    (void)state;
    for (int i = 0; i < FILES; i++) {
        snprintf(names[i], sizeof(names[i]), "/tmp/quern-test-%d-%d", (int)getpid(), i);
        paths[i] = names[i];
        FILE *f = fopen(names[i], "w");
        assert_non_null(f);
        fprintf(
            f,
            "# callgrind format\ncmd: run %d\nevents: Ir\nfl=a.c\nfn=f%d\n%d 1\ncfn=g\ncalls=1 1\n"
            "%d 2\nfn=g\n1 2\n",
            i, i % 5, i, i);
        fclose(f);
    }
    for (unsigned t = 1; t <= 4; t++) {
        struct quern_merge_opts o = { .sz = sizeof(o),
                                      .threads = t,
                                      .read = { .sz = sizeof(o.read) } };
        struct quern_profile *p = quern_profile_merge_files(paths, FILES, &o, &err);
        struct quern_write_opts w = { .sz = sizeof(w) };
        assert_non_null(p);
        assert_int_equal(total(p, 0), 3 * FILES);
        texts[t - 1] = written(p, &w);
        quern_profile_free(p);
    }
    for (int t = 1; t < 4; t++)
        assert_string_equal(texts[0], texts[t]);
    assert_non_null(strstr(texts[0], "cmd: run 0\n"));
    for (int t = 0; t < 4; t++)
        free(texts[t]);
    remove(names[7]);
    assert_null(quern_profile_merge_files(paths, FILES, NULL, &err));
    assert_string_equal(err.file, names[7]);
    // A caller that does not ask for the reason gets only the number.
    errno = 0;
    assert_null(quern_profile_merge_files(paths, FILES, NULL, NULL));
    assert_int_equal(errno, ENOENT);
    for (int i = 0; i < FILES; i++)
        remove(names[i]);
}

static void test_subtract(void **state)
{
    struct quern_profile *old =
        read_text("events: Ir\nfl=x\nfn=f\n1 10\n2 5\nfn=gone\n1 4\nsummary: 19\n");
    struct quern_profile *now =
        read_text("events: Ir\nfl=x\nfn=f\n3 12\n4 5\nfn=fresh\n1 1\nsummary: 18\n");
    struct quern_error err;
    struct quern_profile *d = quern_profile_subtract(now, old, 1, &err);
    struct quern_write_opts w = { .sz = sizeof(w), .format = QUERN_FORMAT_CACHEGRIND };

    (void)state;
    assert_non_null(d);
    char *text = written(d, &w);
    assert_string_equal(text, "cmd: \nevents: Ir\nfl=x\nfn=f\n0 2\nfn=fresh\n0 1\nfn=gone\n0 -4\n"
                              "summary: -1\n");
    free(text);
    quern_profile_free(d);
    quern_profile_free(old);
    quern_profile_free(now);
}

// ---- The table of sums ----

static struct quern_profile *sum_of(struct quern_profile *a, struct quern_profile *b)
{
    struct quern_merger *m = quern_merger_new();
    struct quern_error err;

    assert_int_equal(quern_merger_add(m, a, "a", &err), 0);
    assert_int_equal(quern_merger_add(m, b, "b", &err), 0);
    struct quern_profile *s = quern_merger_take(m, &err);
    assert_non_null(s);
    quern_merger_free(m);
    quern_profile_free(a);
    quern_profile_free(b);
    return s;
}

// The cost lines of its full output, without the totals at the end.
static void body_is(const struct quern_profile *p, const char *expected)
{
    struct quern_write_opts o = { .sz = sizeof(o),
                                  .format = QUERN_FORMAT_CALLGRIND,
                                  .no_compress_strings = 1,
                                  .no_compress_pos = 1 };
    char *text = written(p, &o), *body = strstr(text, "\n\n"), *end = strstr(text, "\n\ntotals:");

    assert_non_null(body);
    assert_non_null(end);
    *end = 0;
    assert_string_equal(body + 2, expected);
    free(text);
}

#define HEAD "version: 1\nevents: A B\nfl=x\nfn=f\n"

// The second file has the places of the first in another order, some twice, and some of its own; a
// count that the first omitted; and the same line in another file, which comes after the function's
// own.
static void test_any_order(void **state)
{
    struct quern_profile *s =
        sum_of(read_text(HEAD "1 1\n2 2\n3 3 30\n4 4\n"),
               read_text(HEAD "3 100\n1 100\n2 100 7\n1 100\n9 5\n4 100\nfi=a\n4 6\nfe=x\n3 1\n"));

    (void)state;
    body_is(s, "fl=x\nfn=f\n1 201\n2 102 7\n3 104 30\n4 104\n9 5\nfi=a\n4 6");
    quern_profile_free(s);
}

// What makes two records different: kind, line (also above 2^32), address, basic block, and of a
// target function, line and address. Each cost is a bit, so that sums show what was added to what.
static void test_places_stay_apart(void **state)
{
    static const char text[] =
        "version: 1\npositions: instr bb line\nevents: A\nfl=x\nfn=f\n"
        "0x0 0 1 1\n0x0 1 1 2\n0x8 0 1 4\n0x0 0 4294967297 8\n0x0 0 2 16\n"
        "cfn=g\ncalls=1 0x20 0 7\n0x0 0 1 32\ncfn=g\ncalls=1 0x20 0 8\n0x0 0 1 64\n"
        "cfn=g\ncalls=1 0x28 0 7\n0x0 0 1 128\ncfn=h\ncalls=2 0x20 0 7\n0x0 0 1 256\n"
        "jump=1 0x20 0 7\n0x0 0 1\njfi=y\njump=1 0x20 0 7\n0x0 0 1\njcnd=1/2 0x20 0 7\n0x0 0 1\n";
    struct quern_profile *s = sum_of(read_text(text), read_text(text));
    struct quern_cursor *c = quern_cursor_new(s);
    struct quern_record r;
    unsigned n[5] = { 0 }, bits = 0;
    uint64_t calls = 0, executed = 0, followed = 0;

    (void)state;
    while (quern_cursor_next(c, &r)) {
        n[r.kind]++;
        bits |= (unsigned)r.counts[0];
        if (r.kind == QUERN_REC_CALL)
            calls += r.calls;
        else
            followed += r.calls;
        executed += r.executed;
        if (r.at.line == 4294967297)
            assert_true(r.counts[0] == 16);
        if (r.at.bb == 1)
            assert_true(r.counts[0] == 4);
    }
    assert_int_equal(n[QUERN_REC_COST], 5);
    assert_int_equal(n[QUERN_REC_CALL], 4);
    assert_int_equal(n[QUERN_REC_JUMP], 2);
    assert_int_equal(n[QUERN_REC_JCND], 1);
    assert_int_equal(bits, 2 * 511);
    assert_int_equal(calls, 2 * 5);
    assert_int_equal(followed, 2 * 3);
    assert_int_equal(executed, 2 * 2);
    quern_cursor_free(c);
    quern_profile_free(s);
}

// A record at the place where another one is expected, with only one difference, is not added to
// that one: kind, function, file, line, high half of the line, address, block; object, file and
// name, line and address of the target; file of a jump's target.
static void test_expected_place_is_another(void **state)
{
    static const char head[] =
        "version: 1\npositions: instr bb line\nevents: A\nob=o\nfl=x\nfn=f\n";
#define CALL "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 1 1\n"
    static const char first[] = CALL "jfi=x\njump=1 0x20 0 7\n0x4 2 1\n0x4 2 1 1\n";
    static const struct {
        const char *text;
        size_t records; // three, and those that differ
    } second[] = {
        { first, 3 },
        { "cob=o\ncfi=x\ncfn=h\ncalls=1 0x20 0 7\n0x4 2 1 1\n", 4 },
        { "cob=p\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 1 1\n", 4 },
        { "cob=o\ncfi=y\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 1 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x28 0 7\n0x4 2 1 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 8\n0x4 2 1 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x5 2 1 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 3 1 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 2 1\n", 4 },
        { "cob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 4294967297 1\n", 4 },
        { "fi=y\ncob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 1 1\n", 4 },
        { "fn=h\ncob=o\ncfi=x\ncfn=g\ncalls=1 0x20 0 7\n0x4 2 1 1\n", 4 },
        { "0x4 2 1 1\n", 3 },
        { "0x4 3 1 1\n", 4 },
        { "0x4 2 4294967297 1\n", 4 },
        { CALL "jfi=x\njump=1 0x20 0 7\n0x4 2 1\n", 3 },
        { CALL "jfi=y\njump=1 0x20 0 7\n0x4 2 1\n", 4 },
        { CALL "jfi=x\njcnd=1/2 0x20 0 7\n0x4 2 1\n", 4 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(second) / sizeof(*second); i++) {
        char a[600], b[600];
        snprintf(a, sizeof(a), "%s%s", head, first);
        snprintf(b, sizeof(b), "%s%s", head, second[i].text);
        struct quern_profile *s = sum_of(read_text(a), read_text(b));
        struct quern_cursor *c = quern_cursor_new(s);
        struct quern_record r;
        size_t n = 0;
        while (quern_cursor_next(c, &r))
            n++;
        if (n != second[i].records)
            fail_msg("%zu records with\n%s", n, second[i].text);
        quern_cursor_free(c);
        quern_profile_free(s);
    }
}

// Consecutive costs whose context differs in one thing other than the line: the search for a cost
// record begins in the context of the last one.
static void test_context_changes(void **state)
{
    static const char text[] =
        "version: 1\npositions: bb line\nevents: A\nfl=x\nfn=f\n1 1 1\n2 1 2\n"
        "2 4294967297 4\nfi=y\n2 4294967297 8\nfn=g\n2 4294967297 16\n";
    struct quern_profile *s = sum_of(read_text(text), read_text(text));
    struct quern_cursor *c = quern_cursor_new(s);
    struct quern_record r;
    unsigned seen = 0;

    (void)state;
    while (quern_cursor_next(c, &r)) {
        unsigned v = (unsigned)r.counts[0];
        seen |= v;
        assert_int_equal(v & (v - 1), 0); // one bit: from one place
        assert_int_equal(r.at.bb, v == 2 ? 1 : 2);
        assert_true(r.at.line == (v <= 4 ? 1 : 4294967297));
        assert_string_equal(quern_profile_str(s, r.at.file), v == 16 ? "y" : "x");
    }
    assert_int_equal(seen, 2 * 31);
    quern_cursor_free(c);
    quern_profile_free(s);
}

// The first file has no addresses, the second has: earlier records are at address 0, as are those
// that the second has there.
static void test_addresses_come_later(void **state)
{
    struct quern_profile *s =
        sum_of(read_text("version: 1\nevents: A\nfl=x\nfn=f\n1 1\n2 2\n"),
               read_text("version: 1\npositions: instr line\nevents: A\nfl=x\nfn=f\n"
                         "0x0 2 20\n0x5 1 4\n0x0 1 8\n"));

    (void)state;
    body_is(s, "fl=x\nfn=f\n0x0 1 9\n0x0 2 22\n0x5 1 4");
    quern_profile_free(s);
}

// Around the 63 bits that are added in place: 2^62 + 2^62 exceeds them, 2^62 + 2^62 - 1 does not,
// and a sum that exceeds them leaves the other counts of its line correct. Numbers of calls, too.
static void test_end_of_63_bits(void **state)
{
    static const char line[] = "4611686018427387904";
    char a[400], b[400];

    (void)state;
    snprintf(a, sizeof(a), HEAD "1 5 %s\n2 6 %s\ncfn=g\ncalls=%s 1\n3 1 1\n", line, line, line);
    snprintf(b, sizeof(b), HEAD "1 7 %s\n2 8 4611686018427387903\ncfn=g\ncalls=%s 1\n3 1 1\n", line,
             line);
    struct quern_profile *s = sum_of(read_text(a), read_text(b));
    body_is(s, "fl=x\nfn=f\n1 12 9223372036854775808\n2 14 9223372036854775807\n"
               "cfn=g\ncalls=9223372036854775808 1\n3 2 2");
    quern_profile_free(s);
}

// 5000 lines of 300 functions, added twice in opposite orders: every table grows, and every entry
// is found again.
static void test_many_places(void **state)
{
    enum { N = 5000 };
    char *text[2] = { malloc(N * 40), malloc(N * 40) };

    (void)state;
    for (int k = 0; k < 2; k++) {
        char *o = text[k] + sprintf(text[k], "version: 1\nevents: A\nfl=x\n");
        for (unsigned i = 0; i < N; i++) {
            unsigned j = k ? N - 1 - i : i;
            o += sprintf(o, "fn=f%u\n%u %u\n", j % 300, j, j + 1);
        }
    }
    struct quern_profile *s = sum_of(read_text(text[0]), read_text(text[1]));
    assert_int_equal(total(s, 0), N * (N + 1)); // twice 1 + ... + N
    struct quern_cursor *c = quern_cursor_new(s);
    struct quern_record r;
    unsigned n = 0;
    for (; quern_cursor_next(c, &r); n++)
        assert_true(r.counts[0] == 2 * (quern_count)(r.at.line + 1));
    assert_int_equal(n, N);
    quern_cursor_free(c);
    quern_profile_free(s);
    free(text[0]);
    free(text[1]);
}

// A fraction in the second of two events, after integer counts of both: from then on costs and
// calls are counted in 10^-9 of the second.
static void test_fraction_comes_later(void **state)
{
    struct quern_profile *s = sum_of(read_text(HEAD "1 3 4\n2 9\ncfn=g\ncalls=6 1\n1 10 11\n"),
                                     read_text(HEAD "1 1 0.5\ncfn=g\ncalls=1 1\n1 1 0.25\n"));

    (void)state;
    assert_int_equal(quern_profile_event_scale(s, 0), 1);
    assert_int_equal(quern_profile_event_scale(s, 1), 1000000000);
    body_is(s, "fl=x\nfn=f\n1 4 4.5\ncfn=g\ncalls=7 1\n1 11 11.25\n2 9");
    quern_profile_free(s);
}

// Sorted by object, file and name of the function; in a function its own file first, then by line,
// costs before calls.
static void test_order(void **state)
{
    struct quern_profile *p =
        read_text("version: 1\nevents: A\nob=o2\nfl=b\nfn=z\n5 1\ncfn=k\ncalls=1 1\n4 2\n4 3\n"
                  "fi=a\n1 4\nfl=b\nfn=a\n1 5\nob=o1\nfl=c\nfn=y\n1 6\n");
    struct quern_merger *m = quern_merger_new();
    struct quern_error err;

    (void)state;
    assert_int_equal(quern_merger_add(m, p, "p", &err), 0);
    struct quern_profile *s = quern_merger_take(m, &err);
    body_is(s, "ob=o1\nfl=c\nfn=y\n1 6\n\nob=o2\nfl=b\nfn=a\n1 5\n\n"
               "fn=z\n4 3\ncfn=k\ncalls=1 1\n4 2\n5 1\nfi=a\n1 4");
    quern_profile_free(s);
    // it is empty now, and can be reused
    assert_int_equal(quern_merger_add(m, p, "p", &err), 0);
    assert_int_equal(quern_merger_add(m, p, "p", &err), 0);
    s = quern_merger_take(m, &err);
    assert_int_equal(total(s, 0), 2 * (1 + 3 + 4 + 5 + 6));
    quern_profile_free(s);
    quern_merger_free(m);
    quern_profile_free(p);
}

// Calls from one place to one function differ by their target line: line 9 comes after line 8, in
// whatever order the file has them.
static void test_order_of_targets(void **state)
{
    struct quern_profile *s =
        sum_of(read_text(HEAD "cfn=g\ncalls=1 9\n4 2\ncfn=g\ncalls=1 8\n4 3\n"),
               read_text(HEAD "cfn=g\ncalls=1 9\n4 5\n"));

    (void)state;
    body_is(s, "fl=x\nfn=f\ncfn=g\ncalls=1 8\n4 3\ncfn=g\ncalls=2 9\n4 7");
    quern_profile_free(s);
}

// ---- Joining, subtracting, rewriting ----

static struct quern_merger *merger_of(const char *text, const char *name)
{
    struct quern_merger *m = quern_merger_new();
    struct quern_profile *p = read_text(text);
    struct quern_error err;

    assert_int_equal(quern_merger_add(m, p, name, &err), 0);
    quern_profile_free(p);
    return m;
}

static void test_join(void **state)
{
    struct quern_merger *a = merger_of(HEAD "1 1\n", "a"), *b = merger_of(HEAD "1 2\n2 4\n", "b");
    struct quern_merger *c = merger_of("events: A C\nfl=x\nfn=f\n1 8\n", "c");
    struct quern_merger *none = quern_merger_new();
    struct quern_error err;

    (void)state;
    assert_int_equal(quern_merger_join(a, none, &err), 0);
    assert_int_equal(quern_merger_join(a, b, &err), 0);
    assert_int_equal(quern_merger_join(a, c, &err), -EINVAL); // other events
    assert_non_null(strstr(err.msg, "A C"));
    assert_string_equal(err.file, "c");
    struct quern_profile *s = quern_merger_take(a, &err);
    body_is(s, "fl=x\nfn=f\n1 3\n2 4");
    quern_profile_free(s);
    s = quern_merger_take(b, &err); // joined: it is empty
    assert_int_equal(quern_profile_event_count(s), 0);
    quern_profile_free(s);
    quern_merger_free(a);
    quern_merger_free(b);
    quern_merger_free(c);
    quern_merger_free(none);
    quern_merger_free(NULL);
}

// The header of the earlier file stays, in either direction of joining; so do the other's sums.
static void test_join_order(void **state)
{
    const char *early = "version: 1\ncmd: early\nevents: A B\nfl=x\nfn=f\n1 1\n";
    const char *late = "version: 1\ncmd: late\nevents: A B\nfl=x\nfn=f\n1 2\n";
    struct quern_part part;
    struct quern_error err;

    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct quern_merger *to = merger_of(swapped ? late : early, "a");
        struct quern_merger *from = merger_of(swapped ? early : late, "b");
        to->order = swapped ? 4 : 3;
        from->order = swapped ? 3 : 4;
        assert_int_equal(quern_merger_join(to, from, &err), 0);
        struct quern_profile *p = quern_merger_take(to, &err);
        quern_profile_part(p, 0, &part);
        assert_string_equal(part.cmd, "early");
        assert_int_equal(total(p, 0), 3);
        quern_profile_free(p);
        quern_merger_free(to);
        quern_merger_free(from);
    }
    struct quern_merger *none = quern_merger_new(), *from = merger_of(early, "b");
    from->order = 0;
    assert_int_equal(quern_merger_join(none, from, &err), 0);
    assert_int_equal(from->added, 0);
    struct quern_profile *p = quern_merger_take(none, &err);
    assert_int_equal(total(p, 0), 1);
    quern_profile_free(p);
    quern_merger_free(none);
    quern_merger_free(from);
}

// Line by line: records in only one of the two, calls, and counts that become zero.
static void test_subtract_lines(void **state)
{
    struct quern_profile *old = read_text(HEAD "1 10 1\n2 5\n4 4\ncfn=g\ncalls=5 1\n1 9\n");
    struct quern_profile *now = read_text(HEAD "1 12\n3 7\n4 4\ncfn=g\ncalls=7 1\n1 4\n");
    struct quern_error err;
    struct quern_profile *d = quern_profile_subtract(now, old, 0, &err);

    (void)state;
    assert_non_null(d);
    body_is(d, "fl=x\nfn=f\n1 2 -1\ncfn=g\ncalls=2 1\n1 -5\n2 -5\n3 7\n4 0");
    quern_profile_free(d);
    // fewer calls than before: the number does not become negative
    d = quern_profile_subtract(old, now, 0, &err);
    struct quern_costs *c = quern_costs_new(d);
    assert_int_equal(quern_costs_edge(c, 0).calls, 0);
    assert_true(quern_costs_edge(c, 0).counts[0] == 5);
    quern_costs_free(c);
    quern_profile_free(d);
    quern_profile_free(old);
    quern_profile_free(now);
}

// Counts that are not plain: fractions, negative ones, and more than 63 bits.
static void test_subtract_wide(void **state)
{
    struct quern_profile *old = read_text(HEAD "1 0.25 7\n2 2 -3\n3 1 18446744073709551615\n");
    struct quern_profile *now = read_text(HEAD "1 1.5 3\n2 1 -5\n3 4\n");
    struct quern_error err;
    struct quern_profile *d = quern_profile_subtract(now, old, 0, &err);
    struct quern_cursor *c = quern_cursor_new(d);
    struct quern_record r;
    const quern_count nano = 1000000000;
    const quern_count a[] = { 5 * nano / 4, -1 * nano, 3 * nano };
    const quern_count b[] = { -4, -2, -(quern_count)UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(quern_cursor_next(c, &r), 1);
        assert_true(r.counts[0] == a[i]);
        assert_true(r.counts[1] == b[i]);
    }
    assert_int_equal(quern_cursor_next(c, &r), 0);
    quern_cursor_free(c);
    quern_profile_free(d);
    quern_profile_free(old);
    quern_profile_free(now);
}

// Two functions with one name become one; files and functions have separate expressions; an object
// keeps its name.
static void test_rewrite_names(void **state)
{
    struct quern_profile *p = read_text(
        "version: 1\nevents: A\nob=f1\nfl=f1\nfn=f1\n1 1\nfl=f2\nfn=f2\n1 2\nfi=f1\n1 4\n");
    struct quern_error err;
    struct quern_rewrite *file = quern_rewrite_new("s/f[12]/file/", &err);
    struct quern_rewrite *func = quern_rewrite_new("s/f[12]/func/", &err);
    struct quern_profile *q = quern_profile_rewrite(p, file, func, &err);

    (void)state;
    body_is(q, "ob=f1\nfl=file\nfn=func\n1 7");
    quern_profile_free(q);
    q = quern_profile_rewrite(p, file, NULL, &err);
    body_is(q, "ob=f1\nfl=file\nfn=f1\n1 1\n\nfn=f2\n1 6");
    quern_profile_free(q);
    q = quern_profile_rewrite(p, NULL, func, &err);
    body_is(q, "ob=f1\nfl=f1\nfn=func\n1 1\n\nfl=f2\nfn=func\n1 2\nfi=f1\n1 4");
    quern_profile_free(q);
    quern_rewrite_free(file);
    quern_rewrite_free(func);
    // a pattern with exponential backtracking: the error gives the name that was being matched
    char text[200] = "events: A\nfl=x\nfn=";
    memset(text + strlen(text), 'a', 60);
    strcat(text, "b\n1 1\n");
    struct quern_profile *bad = read_text(text);
    func = quern_rewrite_new("s/^(a+)+$/c/", &err);
    assert_non_null(func);
    assert_null(quern_profile_rewrite(bad, NULL, func, &err));
    assert_int_equal(err.code, EINVAL);
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(err.msg, "'aaaa"));
    quern_rewrite_free(func);
    quern_profile_free(bad);
    quern_profile_free(p);
}

// An empty file, as Callgrind writes it for a thread that did nothing, does not count in the sum.
static void test_empty_adds_nothing(void **state)
{
    struct quern_profile *s = sum_of(read_text(""), read_text(HEAD "1 1\n"));

    (void)state;
    body_is(s, "fl=x\nfn=f\n1 1");
    quern_profile_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_refuses_other_events),
        cmocka_unit_test(test_merge_wide),
        cmocka_unit_test(test_merge_files),
        cmocka_unit_test(test_subtract),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_places_stay_apart),
        cmocka_unit_test(test_addresses_come_later),
        cmocka_unit_test(test_end_of_63_bits),
        cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_fraction_comes_later),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_of_targets),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_join_order),
        cmocka_unit_test(test_subtract_lines),
        cmocka_unit_test(test_rewrite_names),
        cmocka_unit_test(test_empty_adds_nothing),
        cmocka_unit_test(test_expected_place_is_another),
        cmocka_unit_test(test_context_changes),
        cmocka_unit_test(test_merge_curve),
        cmocka_unit_test(test_subtract_wide),
    };
    return cmocka_run_group_tests_name("profile merge", tests, NULL, NULL);
}
