// SPDX-License-Identifier: MIT
//
// The model of libquern: builder, functions, costs, cycles, formulas, merging, subtracting,
// rewriting. All expected numbers are small enough to be added up by eye from the profile in the
// test.
#include "tests/unit/profile/test_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

// ---- Builder ----

static struct quern_profile *built(void)
{
    static const char *const events[] = { "Ir", "Dr" };
    struct quern_profile *p = quern_profile_new();
    uint32_t ob = quern_profile_string(p, "/bin/x", -1), a = quern_profile_string(p, "a.c", -1);
    uint32_t h = quern_profile_string(p, "a.h", -1);
    uint32_t f = quern_profile_func(p, ob, a, quern_profile_string(p, "f", -1));
    uint32_t g = quern_profile_func(p, ob, a, quern_profile_string(p, "g", -1));
    struct quern_site at_g = { .func = g, .file = a, .line = 9 };
    struct quern_site at_f = { .func = f, .file = a, .line = 3 };
    struct quern_site in_h = { .func = f, .file = h, .line = 1 };

    assert_int_equal(quern_profile_set_events(p, events, 2), 0);
    assert_int_equal(quern_profile_set_cmd(p, "./x y"), 0);
    assert_int_equal(quern_profile_set_pid(p, 42), 0);
    assert_int_equal(quern_profile_add_desc(p, "I1 cache", "32768 B, 64 B, 8-way associative"), 0);
    assert_int_equal(quern_profile_add_cost(p, &at_g, (uint64_t[]){ 7, 1 }, 2), 0);
    assert_int_equal(quern_profile_add_cost(p, &at_f, (uint64_t[]){ 5 }, 1), 0);
    assert_int_equal(quern_profile_add_cost(p, &in_h, (uint64_t[]){ 2, 2 }, 2), 0);
    assert_int_equal(quern_profile_add_cost(p, &at_f, (uint64_t[]){ 1, 1 }, 2), 0);
    return p;
}

static void test_build_cachegrind(void **state)
{
    struct quern_profile *p = built();
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CACHEGRIND };
    char *text = written(p, &o);

    (void)state;
    assert_string_equal(text, "desc: I1 cache:         32768 B, 64 B, 8-way associative\n"
                              "cmd: ./x y\n"
                              "events: Ir Dr\n"
                              "fl=a.c\nfn=f\n3 6 1\nfn=g\n9 7 1\n"
                              "fl=a.h\nfn=f\n1 2 2\n"
                              "summary: 15 4\n");
    free(text);
    quern_profile_free(p);
}

static void test_build_callgrind(void **state)
{
    struct quern_profile *p = built();
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CALLGRIND };
    struct quern_site at = { .func = func_named(p, "f"), .file = QUERN_NONE, .line = 4 };

    (void)state;
    assert_int_equal(
        quern_profile_add_call(p, &at, func_named(p, "g"), 9, 0, 2, (uint64_t[]){ 7, 1 }, 2), 0);
    char *text = written(p, &o);
    assert_string_equal(text,
                        "# callgrind format\nversion: 1\ncreator: quern\npid: 42\ncmd: ./x y\n"
                        "desc: I1 cache: 32768 B, 64 B, 8-way associative\n"
                        "positions: line\nevents: Ir Dr\nsummary: 15 4\n\n"
                        "ob=(1) /bin/x\nfl=(1) a.c\nfn=(1) f\n3 6 1\n"
                        "cfn=(2) g\ncalls=2 +6\n+1 7 1\n"
                        "fi=(2) a.h\n-3 2 2\n\n"
                        "fl=(1)\nfn=(2)\n+8 7 1\n\ntotals: 15 4\n");
    free(text);
    quern_profile_free(p);
}

static void test_build_refuses(void **state)
{
    struct quern_profile *p = quern_profile_new();
    struct quern_site at = { .func = 0, .file = QUERN_NONE };

    (void)state;
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "A", "A" }, 2), -EEXIST);
    assert_int_equal(quern_profile_set_events(p, (const char *const[]){ "B" }, 1), -EBUSY);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1),
                     -EINVAL); // no function
    quern_profile_func(p, QUERN_NONE, QUERN_NONE, QUERN_NONE);
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1, 2 }, 2),
                     -EINVAL); // one event
    assert_int_equal(quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1), 0);
    assert_int_equal(quern_profile_define_event(p, "X", "A + 2 Nope", NULL), -EINVAL);
    assert_int_equal(quern_profile_define_event(p, "Y", "3 A - 2 A", NULL), 0);
    assert_int_equal(total(p, 0), 1);
    assert_true(quern_profile_derive(p, (size_t)quern_profile_find_event(p, "Y"),
                                     quern_profile_totals(p)) == 1);
    quern_profile_free(p);
}

