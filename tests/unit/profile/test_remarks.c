// SPDX-License-Identifier: MIT
//
// The reader's remarks one by one: kind, line and column of every remark on a small text, in order.
// Lines and columns are counted in the text beside them. test_golden.c tests how much of a golden
// file is understood.
#include "tests/unit/profile/text.h"

static char said[4096];

static void note(void *ctx, const struct quern_diag *d)
{
    size_t n = strlen(said);

    assert_ptr_equal(ctx, said);
    assert_string_equal(d->file, "text");
    snprintf(said + n, sizeof(said) - n, "%s%s@%llu:%u", n ? " " : "", d->kind,
             (unsigned long long)d->line, d->col);
}

#define ANY INT64_MIN // the value of a number that does not fit

// The text must be a profile with these remarks; the first total is `sum`.
static void expect_bytes(const char *text, size_t n, const char *remarks, long long sum)
{
    struct quern_read_opts o = { .sz = sizeof(o), .every_diag = 1, .diag = note, .diag_ctx = said };
    struct quern_error err;

    said[0] = 0;
    struct quern_profile *p = quern_profile_read_mem(text, n, "text", &o, &err);
    if (!p)
        fail_msg("%s: %llu: %s", text, (unsigned long long)err.line, err.msg);
    if (strcmp(said, remarks) != 0 || (sum != ANY && total(p, 0) != sum))
        fail_msg("%s\nsays '%s' and not '%s', total %lld", text, said, remarks, total(p, 0));
    quern_profile_free(p);
}

static void expect(const char *text, const char *remarks, long long sum)
{
    expect_bytes(text, strlen(text), remarks, sum);
}

#define HEAD "version: 1\nevents: Ir\nfl=a\nfn=f\n" // 4 lines
#define BARE "events: Ir\nfl=a\nfn=f\n"             // 3
#define CG   "cmd: x\n" BARE                        // 4, of Cachegrind

static void test_names(void **state)
{
    (void)state;
    expect(HEAD "1 1\n", "", 1);
    // Unknown names of two and of three letters; they change nothing.
    expect(HEAD "fx=b\n1 1\n", "junk-line@5:1", 1);
    expect(HEAD "oz=b\n1 1\n", "junk-line@5:1", 1);
    expect(HEAD "cxn=b\n1 1\n", "junk-line@5:1", 1);
    expect(HEAD "jxn=b\n1 1\n", "junk-line@5:1", 1);
    expect(HEAD "rex=b\n1 1\n", "junk-line@5:1", 1);
    // The remark on an id without a name is at its first use: from there on the id is its own name.
    expect(HEAD "fn=(3)\n1 1\nfn=g\n1 2\nfn=(3)\n1 4\n", "id-undefined@5:4", 7);
    // Those that Callgrind can write but does not document.
    expect(HEAD "bb=1\nln=2\nrec=3\n1 1\n",
           "undocumented-spec@5:1 undocumented-spec@6:1 undocumented-spec@7:1", 1);
    expect(HEAD "frfn=(7) g\nfn=(7)\n1 1\n", "undocumented-spec@5:1", 1);
    expect(HEAD "1 1\ncfe=b\ncfn=g\ncalls=1 1\n1 2\n", "cfe@6:1", 1);
    // Not the end of an id: it is a name.
    expect(HEAD "fn=(x) g\n1 1\n", "", 1);
    expect(HEAD "fn=(5)\n1 1\n", "id-undefined@5:4", 1);
    expect(HEAD "1 1", "no-final-newline@5:0", 1);
    expect(HEAD "fn=(5) g\nfn=(5) h\nfn=(5) h\n1 1\n", "id-changed@6:4 id-redefined@7:4", 1);
    // A name ends at its NUL byte, also one made of ids.
    static const char plain[] = HEAD "fn=a\0b\n1 1\n",
                      nested[] = HEAD "fn=(5) g\nfn=(6) (5)'\0x\n1 1\n";
    expect_bytes(plain, sizeof(plain) - 1, "nul-byte@5:5", 1);
    expect_bytes(nested, sizeof(nested) - 1, "undocumented-spec@6:8 nul-byte@6:12", 1);
}

