// SPDX-License-Identifier: MIT
//
// Every file of tests/golden: format, parts, totals and remarks as in tests/golden/expect.txt
// (their source: tests/golden/README.md). What we write from it reads back to the same; strict
// reading refuses exactly those with a warning or an error. Runs from the root of the source tree.
#include "tests/unit/profile/text.h"

#include <dirent.h>

static const char *const kinds[] = {
#define DIAG(name, text, severity) text,
#include "profile/read/diag.def"
#undef DIAG
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void describe(const struct quern_profile *p, char *out, size_t size)
{
    const quern_count *t = quern_profile_totals(p);
    size_t n = quern_profile_event_count(p), d = quern_profile_diag_count(p), len;
    const char *found[KINDS];
    char buf[64];

    snprintf(out, size, "%s|%zu|",
             quern_profile_format(p) == QUERN_FORMAT_CALLGRIND ? "callgrind" : "cachegrind",
             quern_profile_part_count(p));
    for (size_t i = 0; i < n + quern_profile_derived_count(p); i++) {
        quern_count_format(buf, sizeof(buf), i < n ? t[i] : quern_profile_derive(p, i, t),
                           quern_profile_event_scale(p, i));
        len = strlen(out);
        snprintf(out + len, size - len, "%s%s=%s", i ? " " : "", quern_profile_event_name(p, i),
                 buf);
    }
    for (size_t i = 0; i < d; i++)
        found[i] = quern_profile_diag(p, i)->kind;
    qsort(found, d, sizeof(*found), by_text);
    len = strlen(out);
    snprintf(out + len, size - len, "|%s", d ? "" : "-");
    for (size_t i = 0; i < d; i++) {
        len = strlen(out);
        snprintf(out + len, size - len, "%s%s", i ? "," : "", found[i]);
    }
}

struct expect {
    char name[100], rest[400];
};

static struct expect *load(size_t *n)
{
    FILE *f = fopen("tests/golden/expect.txt", "r");
    struct expect *e = calloc(300, sizeof(*e));
    char line[600], *bar;

    assert_non_null(f);
    for (*n = 0; fgets(line, sizeof(line), f);) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '#' || !(bar = strchr(line, '|')))
            continue;
        *bar = 0;
        assert_true(*n < 300);
        snprintf(e[*n].name, sizeof(e[*n].name), "%.99s", line);
        snprintf(e[*n].rest, sizeof(e[*n].rest), "%s", bar + 1);
        ++*n;
    }
    fclose(f);
    return e;
}

static struct quern_profile *read_golden(const char *name, int strict, struct quern_error *err)
{
    struct quern_read_opts o = { .sz = sizeof(o), .strict = strict };
    char path[200];

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    return quern_profile_read(path, &o, err);
}

static void test_totals(void **state)
{
    size_t n, bad = 0;
    struct expect *e = load(&n);

    (void)state;
    assert_true(n > 60);
    for (size_t i = 0; i < n; i++) {
        struct quern_error err;
        char got[600];
        struct quern_profile *p = read_golden(e[i].name, 0, &err);
        if (!p) {
            print_error("%s: %s\n", e[i].name, err.msg);
            bad++;
            continue;
        }
        describe(p, got, sizeof(got));
        if (strcmp(got, e[i].rest)) {
            print_error("%s:\n  expected %s\n  got      %s\n", e[i].name, e[i].rest, got);
            bad++;
        }
        quern_profile_free(p);
    }
    free(e);
    assert_int_equal(bad, 0);
}

static void test_every_file_is_expected(void **state)
{
    size_t n, bad = 0;
    struct expect *e = load(&n);
    DIR *d = opendir("tests/golden");

    (void)state;
    assert_non_null(d);
    struct dirent *ent;
    while ((ent = readdir(d))) {
        if (ent->d_name[0] == '.' || strcmp(ent->d_name, "README.md") == 0 ||
            strcmp(ent->d_name, "expect.txt") == 0)
            continue;
        size_t i;
        for (i = 0; i < n && strcmp(e[i].name, ent->d_name); i++)
            ;
        if (i == n) {
            print_error("%s is not in expect.txt\n", ent->d_name);
            bad++;
        }
    }
    closedir(d);
    free(e);
    assert_int_equal(bad, 0);
}

