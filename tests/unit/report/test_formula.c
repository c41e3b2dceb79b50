// SPDX-License-Identifier: MIT
//
// Formulas: valid ones, their values, and the limits of exactness. The profile has Ir = 7,
// Dr = 70.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/core/formula.h"
#include "report/core/values.h"
#include "tests/unit/report/tiny.h"

static struct core *core(void)
{
    return tiny_core((uint64_t[]){ 7 }, 1, NULL, 0);
}

static struct value value_of(struct core *c, const char *text, int64_t *scale)
{
    size_t at;
    struct formula *f = formula_new(c, c->event_count, (const uint8_t *)text, strlen(text), &at);

    if (!f)
        fail_msg("%s: not read from %zu on", text, at);
    assert_int_equal(values_prepare(c, f, VALUES_SELF, VALUES_NEW), 0);
    struct value v = values_get(c, f, VALUES_SELF, VALUES_NEW, 0);
    *scale = formula_scale(f);
    formula_free(f);
    return v;
}

static void exact(void **state)
{
    static const struct {
        const char *text;
        int64_t value, scale;
    } rows[] = {
        { "Ir", 7, 1 },
        { " Ir + Dr ", 77, 1 },
        { "Ir-Dr", -63, 1 },
        { "10 Ir", 70, 1 },
        { "2(Ir + Dr)", 154, 1 },
        { "2*Ir*3", 42, 1 },
        { "Ir + 2 * Dr", 147, 1 },
        { "(Ir + 2) * Dr", 630, 1 },
        { "-Ir", -7, 1 },
        { "- -Ir", 7, 1 },
        { "min(Ir, Dr)", 7, 1 },
        { "max(Ir, Dr, 100)", 100, 1 },
        { "min(Ir)", 7, 1 },
        { "0.5 Ir", 3500000000, 1000000000 },
        { "Ir * 0.5 + 0.25", 3750000000, 1000000000 },
        { "1.0 Ir", 7, 1 },
        { "5", 5, 1 },
        { "Ir - 0.000000001", 6999999999, 1000000000 },
    };
    struct core *c = core();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t scale;
        struct value v = value_of(c, rows[i].text, &scale);
        if (!v.is_exact || v.exact != rows[i].value || scale != rows[i].scale)
            fail_msg("%s: %lld / %lld", rows[i].text, (long long)v.exact, (long long)scale);
        assert_true(v.approx == (double)rows[i].value / (double)rows[i].scale);
    }
    load_free(c);
}

static void ratios(void **state)
{
    struct core *c = core();
    int64_t scale;

    (void)state;
    struct value v = value_of(c, "Ir / Dr", &scale);
    assert_false(v.is_exact);
    assert_true(v.approx == 0.1);
    v = value_of(c, "100 * Ir / (Dr + 30)", &scale);
    assert_true(v.approx == 7.0);
    v = value_of(c, "Dr / Ir / 2", &scale);
    assert_true(v.approx == 5.0);
    v = value_of(c, "Ir / (Dr - 70)", &scale); // by zero
    assert_true(v.approx != v.approx);
    v = value_of(c, "Ir / Dr + 1", &scale); // a later operation does not make it exact again
    assert_false(v.is_exact);
    assert_true(v.approx == 0.1 + 1);
    v = value_of(c, "max(Ir / Dr, 3)", &scale);
    assert_true(v.approx == 3.0);
    // Of equal names the last one: Dr / 10 is a division, Ir is not.
    static const struct {
        const char *text;
        bool is_exact;
    } equal[] = { { "min(Ir, Dr / 10)", false },
                  { "min(Dr / 10, Ir)", true },
                  { "max(Ir, Dr / 10)", false },
                  { "max(Dr / 10, Ir)", true } };
    for (size_t i = 0; i < sizeof(equal) / sizeof(*equal); i++) {
        v = value_of(c, equal[i].text, &scale);
        assert_true(v.approx == 7.0);
        assert_int_equal(v.is_exact, equal[i].is_exact);
    }
    load_free(c);
}

static void faults(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } rows[] = {
        { "", 0 },
        { "Ir +", 4 },
        { "Irx", 0 },
        { "Ir9", 0 },
        { "Ir0", 0 },
        { "IrZ", 0 },
        { "Ir_", 0 },
        { "Ir Dr", 3 },
        { "(Ir", 3 },
        { "Ir)", 2 },
        { "min Ir", 0 },
        { "min(Ir,)", 7 },
        { "1..2", 2 },
        { "Ir ** 2", 4 },
        { "Bm", 0 },
        { "Ir / ", 5 },
        { "9999999999999999999 Ir", 9 },
    };
    struct core *c = core();
    size_t at;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *text = rows[i].text;
        if (formula_new(c, c->event_count, (const uint8_t *)text, strlen(text), &at) ||
            at != rows[i].at)
            fail_msg("%s: stops at %zu", text, at);
    }
    // A thousand parentheses are too many; sixty are not.
    char deep[2001];
    memset(deep, '(', 1000);
    assert_null(formula_new(c, c->event_count, (const uint8_t *)deep, 1000, &at));
    memset(deep, '(', 60);
    memcpy(deep + 60, "Ir", 2);
    memset(deep + 62, ')', 60);
    struct formula *f = formula_new(c, c->event_count, (const uint8_t *)deep, 122, &at);
    assert_non_null(f);
    formula_free(f);
    load_free(c);
}

// 2^64 Ir times 2^64 Ir overflows 128 bits: a double is an approximation.
static void overflow(void **state)
{
    struct core *c = tiny_core((uint64_t[]){ UINT64_MAX / 10 }, 1, NULL, 0);
    int64_t scale;

    (void)state;
    struct value v = value_of(c, "Ir * Ir", &scale);
    assert_true(v.is_exact);
    assert_true(v.exact == (core_count)(UINT64_MAX / 10) * (UINT64_MAX / 10));
    v = value_of(c, "Ir * Ir * Ir", &scale);
    assert_false(v.is_exact);
    assert_true(v.approx > 6.2e54 && v.approx < 6.3e54); // (1.8447e18)^3
    load_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),
        cmocka_unit_test(ratios),
        cmocka_unit_test(faults),
        cmocka_unit_test(overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