static const char *refused(const char *text, size_t n)
{
    static struct quern_error err;

    assert_null(quern_profile_read_mem(text, n, "text", NULL, &err));
    return err.msg;
}

static void test_encodings(void **state)
{
    static const char utf16[] = "text in UTF-16, which cannot be read; "
                                "`iconv -f UTF-16 -t UTF-8` makes a file that can be";

    (void)state;
    expect("\xef\xbb\xbf" HEAD "1 1\n", "byte-order-mark@1:1", 1);
    expect("\xef\xbb\xbf" HEAD "1 x\n", "byte-order-mark@1:1 bad-number@5:3 no-counts@5:1", 0);
    // Once, and complete.
    expect("\xef\xbb\xbf\xef\xbb\xbf" HEAD "1 1\n", "byte-order-mark@1:1 text-before-header@1:1",
           1);
    expect("\xef\xbb\n" HEAD "1 1\n", "text-before-header@1:1", 1);
    // Either byte order, with a mark and without.
    assert_string_equal(refused("\xff\xfe"
                                "e\0v\0\n\0",
                                8),
                        utf16);
    assert_string_equal(refused("\xfe\xff"
                                "\0e\0v\0\n",
                                8),
                        utf16);
    assert_string_equal(refused("e\0v\0\n\0", 6), utf16);
    assert_string_equal(refused("\0e\0v\0\n", 6), utf16);
}

// Compressed data with damage after a sound piece: what precedes it is used, and nothing is
// invented after it. RFC 1952's header, RFC 1951's stored block of a length and its complement, and
// a block of the reserved type.
static void test_damaged_block(void **state)
{
    static const char text[] = HEAD "1 7\n";
    const size_t n = sizeof(text) - 1;
    unsigned char gz[128] = { 0x1f, 0x8b, 8, [9] = 3, 0, (unsigned char)n, 0, (unsigned char)~n,
                              0xff };

    (void)state;
    memcpy(gz + 15, text, n);
    gz[15 + n] = 7;
    expect_bytes((const char *)gz, 15 + n + 1, "truncated-compressed@0:0", 7);
}

static void test_headers(void **state)
{
    (void)state;
    expect("version: 2\n" BARE "1 1\n", "version@1:9", 1);
    expect("before\n" CG "1 1\n", "text-before-header@1:1 summary-missing@0:0", 1);
    expect(HEAD "what: is this\n1 1\n", "unknown-header@5:1", 1);
    expect(HEAD "1 1\ntotals=1\n", "totals-equals-sign@6:7", 1);
    // Neither another word nor a shorter one is followed by an equals sign.
    expect(HEAD "1 1\nsummary=1\n", "junk-line@6:1", 1);
    expect(HEAD "1 1\ntotal=1\n", "junk-line@6:1", 1);
    expect("version: 1\nevents: Ir\ndesc: late: 1\nfl=a\nfn=f\n1 1\n", "header-after-events@3:1",
           1);
    expect(HEAD "1 1\ncmd: late\n1 1\n", "header-in-body@6:1", 2);
    expect("version: 1\npid: x\nevents: Ir\nfl=a\nfn=f\n1 1\n", "bad-header-number@2:6", 1);
    expect("version: 1\nversion: x\nevents: Ir\nfl=a\nfn=f\n1 1\n", "bad-header-number@2:10", 1);
    expect("version: 1\npositions: instr line what\nevents: Ir\nfl=a\nfn=f\n0x1 1 7 1\n",
           "positions-unknown@2:23", 1);
    expect("version: 1\npositions: line instr\nevents: Ir\nfl=a\nfn=f\n1 0x1 1\n",
           "positions-order@2:17", 1);
    expect("version: 1\nevents: Ir Ir\nfl=a\nfn=f\n1 1\n", "event-twice@2:12", 1);
    expect("version: 1\nevents: Ir\nevents: Ir\nfl=a\nfn=f\n1 1\n", "second-events@3:1", 1);
    expect("version: 1\n"
           "event: x = \nevent: : long\nevent: y = 2 Ir * Ir\nevents: Ir\nfl=a\nfn=f\n1 1\n",
           "bad-formula@3:8 bad-formula@0:0", 1);
    expect(HEAD "1 1\n====\n1 1\n", "separator-line@6:1", 2);
}

