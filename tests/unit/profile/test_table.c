// SPDX-License-Identifier: MIT
//
// The lowest layer: share/table.h, interned strings, numbers of 7 bits a byte. Bytes and slots are
// written by hand.
#include "tests/unit/profile/text.h"

#include "profile/model/grow.h"
#include "profile/model/strset.h"
#include "profile/model/varint.h"

// ---- The table ----

// Slots of a table of 4 entries after these hashes, entered in order as numbers 0, 1, ...
static void slots_are(const uint64_t *hash, uint32_t n, const uint32_t expected[8])
{
    uint32_t slot[8] = { 0 };
    struct table t = table_over(slot, 8);

    for (uint32_t i = 0; i < n; i++)
        table_add(&t, hash[i], i);
    assert_memory_equal(slot, expected, sizeof(slot));
}

static void test_slots(void **state)
{
    (void)state;
    assert_int_equal(table_slots(4), 8); // half of them stay free
    slots_are((uint64_t[]){ 3, 5 }, 2, (uint32_t[8]){ 0, 0, 0, 1, 0, 2, 0, 0 });
    // only the low bits choose; the next free slot is taken
    slots_are((uint64_t[]){ 3, 11, 19 }, 3, (uint32_t[8]){ 0, 0, 0, 1, 2, 3, 0, 0 });
    // the first slot follows the last
    slots_are((uint64_t[]){ 7, 7, 0, 15 }, 4, (uint32_t[8]){ 2, 3, 4, 0, 0, 0, 0, 1 });
}

static void test_search_ends(void **state)
{
    uint32_t slot[4] = { 0 };
    struct table t = table_over(slot, 4);

    (void)state;
    size_t at = table_first(&t, 6);
    assert_int_equal(at, 2);
    assert_false(table_used(&t, at));
    table_put(&t, at, 0); // number 0 is not a free slot
    assert_true(table_used(&t, at));
    assert_int_equal(table_number(&t, at), 0);
    table_add(&t, 2, 41);
    at = table_next(&t, at);
    assert_int_equal(table_number(&t, at), 41);
    at = table_next(&t, at);
    assert_int_equal(at, 0);
    assert_false(table_used(&t, at));
}

static void test_grow(void **state)
{
    struct table t = { NULL, 0 };
    uint16_t *a = NULL;

    (void)state;
    assert_true(grow_table(&t, 8));
    assert_int_equal(t.mask, 15);
    table_add(&t, 15, 3);
    assert_true(grow_table(&t, 16));
    assert_int_equal(t.mask, 31);
    for (size_t i = 0; i < 32; i++)
        assert_false(table_used(&t, i)); // its entries must be entered again
    free(t.slot);
    assert_true(grow_array(&a, 2, sizeof(*a)));
    a[1] = 7;
    assert_true(grow_array(&a, 2000, sizeof(*a)));
    a[1999] = 1;
    assert_int_equal(a[1], 7);
    free(a);
}

// ---- Strings ----

static void test_strset(void **state)
{
    struct strset s = { 0 };
    char name[20];

    (void)state;
    assert_int_equal(strset_add(&s, "main", 4), 0);
    assert_int_equal(strset_add(&s, "mai", 3), 1);
    assert_int_equal(strset_add(&s, "main loop", 4), 0); // its first four bytes
    assert_int_equal(strset_add(&s, "", 0), 2);
    assert_int_equal(strset_add(&s, "12345678", 8), 3); // the hash takes eight at a time
    assert_int_equal(strset_add(&s, "12345678a", 9), 4);
    assert_int_equal(strset_add(&s, "12345678b", 9), 5);
    assert_int_equal(strset_add(&s, "12345678", 8), 3);
    const char *first = s.text[0];
    for (unsigned i = 6; i < 1000; i++) { // past 256 and 512, where the table grows
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(strset_add(&s, name, strlen(name)), i);
    }
    for (unsigned i = 6; i < 1000; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        assert_int_equal(strset_add(&s, name, strlen(name)), i);
        assert_string_equal(s.text[i], name);
        assert_int_equal(s.len[i], strlen(name));
    }
    assert_int_equal(s.count, 1000);
    assert_ptr_equal(s.text[0], first);
    assert_string_equal(s.text[0], "main");
    assert_string_equal(s.text[1], "mai");
    strset_fini(&s);
    assert_int_equal(s.count, 0);
}

