// SPDX-License-Identifier: MIT
//
// The written file.
#include "tests/unit/profile/text.h"

#include "profile/write/out.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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
    assert_int_equal(st.st_mode & 07777, 0640); // unchanged
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

// ---- Callgrind ----

static char *in_form(const char *text, struct quern_write_opts o)
{
    struct quern_profile *p = read_text(text);

    o.sz = sizeof(o);
    char *out = written(p, &o);
    quern_profile_free(p);
    return out;
}

static void written_is(const char *text, struct quern_write_opts o, const char *expected)
{
    char *got = in_form(text, o);

    assert_string_equal(got, expected);
    free(got);
}

#define HEADER "# callgrind format\nversion: 1\ncreator: quern\n"

// Relative positions: '*' if unchanged, '+' and '-' up to 2^30 - 1, in full beyond. A call's target
// is relative to the line before it, and does not move it.
static void test_relative(void **state)
{
    (void)state;
    written_is("version: 1\nevents: A\nfl=x\nfn=f\n5 1\n6 1\ncfn=f\ncalls=1 5\n6 1\n1073741829 1\n"
               "2147483653 1\n",
               (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND },
               HEADER "positions: line\nevents: A\nsummary: 4\n\nfl=(1) x\nfn=(1) f\n5 1\n+1 1\n"
                      "cfn=(1)\ncalls=1 -1\n* 1\n+1073741823 1\n2147483653 1\n\ntotals: 4\n");
    written_is("version: 1\npositions: instr line\nevents: A\nfl=x\nfn=f\n0x10 9 1\n0x8 9 1\n",
               (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND, .keep_order = 1 },
               HEADER "positions: instr line\nevents: A\nsummary: 2\n\nfl=(1) x\nfn=(1) f\n"
                      "0x10 9 1\n-8 * 1\n\ntotals: 2\n");
}

// Each part defines its ids again and begins with positions in full; its sums are its own.
static void test_parts(void **state)
{
    static const char text[] = "version: 1\npid: 7\npart: 1\nevents: A B\nob=o\nfl=x\nfn=f\n5 1 2\n"
                               "part: 2\nevents: A B\nob=o\nfl=x\nfn=f\n6 4\n"
                               "part: 3\nthread: 1\nevents: A B\nfl=x\nfn=g\n6 8 0.5\n";
    (void)state;
    written_is(text, (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND },
               HEADER "pid: 7\npart: 1\npositions: line\nevents: A B\nsummary: 1 2\n\n"
                      "ob=(1) o\nfl=(1) x\nfn=(1) f\n5 1 2\n\ntotals: 1 2\n"
                      "\npart: 2\npositions: line\nevents: A B\nsummary: 4 0\n\n"
                      "ob=(1) o\nfl=(1) x\nfn=(1) f\n6 4\n\ntotals: 4 0\n"
                      "\npart: 3\nthread: 1\npositions: line\nevents: A B\nsummary: 8 0.5\n\n"
                      "fl=(1) x\nfn=(2) g\n6 8 0.5\n\ntotals: 8 0.5\n");
    written_is(text,
               (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND, .combine_parts = 1 },
               HEADER "pid: 7\npart: 1\npositions: line\nevents: A B\nsummary: 13 2.5\n\n"
                      "fl=(1) x\nfn=(1) g\n6 8 0.5\n\nob=(1) o\nfn=(2) f\n-1 1 2\n+1 4\n\n"
                      "totals: 13 2.5\n");
}

// Parts without a number count from 1. Zeros at the end of a line are omitted, also those of an
// event with fractions, but never all of them.
static void test_parts_without_number(void **state)
{
    static const char text[] = "version: 1\npid: 7\nevents: A B\nfl=x\nfn=f\n5 1 0\n"
                               "thread: 4\nevents: A B\nfl=x\nfn=f\n6 0 0.5\n7 0.25 0\n8 0.0 0\n"
                               "pid: 9\nevents: A B\nfl=x\nfn=f\n6 0 0\n";
    (void)state;
    written_is(text, (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND },
               HEADER "pid: 7\npart: 1\npositions: line\nevents: A B\nsummary: 1 0\n\n"
                      "fl=(1) x\nfn=(1) f\n5 1\n\ntotals: 1 0\n"
                      "\npart: 2\nthread: 4\npositions: line\nevents: A B\nsummary: 0.25 0.5\n\n"
                      "fl=(1) x\nfn=(1) f\n6 0 0.5\n+1 0.25\n+1 0\n\ntotals: 0.25 0.5\n"
                      "\npart: 3\npid: 9\npositions: line\nevents: A B\nsummary: 0 0\n\n"
                      "fl=(1) x\nfn=(1) f\n6 0\n\ntotals: 0 0\n");
}