static void test_costs(void **state)
{
    (void)state;
    expect(HEAD "1 1 1\n", "too-many-counts@5:5", 1);
    expect(HEAD "1\n", "no-counts@5:1", 0);
    expect(HEAD "1 -3\n", "negative-count@5:3", -3);
    expect(HEAD "1 0x1f\n", "hexadecimal-count@5:3", 31);
    expect(HEAD "1 .\n", "dot-count@5:3", 0);
    expect(HEAD "1\t1\n", "tab@5:2", 1);
    expect(HEAD "1 x\n", "bad-number@5:3 no-counts@5:1", 0);
    expect(HEAD "1 1\n-2 1\n", "position-below-zero@6:1", 2);
    expect(HEAD "1 1\n-1 1\n", "", 2);
    expect(HEAD "1:4 1\n1+4 1\n", "position-range@5:1 position-range@6:1", 2);
    expect(HEAD "18446744073709551616 1\n", "number-too-large@5:1", 1);
    expect(HEAD "18446744073709551615 1\n", "", 1);
    expect(HEAD "0x10000000000000000 1\n", "number-too-large@5:1", 1);
    expect(HEAD "0xffffffffffffffff 1\n", "", 1);
    expect(HEAD "1 0xfffffffffffffffffffffffffffffffffffffffff\n",
           "hexadecimal-count@5:3 number-too-large@5:3", ANY);
    expect(HEAD "  1 1\n\t2 1\n", "", 2); // blanks before a cost line
    expect(HEAD "fn=(0xa) g\n1 1\nfn=(10)\n1 1\nfn=(0xA)\n1 1\n", "", 3);
    expect(HEAD "fn=(0xag) g\n1 1\n", "id-malformed@5:4", 1);
    expect("version: 1\nfl=a\nfn=f\n1 1\nevents: Ir\n1 1\n", "cost-before-events@4:1", 1);
    expect("version: 1\nevents: Ir\nfl=a\n1 1\n", "no-function@4:1", 1);
    expect("events: Ir\nfn=f\n1 1\nsummary: 1\n", "no-file@3:1", 1);
    // The second position is invalid: at the 5th column of line 6.
    expect("version: 1\npositions: instr line\nevents: Ir\nfl=a\nfn=f\n0x1 x 1\n", "bad-number@6:5",
           0);
}

static void test_calls(void **state)
{
    (void)state;
    expect(HEAD "cfn=g\ncalls=1 1\n1 5\n", "", 0);
    expect(HEAD "cfn=g\ncalls=0 1\n1 5\n", "calls-zero@6:1", 0);
    expect(HEAD "cfn=g\ncalls=1\n1 5\n", "calls-no-target@6:8", 0);
    expect(HEAD "cfn=g\ncalls=1 1 1\n1 5\n", "calls-extra-target@6:11", 0);
    expect(HEAD "calls=1 1\n1 5\n", "calls-without-cfn@5:1", 0);
    expect(HEAD "cfn=g\nrcalls=1 1\n1 5\n", "rcalls@6:1", 0);
    // The next line, and the end, in place of the cost line; what follows is on its own line.
    expect(HEAD "cfn=g\ncalls=1 1\nfn=h\n1 1 1\n", "calls-without-cost@6:1 too-many-counts@8:5", 1);
    expect(HEAD "1 1\ncfn=g\ncalls=1 1\n", "calls-without-cost@7:1", 1);
    expect(HEAD "jump=1\n*\n1 1\n", "jump-no-target@5:1", 1);
}

#define SUMMED(creator, sum) "version: 1\n" creator "events: Ir\nsummary: " sum "\nfl=a\nfn=f\n"

