// SPDX-License-Identifier: MIT
//
// report/core/detail.c: lines of two versions of a source, aligned; rows that are summed while they
// are read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/core/costs.h"
#include "report/core/detail.h"
#include "tests/unit/report/unpack.h"

enum { LINES = 5 };

static struct quern_profile *profile(const uint64_t line[LINES], const uint64_t cost[LINES])
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };

    quern_profile_set_events(p, events, 1);
    uint32_t file = quern_profile_string(p, "a.c", -1);
    uint32_t f = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, "f", -1));
    uint32_t g = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, "g", -1));
    for (int i = 0; i < LINES; i++) {
        quern_profile_add_cost(p, &(struct quern_site){ .func = f, .file = file, .line = line[i] },
                               &cost[i], 1);
        quern_profile_add_call(p, &(struct quern_site){ .func = f, .file = file, .line = line[i] },
                               g, 1, 0, cost[i], &cost[i], 1);
    }
    return p;
}

// Base and profile with costs in lines 1, 2, 3, 4 and 6. Line 1 of the base is line 2 and line 2 is
// line 3; line 3 is gone; line 4 is line 4. Line 1 of the profile is new, and after line 4 nothing
// is the same.
static struct core *compared(bool aligned)
{
    static const uint64_t line[] = { 1, 2, 3, 4, 6 };
    struct quern_profile *new = profile(line, (uint64_t[]){ 1, 2, 3, 4, 6 });
    struct quern_profile *old = profile(line, (uint64_t[]){ 10, 20, 30, 40, 60 });
    static const uint32_t runs[][3] = { { 0, 1, 2 }, { 1, 0, 1 } };
    struct pack *k = pack_new(new, old, 0);
    struct buf to = { 0 };

    assert_non_null(k);
    pack_functions(k);
    for (uint32_t f = 0; f < pack_count(k);)
        f = pack_places(k, f);
    assert_int_equal(pack_file_count(k), 1);
    buf_u(&to, pack_file_number(k, 0));
    buf_u(&to, 2);
    for (int i = 0; i < 6; i++)
        buf_u(&to, runs[i / 3][i % 3]);
    if (aligned)
        pack_section(k, SECTION_ALIGN, 0, 0, &to);
    buf_free(&to);
    assert_int_equal(pack_finish(k), 0);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    pack_free(k);
    quern_profile_free(new);
    quern_profile_free(old);
    return c;
}

struct wanted {
    uint64_t line, to_line;
    core_count new, old;
};

static void compare(struct core *c, unsigned by, bool calls, const struct wanted *wanted, size_t n)
{
    struct formula *f = formula_event(c, 0);
    struct detail *d;

    assert_int_equal(calls ? detail_calls(c, CORE_NONE, CORE_NONE, by, f, &d)
                           : detail_places(c, CORE_NONE, CORE_NONE, by, f, &d),
                     0);
    assert_int_equal(d->count, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(d->row[i].line, wanted[i].line);
        assert_int_equal(d->row[i].to_line, wanted[i].to_line);
        assert_true(detail_value(d, f, VALUES_NEW, i).exact == wanted[i].new);
        assert_true(detail_value(d, f, VALUES_OLD, i).exact == wanted[i].old);
        assert_true(detail_value(d, f, VALUES_DIFFERENCE, i).exact ==
                    wanted[i].new - wanted[i].old);
        if (calls) {
            assert_int_equal(d->row[i].calls[0], wanted[i].new);
            assert_int_equal(d->row[i].calls[1], wanted[i].old);
        }
    }
    detail_free(d);
    formula_free(f);
}

static const struct wanted aligned_lines[] = {
    { 1, 0, 1, 0 },  // new
    { 2, 0, 2, 10 }, // was line 1
    { 3, 0, 3, 20 }, // was line 2
    { 3, 3, 0, 30 }, // gone
    { 4, 0, 4, 40 }, // the same
    { 6, 0, 6, 0 },  // after the last equal line
    { 6, 6, 0, 60 },
};
static const struct wanted numbered_lines[] = {
    { 1, 0, 1, 10 }, { 2, 0, 2, 20 }, { 3, 0, 3, 30 }, { 4, 0, 4, 40 }, { 6, 0, 6, 60 },
};

