// SPDX-License-Identifier: MIT
//
// The digest, with the library's own secret as the key, against that of xxhsum 0.8.1 for the same
// bytes (`xxhsum -H2`), in pieces of any size; and with other keys against itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/files/digest.h"

static struct digest_key key;
static unsigned char bytes[3000];

static int setup(void **state)
{
    (void)state;
    _Static_assert(sizeof(XXH3_kSecret) == sizeof(key.bytes), "the library's own");
    memcpy(key.bytes, XXH3_kSecret, sizeof(key.bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 7 + 3);
    return 0;
}

static struct digest_value digest_of(size_t n, size_t piece)
{
    static struct digest d;

    digest_begin(&d, &key);
    for (size_t at = 0; at < n; at += piece)
        digest_add(&d, bytes + at, n - at < piece ? n - at : piece);
    return digest_end(&d);
}

static void check(struct digest_value v, const char *expected)
{
    char hex[33] = "";

    for (int i = 0; i < 16; i++)
        sprintf(hex + i * 2, "%02x", v.bytes[i]);
    assert_string_equal(hex, expected);
}

static void test_xxhsum(void **state)
{
    static const struct {
        size_t n;
        const char *value;
    } vector[] = {
        { 0, "99aa06d3014798d86001c324468d497f" },    { 1, "22bbb76b211a39ba13e608bc156defed" },
        { 16, "ce0b9647ab24f88460d75c5e47d40a24" },   { 240, "ad46c1021b076bc704e0b5f034bee80b" },
        { 241, "ac6c3492c3d6b45d8beadd3a8874fe17" },  { 1023, "dedd3c0d6bceed34d26986a0b85dcc44" },
        { 1024, "18bc0eaca9a336369b81661c641c72b1" }, { 3000, "2f8842a022466a4fc89178bb873c6b3d" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vector) / sizeof(*vector); i++)
        for (size_t piece = 1; piece <= sizeof(bytes); piece = piece * 3 / 2 + 1)
            check(digest_of(vector[i].n, piece), vector[i].value);
}

// Every byte of the key counts, and every byte of what is digested, zeros at the end too.
static void test_all_of_it(void **state)
{
    static struct digest_value seen[sizeof(key.bytes) + 1];
    struct digest_value whole;

    (void)state;
    for (size_t n = 0; n <= sizeof(key.bytes); n++) {
        setup(NULL);
        if (n)
            key.bytes[n - 1] ^= 1;
        seen[n] = digest_of(sizeof(bytes), sizeof(bytes));
        for (size_t i = 0; i < n; i++)
            assert_memory_not_equal(&seen[i], &seen[n], sizeof(*seen));
    }
    setup(NULL);
    whole = digest_of(sizeof(bytes), sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        struct digest_value other;

        bytes[i] ^= 0x80;
        other = digest_of(sizeof(bytes), sizeof(bytes));
        bytes[i] ^= 0x80;
        assert_memory_not_equal(&other, &whole, sizeof(whole));
    }
    memset(bytes, 0, sizeof(bytes));
    for (size_t n = 1; n < sizeof(bytes); n++) {
        struct digest_value a = digest_of(n, n), b = digest_of(n + 1, n + 1);

        assert_memory_not_equal(&a, &b, sizeof(a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_xxhsum, setup),
        cmocka_unit_test_setup(test_all_of_it, setup),
    };

    return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
