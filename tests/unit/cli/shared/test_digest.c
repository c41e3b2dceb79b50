// SPDX-License-Identifier: MIT
//
// SipHash against the vectors that its authors give; the digest against what a program of a few
// lines of Python makes of the same bytes, and against itself, in pieces of any size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/shared/digest.h"

// The bytes 0 to 15, as in those vectors.
static const struct siphash_key key = { { UINT64_C(0x0706050403020100),
                                          UINT64_C(0x0f0e0d0c0b0a0908) } };

static void check(struct siphash_value v, const char *expected)
{
    char hex[33] = "";

    for (int i = 0; i < 16; i++)
        sprintf(hex + i * 2, "%02x", (unsigned)(v.v[i / 8] >> i % 8 * 8 & 0xff));
    assert_string_equal(hex, expected);
}

static void test_siphash(void **state)
{
    static const struct {
        size_t n;
        const char *value;
    } vector[] = {
        { 0, "a3817f04ba25a8e66df67214c7550293" },
        { 1, "da87c1d86b99af44347659119b22fc45" },
        { 15, "5493e99933b0a8117e08ec0f97cfc3d9" },
    };
    unsigned char bytes[16];
    struct siphash s;

    (void)state;
    for (unsigned char i = 0; i < sizeof(bytes); i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof(vector) / sizeof(*vector); i++) {
        siphash_begin(&s, key);
        siphash_add(&s, bytes, vector[i].n);
        check(siphash_end(&s), vector[i].value);
        siphash_begin(&s, key);
        for (size_t k = 0; k < vector[i].n; k++)
            siphash_add(&s, bytes + k, 1);
        check(siphash_end(&s), vector[i].value);
    }
}

static struct siphash_value digest_of(const unsigned char *bytes, size_t n, size_t piece)
{
    static struct digest d;

    digest_begin(&d, key);
    for (size_t at = 0; at < n; at += piece)
        digest_add(&d, bytes + at, n - at < piece ? n - at : piece);
    return digest_end(&d);
}

static void test_digest(void **state)
{
    static const struct {
        size_t n;
        const char *value;
    } vector[] = {
        { 0, "c293ab68efe6f296bd92a49d6257801d" },    { 1, "a057fe9e96896cde275e1fe3e139841a" },
        { 1023, "fd49d2ebac071313620624f87ae155c5" }, { 1024, "ad6b5e06baae8a9dd658cd11da5e8953" },
        { 3000, "d1af420e0ad55b6296892376fb576554" },
    };
    static unsigned char bytes[3000];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + 3);
    for (size_t i = 0; i < sizeof(vector) / sizeof(*vector); i++)
        for (size_t piece = 1; piece <= 3000; piece = piece * 3 / 2 + 1)
            check(digest_of(bytes, vector[i].n, piece), vector[i].value);
}

// Zeros at the end are bytes, too.
static void test_zeros(void **state)
{
    static unsigned char zeros[2048];
    struct siphash_value seen[2049];

    (void)state;
    for (size_t n = 0; n <= sizeof(zeros); n++) {
        seen[n] = digest_of(zeros, n, sizeof(zeros));
        for (size_t i = 0; i < n; i++)
            assert_memory_not_equal(&seen[i], &seen[n], sizeof(*seen));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_zeros),
    };

    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