// The sums of a part are compared with its lines, event by event; the remark names the first
// difference.
static void test_sums(void **state)
{
    (void)state;
    expect(CG "1 1\n", "summary-missing@0:0", 1);
    expect("desc: x\n" BARE "1 1\n", "summary-missing@0:0", 1);
    // From Callgrind, and complete: its specification's smallest example.
    expect(BARE "1 1\n", "", 1);
    expect(BARE "1 1\nsummary: 1\n", "", 1);
    expect(BARE "1 1\nsummary: 2\n", "totals-mismatch@5:0", 1);
    expect(BARE "1 1\nsummary: 0\n", "totals-mismatch@5:0", 1);
    expect(SUMMED("", "2") "1 1\n", "summary-larger@3:0", 1);
    expect(SUMMED("", "1") "1 1\n", "", 1);
    expect(SUMMED("", "0") "1 1\n", "summary-mismatch@3:0", 1);
    expect(SUMMED("creator: callgrind-3.19\n", "2") "1 1\n", "cut-off@4:0", 1);
    expect(SUMMED("creator: other\n", "2") "1 1\n", "summary-larger@4:0", 1);
    expect(SUMMED("creator: callgrind-3.19\n", "2") "1 1\ntotals: 1\n", "summary-larger@4:0", 1);
    expect(SUMMED("", "18446744073709551615") "1 1\n", "summary-wrapped@3:0", 1);
    expect(SUMMED("", "9223372036854775807") "1 1\n", "summary-larger@3:0", 1);
    expect(HEAD "1 1\ntotals: 2\n", "totals-mismatch@6:0", 1);
    // Text that is not a number ends the line, with one remark: the sum has no such number.
    expect(HEAD "1 1\ntotals: 1x 7 y\n", "bad-number@6:9 totals-mismatch@6:0", 1);
    // The first is right, the second is not; one remark for both.
    expect("version: 1\nevents: A B C\nfl=a\nfn=f\n1 1 2 3\ntotals: 1 3 4\n", "totals-mismatch@6:0",
           1);
    // A remark on the whole does not refer to the line of a sum.
    expect("version: 1\nevent: X = Ir * Ir\nevents: Ir\nfl=a\nfn=f\n1 1\ntotals: 1\n",
           "bad-formula@0:0", 1);
    // Each part has its own.
    expect("version: 1\npart: 1\nevents: Ir\nfl=a\nfn=f\n1 1\ntotals: 1\n"
           "part: 2\nevents: Ir\nfl=a\nfn=f\n1 4\ntotals: 5\n",
           "totals-mismatch@13:0", 5);
}

// An exponent of five digits exceeds every range, like one of four: no number is read from it.
static void test_exponents(void **state)
{
    (void)state;
    expect(HEAD "1 2e3\n", "", 2000);
    expect(HEAD "1 2e-3\n", "fractional-count@5:3", 2000000); // in 10^-9, as the event is now
    expect(HEAD "1 0e99999999999999999999\n", "", 0);
    expect(HEAD "1 1e-99999999999999999999\n", "fraction-rounded@5:3", 0);
}

// One remark for each kind, unless every one is asked for; how often is counted.
static void test_once(void **state)
{
    struct quern_read_opts o = { .sz = sizeof(o), .diag = note, .diag_ctx = said };
    const char *text = HEAD "1 1 1\n1 1 1\n1 1 1\n";

    (void)state;
    said[0] = 0;
    struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "text", &o, NULL);
    assert_non_null(p);
    assert_string_equal(said, "too-many-counts@5:5");
    assert_int_equal(quern_profile_diag_count(p), 1);
    const struct quern_diag *d = quern_profile_diag(p, 0);
    assert_int_equal(d->count, 3);
    assert_int_equal(d->line, 5);
    assert_string_equal(d->text, "1 1 1");
    assert_null(d->file);
    assert_int_equal(d->severity, QUERN_ERROR);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_headers),
        cmocka_unit_test(test_costs),         cmocka_unit_test(test_calls),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_exponents),
        cmocka_unit_test(test_damaged_block), cmocka_unit_test(test_once),
        cmocka_unit_test(test_encodings),
    };
    return cmocka_run_group_tests_name("profile remarks", tests, NULL, NULL);
}