// In full, for every reader: one part, all counts, no jumps, no addresses, no ids.
static void test_portable(void **state)
{
    (void)state;
    written_is("version: 1\npositions: instr line\nevents: A B\nob=o\nfl=x\nfn=f\n0x1 5 1\n"
               "0x9 5 2 3\njump=1 0x1 5\n0x9 5\ncob=p\ncfi=y\ncfn=g\ncalls=2 0x7 1\n0x9 6 4\n",
               (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND, .portable = 1 },
               HEADER "positions: line\nevents: A B\nsummary: 3 3\n\n"
                      "ob=o\nfl=x\nfn=f\n5 3 3\ncob=p\ncfi=y\ncfn=g\ncalls=2 1\n6 4 0\n\n"
                      "totals: 3 3\n");
}

// Jumps: into another function and file; followed/reached; the place on a line of its own.
static void test_jumps_written(void **state)
{
    (void)state;
    written_is("version: 1\nevents: A\nfl=x\nfn=f\n5 1\njfi=y\njfn=g\njump=3 9\n5\n"
               "jcnd=2/7 5\n6\n",
               (struct quern_write_opts){ .format = QUERN_FORMAT_CALLGRIND },
               HEADER "positions: line\nevents: A\nsummary: 1\n\nfl=(1) x\nfn=(1) f\n5 1\n"
                      "jfi=(2) y\njfn=(2) g\njump=3 +4\n*\njcnd=2/7 *\n+1\n\ntotals: 1\n");
}

// An object that becomes unknown again is written as such; a name without a text is "???"; a
// newline in a name would begin another line.
static void test_names_written(void **state)
{
    struct quern_profile *p = quern_profile_new();
    uint32_t o = quern_profile_string(p, "a", -1), n = quern_profile_string(p, "x\ny\rz", -1);
    uint32_t first = quern_profile_func(p, o, QUERN_NONE, n);
    uint32_t second = quern_profile_func(p, QUERN_NONE, QUERN_NONE, QUERN_NONE);
    struct quern_write_opts w = {
        .sz = sizeof(w), .format = QUERN_FORMAT_CALLGRIND, .keep_order = 1, .no_compress_strings = 1
    };

    (void)state;
    quern_profile_set_events(p, (const char *const[]){ "A" }, 1);
    quern_profile_add_cost(p, &(struct quern_site){ .func = first, .file = QUERN_NONE, .line = 1 },
                           (uint64_t[]){ 1 }, 1);
    quern_profile_add_cost(p, &(struct quern_site){ .func = second, .file = QUERN_NONE, .line = 1 },
                           (uint64_t[]){ 2 }, 1);
    char *text = written(p, &w);
    assert_string_equal(text, HEADER "positions: line\nevents: A\nsummary: 3\n\n"
                                     "ob=a\nfl=???\nfn=x y z\n1 1\n\nob=???\nfn=???\n* 2\n\n"
                                     "totals: 3\n");
    free(text);
    quern_profile_free(p);
}

// ---- Cachegrind ----

// Every count of a line; fl= at a change of file, fn= at a change of function; the file of inlined
// code has a function of that name.
static void test_cachegrind(void **state)
{
    (void)state;
    written_is("version: 1\ndesc: I1 cache: 1 B\ndesc: Trigger: x\nevents: A B\nob=o\nfl=x\nfn=f\n"
               "5 1\nfi=h\n2 3 4\nfe=x\n6 2\nfn=g\n1 1\ncfn=f\ncalls=1 5\n1 100\n"
               "ob=p\nfl=x\nfn=f\n5 10\n",
               (struct quern_write_opts){ .format = QUERN_FORMAT_CACHEGRIND },
               "desc: I1 cache:         1 B\ndesc: Trigger: x\ncmd: \nevents: A B\n"
               "fl=h\nfn=f\n2 3 4\nfl=x\nfn=f\n5 11 0\n6 2 0\nfn=g\n1 1 0\nsummary: 17 4\n");
}

// A name that looks like an id follows an id, in every form, and reads back unchanged.
static void test_names_like_ids(void **state)
{
    const struct quern_write_opts calls = { .format = QUERN_FORMAT_CALLGRIND },
                                  plain = { .format = QUERN_FORMAT_CALLGRIND,
                                            .no_compress_strings = true };
    const char *text = "version: 1\nevents: A\nob=(1) (8) o\nfl=(1) (9)\nfn=(1) (5)\n1 1\n"
                       "cfn=(2) (7) seven\ncalls=1 2\n1 2\n\nfn=(2)\n2 2\n",
               *names = "\nob=(1) (8) o\nfl=(1) (9)\nfn=(1) (5)\n1 1\n"
                        "cfn=(2) (7) seven\ncalls=1 +1\n* 2\n";

    (void)state;
    for (int i = 0; i < 2; i++) {
        char *once = in_form(text, i ? plain : calls), *again = in_form(once, i ? plain : calls);

        assert_non_null(strstr(once, names));
        assert_string_equal(once, again);
        free(once);
        free(again);
    }
    char *once = in_form(text, (struct quern_write_opts){ .format = QUERN_FORMAT_CACHEGRIND });
    char *again = in_form(once, (struct quern_write_opts){ .format = QUERN_FORMAT_AUTO });
    assert_non_null(strstr(once, "\nfl=(9)\nfn=(5)\n1 1\nfn=(7) seven\n2 2\n"));
    assert_string_equal(once, again);
    free(once);
    free(again);
}