static void aligned(void **state)
{
    struct core *c = compared(true);

    (void)state;
    compare(c, DETAIL_LINE | DETAIL_ALIGN, false, aligned_lines, 7);
    compare(c, DETAIL_LINE | DETAIL_ALIGN, true, aligned_lines, 7);
    compare(c, DETAIL_LINE, false, numbered_lines, 5);
    // Without lines there is nothing to align: 1 + 2 + 3 + 4 + 6 and ten times that.
    compare(c, DETAIL_ALIGN, false, (struct wanted[]){ { 0, 0, 16, 160 } }, 1);
    load_free(c);
}

static void not_aligned(void **state)
{
    struct core *c = compared(false);

    (void)state;
    compare(c, DETAIL_LINE | DETAIL_ALIGN, false, numbered_lines, 5);
    load_free(c);
}

enum { FUNCS = 100, PLACES = 30 };

// AddressSanitizer's, whose header Debian's gcc lacks.
int __sanitizer_install_malloc_and_free_hooks(void (*get)(const volatile void *, size_t),
                                              void (*put)(const volatile void *));

static size_t largest; // allocation

static void note_size(const volatile void *block, size_t size)
{
    (void)block;
    largest = size > largest ? size : largest;
}

static void note_nothing(const volatile void *block)
{
    (void)block;
}

// 100 functions with 30 instructions each in the same three lines: instruction i of line 3 - i % 3
// costs i. By line 0 + 3 + ... + 27 = 135, 145 and 155 for each function. There is never space for
// as many rows as there are instructions: in the page that took hundreds of megabytes.
static void summed(void **state)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    struct detail *d;

    (void)state;
    quern_profile_set_events(p, events, 1);
    uint32_t file = quern_profile_string(p, "a.h", -1);
    for (uint64_t f = 0; f < FUNCS; f++) {
        char name[8];
        snprintf(name, sizeof(name), "f%u", (unsigned)f);
        uint32_t func = quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, name, -1));
        for (uint64_t i = 0; i < PLACES; i++)
            quern_profile_add_cost(
                p,
                &(struct quern_site){
                    .func = func, .file = file, .line = 3 - i % 3, .addr = f * 100 + i },
                &i, 1);
    }
    struct pack *k = pack_everything(p, NULL);
    struct core *c = unpack(k);
    assert_non_null(c);
    assert_int_equal(link_edges(c), 0);
    assert_int_equal(costs_self(c, 0, 0), 0);
    assert_true(__sanitizer_install_malloc_and_free_hooks(note_size, note_nothing) != 0);
    largest = 0;
    assert_int_equal(detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE, NULL, &d), 0);
    assert_in_range(largest, 1, 64 * sizeof(struct detail_row));
    assert_int_equal(d->count, 3);
    assert_int_equal(d->sides, 1); // no memory for a base that is not there
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(d->row[i].line, i + 1);
        assert_true(d->counts[i] == FUNCS * (155 - 10 * (core_count)i));
    }
    detail_free(d);
    // By function and line: in the order of the functions, which are numbered by cost, then name.
    assert_int_equal(detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE | DETAIL_FUNC, NULL, &d),
                     0);
    assert_int_equal(d->count, 3 * FUNCS);
    for (size_t i = 0; i < d->count; i++) {
        assert_int_equal(d->row[i].func, i / 3);
        assert_int_equal(d->row[i].line, i % 3 + 1);
        assert_true(d->counts[i] == 155 - 10 * (core_count)(i % 3));
    }
    detail_free(d);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(aligned), cmocka_unit_test(not_aligned),
                                        cmocka_unit_test(summed) };

    return cmocka_run_group_tests_name("detail", tests, NULL, NULL);
}
