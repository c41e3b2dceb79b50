// SPDX-License-Identifier: MIT
//
// What the tests of libquern share: reading text, totals. Each test_*.c includes it once.
#ifndef TESTS_UNIT_PROFILE_TEXT_H
#define TESTS_UNIT_PROFILE_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "quern/profile.h"

// Reads text that must be a profile.
static inline struct quern_profile *read_text(const char *text)
{
    struct quern_error err;
    struct quern_profile *p = quern_profile_read_mem(text, strlen(text), "text", NULL, &err);
    if (!p)
        fail_msg("%s:%llu: %s", err.file, (unsigned long long)err.line, err.msg);
    return p;
}

static inline long long total(const struct quern_profile *p, size_t event)
{
    return (long long)quern_profile_totals(p)[event];
}

// Number of a function by name; fails if there is none.
static inline uint32_t func_named(const struct quern_profile *p, const char *name)
{
    for (uint32_t f = 0; f < quern_profile_func_count(p); f++)
        if (strcmp(quern_profile_str(p, quern_profile_func_get(p, f).name), name) == 0)
            return f;
    fail_msg("no function %s", name);
    return QUERN_NONE;
}

// The output of quern_profile_write(), as a string that the caller frees.
static inline char *written(const struct quern_profile *p, const struct quern_write_opts *opts)
{
    char path[] = "/tmp/quern-test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    struct quern_error err;
    if (quern_profile_write(p, path, opts, &err) < 0)
        fail_msg("%s: %s", err.file, err.msg);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, f), n);
    text[n] = 0;
    fclose(f);
    remove(path);
    if (fd >= 0)
        close(fd);
    return text;
}

// Two functions of one object, two files, one line twice: Ir 15, Dr 4.
static inline struct quern_profile *built(void)
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

#endif