// As it was read; a built one without calls, jumps or addresses is Cachegrind's.
static void test_format_by_itself(void **state)
{
    struct quern_write_opts o = { .format = QUERN_FORMAT_AUTO };
    char *text = in_form("cmd: x\nevents: A\nfl=x\nfn=f\n1 1\n", o);

    (void)state;
    assert_memory_equal(text, "cmd:", 4);
    free(text);
    text = in_form("version: 1\nevents: A\nfl=x\nfn=f\n1 1\n", o);
    assert_memory_equal(text, HEADER, strlen(HEADER));
    free(text);
    // Names by number are Callgrind's, too.
    text = in_form("events: A\nfl=(1) x\nfn=(1) f\n1 1\n", o);
    assert_memory_equal(text, HEADER, strlen(HEADER));
    free(text);
    struct quern_profile *p = built();
    text = written(p, NULL);
    assert_memory_equal(text, "desc:", 5);
    free(text);
    struct quern_site at = { .func = 0, .file = QUERN_NONE, .addr = 1 };
    quern_profile_add_cost(p, &at, (uint64_t[]){ 1 }, 1);
    text = written(p, NULL);
    assert_memory_equal(text, HEADER, strlen(HEADER));
    free(text);
    quern_profile_free(p);
}

// A sum of 2^64 - 1 is written; one more is an error that names the event; so is one below -2^63.
static void test_sums_that_fit(void **state)
{
    struct quern_write_opts o = { .sz = sizeof(o) };
    struct quern_error err;
    struct quern_profile *p =
        read_text("events: A B\nfl=x\nfn=f\n1 1 18446744073709551614\n2 1 1\n");

    (void)state;
    char *text = written(p, &o);
    assert_non_null(strstr(text, "summary: 2 18446744073709551615\n"));
    free(text);
    quern_profile_free(p);
    p = read_text("events: A B\nfl=x\nfn=f\n1 1 18446744073709551615\n2 1 1\n");
    assert_int_equal(quern_profile_write(p, "/dev/null", &o, &err), -EOVERFLOW);
    assert_non_null(strstr(err.msg, "of B does not fit 64 bits"));
    quern_profile_free(p);
    p = read_text("events: A\nfl=x\nfn=f\n1 -9223372036854775808\n");
    assert_int_equal(quern_profile_write(p, "/dev/null", &o, &err), 0);
    quern_profile_free(p);
    p = read_text("events: A\nfl=x\nfn=f\n1 -9223372036854775809\n");
    assert_int_equal(quern_profile_write(p, "/dev/null", &o, &err), -EOVERFLOW);
    quern_profile_free(p);
}

// ---- Output ----

// Pieces of all sizes around the buffer of 128 KB arrive whole and in order.
static void test_buffer(void **state)
{
    enum { BUF = 128 << 10 };
    static const size_t piece[] = { 1,        OUT_ROOM, BUF / 2, BUF / 2 + 1, BUF - 65, BUF - 64,
                                    BUF - 63, BUF - 1,  BUF,     BUF + 1,     3 * BUF,  7 };
    char path[] = "/tmp/quern-test-XXXXXX", *all = malloc(16 * BUF), *back = malloc(16 * BUF);
    struct out o;
    size_t n = 0;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(out_open(&o, path), 0);
    for (size_t i = 0; i < sizeof(piece) / sizeof(*piece); i++) {
        memset(all + n, (int)('a' + i), piece[i]);
        out_mem(&o, all + n, piece[i]);
        n += piece[i];
        n += (size_t)sprintf(all + n, "%llu 0x%llx!", (unsigned long long)UINT64_MAX - i,
                             (unsigned long long)i);
        out_u64(&o, UINT64_MAX - i);
        out_char(&o, ' ');
        out_hex(&o, i);
        out_str(&o, "!");
    }
    for (int i = 0; i < 3 * BUF; i++) { // one by one, across the end
        all[n++] = (char)('a' + i % 26);
        out_char(&o, all[n - 1]);
    }
    assert_int_equal(out_close(&o, 0), 0);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(back, 1, 16 * BUF, f), n);
    assert_memory_equal(all, back, n);
    fclose(f);
    // given up: the old content stays
    assert_int_equal(out_open(&o, path), 0);
    out_str(&o, "never");
    assert_int_equal(out_close(&o, -EINVAL), -EINVAL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, n);
    remove(path);
    free(all);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_replaces_whole),
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_without_number),
        cmocka_unit_test(test_portable),
        cmocka_unit_test(test_jumps_written),
        cmocka_unit_test(test_names_written),
        cmocka_unit_test(test_cachegrind),
        cmocka_unit_test(test_names_like_ids),
        cmocka_unit_test(test_format_by_itself),
        cmocka_unit_test(test_sums_that_fit),
        cmocka_unit_test(test_buffer),
    };
    return cmocka_run_group_tests_name("profile write", tests, NULL, NULL);
}