static void test_unknown_names_are_one(void **state)
{
    struct quern_profile *p = quern_profile_new();
    uint32_t q = quern_profile_string(p, "???", -1), e = quern_profile_string(p, "", -1);
    uint32_t n = quern_profile_string(p, "f", -1);

    (void)state;
    assert_int_equal(quern_profile_func(p, q, e, n),
                     quern_profile_func(p, QUERN_NONE, QUERN_NONE, n));
    assert_int_equal(quern_profile_func_count(p), 1);
    quern_profile_free(p);
}

// ---- Numbers ----

static void format_is(quern_count v, int64_t scale, const char *expected)
{
    char buf[64];
    assert_int_equal(quern_count_format(buf, sizeof(buf), v, scale), strlen(expected));
    assert_string_equal(buf, expected);
}

static void test_count_format(void **state)
{
    (void)state;
    format_is(0, 1, "0");
    format_is(-1, 1, "-1");
    format_is((quern_count)UINT64_MAX, 1, "18446744073709551615");
    format_is((quern_count)UINT64_MAX + 1, 1, "18446744073709551616");
    format_is(1500000000, 1000000000, "1.5");
    format_is(-1, 1000000000, "-0.000000001");
    format_is(2000000000, 1000000000, "2");
    format_is(1000000001, 1000000000, "1.000000001");
}

// ---- Costs ----

static void test_inclusive(void **state)
{
    // main 20+400+400 = 820, func1 100+300, func2 700: the specification's own example
    struct quern_error err;
    struct quern_profile *p = quern_profile_read("tests/golden/calls.callgrind", NULL, &err);

    (void)state;
    assert_non_null(p);
    struct quern_costs *c = quern_costs_new(p);
    assert_true(quern_costs_inclusive(c, func_named(p, "main"))[0] == 820);
    assert_true(quern_costs_self(c, func_named(p, "main"))[0] == 20);
    assert_true(quern_costs_inclusive(c, func_named(p, "func1"))[0] == 400);
    assert_true(quern_costs_inclusive(c, func_named(p, "func2"))[0] == 700);
    assert_int_equal(quern_costs_called(c, func_named(p, "func2")), 5);
    assert_int_equal(quern_costs_edge_count(c), 3);
    size_t n;
    quern_costs_callers(c, func_named(p, "func2"), &n);
    assert_int_equal(n, 2);
    size_t first, end;
    quern_costs_callees(c, func_named(p, "main"), &first, &end);
    assert_int_equal(end - first, 2);
    assert_int_equal(quern_costs_cycle(c, func_named(p, "main")), 0);
    quern_costs_free(c);
    quern_profile_free(p);
}

static void test_cycle(void **state)
{
    // main calls even (10 in all); even and odd call each other; odd calls leaf. The cycle costs
    // its members' self cost 3 + 4 and the leaf 2: 9, whatever the calls inside claim. Direct
    // recursion (fact) is no cycle and adds nothing to itself.
    struct quern_profile *p =
        read_text("events: Ir\nfl=a\nfn=main\n1 1\ncfn=even\ncalls=1 1\n1 9\n"
                  "cfn=fact\ncalls=1 1\n2 6\n"
                  "fn=even\n1 3\ncfn=odd\ncalls=2 1\n1 50\n"
                  "fn=odd\n1 4\ncfn=even\ncalls=2 1\n1 60\ncfn=leaf\ncalls=1 1\n1 2\n"
                  "fn=leaf\n1 2\nfn=fact\n1 6\ncfn=fact\ncalls=3 1\n1 99\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_true(quern_costs_cycle(c, func_named(p, "even")) != 0);
    assert_int_equal(quern_costs_cycle(c, func_named(p, "even")),
                     quern_costs_cycle(c, func_named(p, "odd")));
    assert_int_equal(quern_costs_cycle(c, func_named(p, "fact")), 0);
    assert_true(quern_costs_inclusive(c, func_named(p, "even"))[0] == 9);
    assert_true(quern_costs_inclusive(c, func_named(p, "odd"))[0] == 9);
    assert_true(quern_costs_inclusive(c, func_named(p, "fact"))[0] == 6);
    assert_true(quern_costs_inclusive(c, func_named(p, "main"))[0] == 16);
    assert_true(total(p, 0) == 16);
    quern_costs_free(c);
    quern_profile_free(p);
}

// A chain of calls that would overflow the stack of a recursive search.
static void test_deep_graph(void **state)
{
    static const char *const events[] = { "Ir" };
    struct quern_profile *p = quern_profile_new();
    enum { DEPTH = 200000 };

    (void)state;
    quern_profile_set_events(p, events, 1);
    for (unsigned i = 0; i < DEPTH; i++) {
        char name[20];
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(
            quern_profile_func(p, QUERN_NONE, QUERN_NONE, quern_profile_string(p, name, -1)), i);
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        struct quern_site at = { .func = i, .file = QUERN_NONE, .line = 1 };
        quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1);
        if (i + 1 < DEPTH)
            quern_profile_add_call(p, &at, i + 1, 1, 0, 1, (uint64_t[]){ DEPTH - 1 - i }, 1);
    }
    struct quern_costs *c = quern_costs_new(p);
    assert_non_null(c);
    assert_true(quern_costs_inclusive(c, 0)[0] == DEPTH);
    assert_int_equal(quern_costs_cycle(c, DEPTH / 2), 0);
    quern_costs_free(c);
    quern_profile_free(p);
}