static void test_every_kind_is_provoked(void **state)
{
    size_t n, bad = 0;
    struct expect *e = load(&n);

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        int seen = 0;
        for (size_t i = 0; i < n && !seen; i++) {
            char copy[400], *save = NULL, *list = strrchr(e[i].rest, '|');
            snprintf(copy, sizeof(copy), "%s", list + 1);
            for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save))
                seen |= strcmp(s, kinds[k]) == 0;
        }
        if (!seen) {
            print_error("no golden file provokes %s\n", kinds[k]);
            bad++;
        }
    }
    free(e);
    assert_int_equal(bad, 0);
}

static void test_strict(void **state)
{
    size_t n;
    struct expect *e = load(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        struct quern_error err;
        struct quern_profile *p = read_golden(e[i].name, 0, &err);
        int clean = 1;
        assert_non_null(p);
        for (size_t k = 0; k < quern_profile_diag_count(p); k++)
            clean &= quern_profile_diag(p, k)->severity == QUERN_NOTE;
        struct quern_profile *q = read_golden(e[i].name, 1, &err);
        if (clean != (q != NULL))
            fail_msg("%s: strict reading %s", e[i].name, q ? "accepts it" : err.msg);
        if (!q)
            assert_true(*err.msg != 0);
        quern_profile_free(p);
        quern_profile_free(q);
    }
    free(e);
}

// Writing, reading and writing again gives the same bytes, in every form and from every file.
static void test_round_trip(void **state)
{
    static const struct quern_write_opts forms[] = {
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CALLGRIND },
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CALLGRIND, .keep_order = 1 },
        { .sz = sizeof(forms[0]),
          .format = QUERN_FORMAT_CALLGRIND,
          .no_compress_strings = 1,
          .no_compress_pos = 1 },
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CALLGRIND, .portable = 1 },
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CALLGRIND, .no_lines = 1 },
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CALLGRIND, .combine_parts = 1 },
        { .sz = sizeof(forms[0]), .format = QUERN_FORMAT_CACHEGRIND },
    };
    size_t n;
    struct expect *e = load(&n);

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof(forms) / sizeof(*forms); k++) {
            struct quern_error err;
            struct quern_profile *p = read_golden(e[i].name, 0, &err);
            struct quern_write_opts o = forms[k];
            if (strcmp(e[i].name, "huge-counts.callgrind") == 0 ||
                strcmp(e[i].name, "fault-too-large.callgrind") == 0 ||
                strcmp(e[i].name, "empty.callgrind") == 0) {
                quern_profile_free(p);
                continue; // see test_overflow_is_an_error
            }
            assert_non_null(p);
            char *first = written(p, &o);
            struct quern_profile *q = read_text(first);
            char *second = written(q, &o);
            if (strcmp(first, second))
                fail_msg("%s, form %zu: not the same after reading it back:\n%s---\n%s", e[i].name,
                         k, first, second);
            for (size_t ev = 0; ev < quern_profile_event_count(p); ev++)
                assert_true(quern_profile_totals(p)[ev] == quern_profile_totals(q)[ev]);
            if (!(quern_profile_has(p) & QUERN_HAS_CALL) ||
                forms[k].format == QUERN_FORMAT_CACHEGRIND)
                assert_false(quern_profile_has(q) & QUERN_HAS_CALL);
            free(first);
            free(second);
            quern_profile_free(p);
            quern_profile_free(q);
        }
    free(e);
}

static void test_overflow_is_an_error(void **state)
{
    struct quern_error err;
    struct quern_profile *p = read_golden("huge-counts.callgrind", 0, &err);
    struct quern_write_opts o = { .sz = sizeof(o) };

    (void)state;
    assert_non_null(p);
    char dir[] = "/tmp/quern-test-XXXXXX", path[100];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/out", dir);
    assert_true(quern_profile_write(p, path, &o, &err) < 0);
    assert_non_null(strstr(err.msg, "64 bits"));
    assert_int_equal(rmdir(dir), 0); // nothing was written
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_every_file_is_expected),
        cmocka_unit_test(test_every_kind_is_provoked),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_overflow_is_an_error),
    };
    return cmocka_run_group_tests_name("profile golden files", tests, NULL, NULL);
}
