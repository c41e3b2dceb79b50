// SPDX-License-Identifier: MIT
//
// Shares in per cent, compared with printf().
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/profiles/percent.h"

static void same(double share)
{
    char expected[400], got[PERCENT_MAX];

    if (snprintf(expected, sizeof(expected), "%5.2f", share) > 5)
        snprintf(expected, sizeof(expected), "%5.1f", share);
    expected[PERCENT_MAX - 1] = 0;
    int n = percent_put(got, share);
    if (strcmp(got, expected) || n != (int)strlen(expected))
        fail_msg("%.20g: '%s' of %d characters, not '%s'", share, got, n, expected);
}

// Every half of a hundredth, where rounding changes, and its neighbours.
static void test_halves(void **state)
{
    (void)state;
    for (int i = -300; i <= 20100; i++) {
        double half = i / 200.0;
        same(half);
        same(nextafter(half, 1e9));
        same(nextafter(half, -1e9));
        same(half + 4.9e-7);
        same(half - 4.9e-7);
    }
}

// Real shares: ratios of counts.
static void test_ratios(void **state)
{
    (void)state;
    for (unsigned total = 1; total < 700; total += 3)
        for (unsigned part = 0; part <= total; part++)
            same(100.0 * part / total);
    for (uint64_t total = 1, part = 1; total < UINT64_MAX / 3; total = total * 3 + 1)
        for (part = total; part; part /= 2)
            same(100.0 * (double)part / (double)total);
}

// Above 100 %, below 0, or not a number.
static void test_outside(void **state)
{
    static const double v[] = { 0.0,    -0.0,   99.98,  99.985, 99.99,  99.995, 100,
                                999.94, 999.95, 1e6,    1e20,   -0.001, -0.005, -9.99,
                                -9.996, -100,   1e-300, 1e300,  -1e300 };

    (void)state;
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
        same(v[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