static void test_present(void **state)
{
    struct quern_profile *p =
        read_text("events: A B C\nfl=a\nfn=f\n1 5 . 2\nfn=g\n1 5\nfn=h\n1 5 0 0\n"
                  "summary: 15 0 2\n");
    struct quern_costs *c = quern_costs_new(p);

    (void)state;
    assert_int_equal(quern_costs_present(c, func_named(p, "f")), 5);
    assert_int_equal(quern_costs_present(c, func_named(p, "g")), 1);
    assert_int_equal(quern_costs_present(c, func_named(p, "h")), 7);
    quern_costs_free(c);
    quern_profile_free(p);
}

// ---- Context rules ----

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
    // behind fi= a callee without cfi= is in that file (the call in line 8 is from inlined code)
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

// ---- Merging, subtracting, rewriting ----

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

// 64-bit counts whose sum does not fit, fractions that come only later, negative ones.
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

static void test_derive_at_the_ends(void **state)
{
    struct quern_profile *p =
        read_text("# callgrind format\nevent: S = 3 T - 2.5 Ir\nevents: T Ir\nfl=a\nfn=f\n"
                  "1 0.5 4\n");
    int at = quern_profile_find_event(p, "S");
    const quern_count max = (quern_count)(~(unsigned __int128)0 >> 1), nano = 1000000000;
    quern_count counts[2] = { 0 };

    (void)state;
    assert_int_equal(at, 2);
    assert_int_equal(quern_profile_event_scale(p, 2), 1000000000);
    assert_true(quern_profile_derive(p, 2, quern_profile_totals(p)) == -85 * (nano / 10));
    counts[0] = max / 4; // three times that fits, as it did not before it is divided
    assert_true(quern_profile_derive(p, 2, counts) ==
                max / 4 / nano * (3 * nano) + max / 4 % nano * 3);
    counts[0] = max / 2;
    assert_true(quern_profile_derive(p, 2, counts) == max);
    counts[0] = -max;
    counts[1] = max;
    assert_true(quern_profile_derive(p, 2, counts) == -max);
    quern_profile_free(p);
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

// ---- Files ----

static void test_write_replaces_whole(void **state)
{
    struct quern_profile *p = built();
    struct quern_write_opts o = { .sz = sizeof(o), .format = QUERN_FORMAT_CACHEGRIND };
    char dir[] = "/tmp/quern-test-XXXXXX", path[100], link[100];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/out", dir);
    snprintf(link, sizeof(link), "%s/link", dir);
    FILE *f = fopen(path, "w");
    fputs("old", f);
    fclose(f);
    chmod(path, 0640);
    assert_int_equal(symlink("out", link), 0);
    struct quern_error err;
    assert_int_equal(quern_profile_write(p, link, &o, &err), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 20);
    assert_int_equal(st.st_mode & 07777, 0640); // as it was
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode)); // still a link
    assert_true(quern_profile_write(p, "/dev/full", &o, &err) < 0);
    assert_string_equal(err.file, "/dev/full");
    snprintf(link, sizeof(link), "%s/no/such/folder", dir);
    assert_int_equal(quern_profile_write(p, link, &o, &err), -ENOENT);
    snprintf(link, sizeof(link), "%s/link", dir);
    remove(link);
    remove(path);
    assert_int_equal(rmdir(dir), 0); // nothing left beside it
    quern_profile_free(p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_cachegrind),
        cmocka_unit_test(test_build_callgrind),
        cmocka_unit_test(test_build_refuses),
        cmocka_unit_test(test_unknown_names_are_one),
        cmocka_unit_test(test_count_format),
        cmocka_unit_test(test_inclusive),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_deep_graph),
        cmocka_unit_test(test_present),
        cmocka_unit_test(test_callee_defaults),
        cmocka_unit_test(test_relative_positions),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_refuses_other_events),
        cmocka_unit_test(test_merge_wide),
        cmocka_unit_test(test_merge_files),
        cmocka_unit_test(test_subtract),
        cmocka_unit_test(test_derive_at_the_ends),
        cmocka_unit_test(test_rewrite),
        cmocka_unit_test(test_write_replaces_whole),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_strict_error_names_the_place),
        cmocka_unit_test(test_progress_cancels),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