// Texts around the size of a chunk, which is 64 KB with a pointer before and a NUL after them.
static void test_strset_long(void **state)
{
    struct strset s = { 0 };
    size_t fits = 65536 - sizeof(char *) - 1;
    char *text = malloc(fits + 2);

    (void)state;
    memset(text, 'x', fits + 2);
    for (size_t n = fits - 1; n <= fits + 1; n++) {
        uint32_t at = strset_add(&s, text, n);
        assert_int_equal(s.len[at], n);
        assert_int_equal(strlen(s.text[at]), n);
    }
    assert_int_equal(strset_add(&s, text, (size_t)UINT32_MAX), UINT32_MAX); // nothing is read
    assert_int_equal(s.count, 3);
    strset_fini(&s);
    free(text);
}

// ---- Varints ----

static void varint_is(uint64_t v, const char *bytes, size_t n)
{
    uint8_t buf[VARINT_MAX];
    uint64_t back;

    assert_int_equal(put_varint(buf, v) - buf, n);
    assert_memory_equal(buf, bytes, n);
    assert_int_equal(get_varint(buf, &back) - buf, n);
    assert_true(back == v);
    assert_int_equal(skip_varints(buf, 1) - buf, n);
}

static void test_varint(void **state)
{
    (void)state;
    varint_is(0, "\x00", 1);
    varint_is(127, "\x7f", 1);
    varint_is(128, "\x80\x01", 2);
    varint_is(300, "\xac\x02", 2); // 300 = 2 * 128 + 44
    varint_is(16383, "\xff\x7f", 2);
    varint_is(16384, "\x80\x80\x01", 3);
    varint_is((uint64_t)1 << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10);
    varint_is(UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

static void delta_is(uint64_t before, uint64_t now, const char *bytes, size_t n)
{
    uint8_t buf[VARINT_MAX];
    uint64_t pos = before;

    assert_int_equal(put_delta(buf, now, before) - buf, n);
    assert_memory_equal(buf, bytes, n);
    assert_int_equal(get_delta(buf, &pos) - buf, n);
    assert_true(pos == now);
}

static void test_delta(void **state)
{
    (void)state;
    delta_is(5, 5, "\x00", 1);
    delta_is(5, 4, "\x01", 1);
    delta_is(5, 6, "\x02", 1);
    delta_is(100, 36, "\x7f", 1);       // -64: the longest backward step in a byte
    delta_is(100, 164, "\x80\x01", 2);  // +64
    delta_is(0, UINT64_MAX, "\x01", 1); // one back, around the end
    delta_is(UINT64_MAX, 0, "\x02", 1);
    delta_is(0, (uint64_t)1 << 63, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

static void wide_is(quern_count v, size_t n)
{
    uint8_t buf[VARINT_WIDE_MAX];
    quern_count back;

    assert_int_equal(put_varint_wide(buf, v) - buf, n);
    assert_int_equal(get_varint_wide(buf, &back) - buf, n);
    assert_true(back == v);
    assert_int_equal(skip_varints(buf, 1) - buf, n);
}

static void test_wide(void **state)
{
    const quern_count max = (quern_count)(~(unsigned __int128)0 >> 1);

    (void)state;
    wide_is(0, 1);
    wide_is(-64, 1);
    wide_is(63, 1);
    wide_is(64, 2);
    wide_is(-65, 2);
    wide_is((quern_count)UINT64_MAX, 10); // 65 bits with the sign
    wide_is((quern_count)1 << 69, 11);    // 71 bits
    wide_is(max, VARINT_WIDE_MAX);
    wide_is(-max - 1, VARINT_WIDE_MAX);
}

static void test_skip(void **state)
{
    static const uint8_t bytes[] = { 0x01, 0x80, 0x01, 0xff, 0xff, 0x7f, 0x05 };

    (void)state;
    assert_ptr_equal(skip_varints(bytes, 0), bytes);
    assert_ptr_equal(skip_varints(bytes, 1), bytes + 1);
    assert_ptr_equal(skip_varints(bytes, 2), bytes + 3);
    assert_ptr_equal(skip_varints(bytes, 3), bytes + 6);
    assert_ptr_equal(skip_varints(bytes, 4), bytes + 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),       cmocka_unit_test(test_search_ends),
        cmocka_unit_test(test_grow),        cmocka_unit_test(test_strset),
        cmocka_unit_test(test_strset_long), cmocka_unit_test(test_varint),
        cmocka_unit_test(test_delta),       cmocka_unit_test(test_wide),
        cmocka_unit_test(test_skip),
    };
    return cmocka_run_group_tests_name("profile table", tests, NULL, NULL);
}
