// SPDX-License-Identifier: MIT
//
// Size: a line of 1 MB, a million functions, a thousand events, lines across the reader's buffers,
// a file truncated at every byte.
#include "tests/unit/profile/text.h"

static void test_long_line(void **state)
{
    size_t n = 1 << 20;
    char *text = malloc(n + 200), *o = text;

    (void)state;
    o += sprintf(o, "# callgrind format\nevents: Ir\nfl=a.c\nfn=");
    memset(o, 'n', n);
    o += n;
    strcpy(o, "\n1 5\n2 6\n");
    struct quern_profile *p = read_text(text);
    assert_int_equal(total(p, 0), 11);
    assert_int_equal(strlen(quern_profile_str(p, quern_profile_func_get(p, 0).name)), n);
    quern_profile_free(p);
    free(text);
}

static void test_million_functions(void **state)
{
    size_t n = 1000000;
    char *text = malloc(n * 32 + 100), *o = text;

    (void)state;
    o += sprintf(o, "# callgrind format\nevents: Ir\nfl=a.c\n");
    for (size_t i = 0; i < n; i++)
        o += sprintf(o, "fn=(%zu) f%zu\n%zu 1\n", i, i, i);
    struct quern_profile *p = read_text(text);
    assert_int_equal(total(p, 0), (long long)n);
    assert_int_equal(quern_profile_func_count(p), n);
    struct quern_costs *c = quern_costs_new(p);
    assert_non_null(c);
    assert_true(quern_costs_self(c, 999999)[0] == 1);
    quern_costs_free(c);
    quern_profile_free(p);
    free(text);
}

static void test_many_events(void **state)
{
    size_t n = 1000;
    char *text = malloc(n * 20), *o = text;
    struct quern_write_opts w = { .sz = sizeof(w) };

    (void)state;
    o += sprintf(o, "# callgrind format\nevents:");
    for (size_t i = 0; i < n; i++)
        o += sprintf(o, " E%zu", i);
    o += sprintf(o, "\nfl=a.c\nfn=f\n1");
    for (size_t i = 0; i < n; i++)
        o += sprintf(o, " %zu", i);
    strcpy(o, "\n");
    struct quern_profile *p = read_text(text);
    assert_int_equal(quern_profile_event_count(p), n);
    assert_int_equal(total(p, 999), 999);
    char *out = written(p, &w);
    struct quern_profile *q = read_text(out);
    assert_int_equal(total(q, 999), 999);
    quern_profile_free(p);
    quern_profile_free(q);
    free(out);
    free(text);
}

// Lines of all lengths end everywhere in the reader's buffer of 256 KB.
static void test_buffer_edges(void **state)
{
    size_t n = 60000;
    char *text = malloc(n * 40), *o = text;
    long long sum = 0;

    (void)state;
    o += sprintf(o, "# callgrind format\nevents: Ir Dr\nfl=a.c\nfn=f\n");
    for (size_t i = 0; i < n; i++) {
        o += sprintf(o, "%zu %zu %zu%s\n", i % 977, i * i % 1000003, i % 13, i % 5 ? "" : " ");
        sum += (long long)(i * i % 1000003);
    }
    struct quern_profile *p = read_text(text);
    assert_int_equal(total(p, 0), sum);
    quern_profile_free(p);
    free(text);
}

// Truncated after each byte, a file is read without harm, or refused.
static void test_every_prefix(void **state)
{
    static const char *const files[] = { "calls", "jump-names", "xdebug", "event-names", "parts" };

    (void)state;
    for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
        char path[100], text[4096];
        snprintf(path, sizeof(path), "tests/golden/%s.callgrind", files[k]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(text, 1, sizeof(text), f);
        fclose(f);
        for (size_t i = 0; i <= n; i++) {
            char *copy = malloc(i + 1); // makes an access past the end visible
            memcpy(copy, text, i);
            struct quern_profile *p = quern_profile_read_mem(copy, i, "cut", NULL, NULL);
            if (p) {
                struct quern_costs *c = quern_costs_new(p);
                assert_non_null(c);
                quern_costs_free(c);
            }
            quern_profile_free(p);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_line),    cmocka_unit_test(test_million_functions),
        cmocka_unit_test(test_many_events),  cmocka_unit_test(test_buffer_edges),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests_name("profile limits", tests, NULL, NULL);
}
