// SPDX-License-Identifier: MIT
//
// Steps before the tables: inflating the output of zlib at every level and with every
// strategy, also cut and changed; CRCs; and which blocks the edges need.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "report/core/detail.h"
#include "tests/unit/report/tiny.h"

static uint64_t state = 42;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

// Repetitive bytes: pieces from before, runs, and a few new ones.
static void fill(uint8_t *to, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint32_t kind = random32() % 4, n = random32() % 400 + 1, back = random32() % 33000 + 1;
        for (; n > 0 && i < size; n--, i++)
            to[i] = kind == 0               ? (uint8_t)random32()
                    : kind == 1 || i < back ? (uint8_t)(back % 7)
                                            : to[i - back];
    }
}

// In blocks of the exact size, so an overrun is detected.
static uint8_t *deflated(const uint8_t *from, size_t size, int level, int strategy, size_t *out)
{
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, 9, strategy), Z_OK);
    size_t cap = size + size / 4 + 100; // deflateBound() of 1.2.13 is too small for Z_FIXED
    uint8_t *all = malloc(cap);
    z.next_in = (uint8_t *)from;
    z.avail_in = (uInt)size;
    z.next_out = all;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *out = z.total_out;
    deflateEnd(&z);
    return realloc(all, *out);
}

static void inflates(void **unused)
{
    static const size_t sizes[] = { 0, 1, 2, 300, 65535, 65536, 200000 };

    (void)unused;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int level = 0; level <= 9; level++)
            for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
                size_t size = sizes[i], n;
                uint8_t *in = malloc(size + 1), *out = malloc(size ? size : 1);
                fill(in, size);
                uint8_t *z = deflated(in, size, level, strategy, &n);
                assert_int_equal(inflate_raw(z, n, out, size), 0);
                assert_int_equal(memcmp(in, out, size), 0);
                assert_int_equal(load_crc(out, size), crc32(0, in, (uInt)size));
                // A byte less or more than it is, on either side.
                if (size > 0)
                    assert_int_equal(inflate_raw(z, n, out, size - 1), CORE_DAMAGED);
                assert_int_equal(inflate_raw(z, n - 1, out, size), CORE_DAMAGED);
                z = realloc(z, n + 1);
                z[n] = 0;
                assert_int_equal(inflate_raw(z, n + 1, out, size), CORE_DAMAGED);
                free(z);
                free(in);
                free(out);
            }
}

// Whatever the result, nothing else is read or written: AddressSanitizer checks.
static void changed(void **unused)
{
    uint8_t in[3000], *out = malloc(sizeof(in));
    uint32_t refused = 0;

    (void)unused;
    for (int i = 0; i < 4000; i++) {
        size_t n;
        fill(in, sizeof(in));
        uint8_t *z = deflated(in, sizeof(in), i % 10, i / 10 % 5, &n);
        for (int k = 0; k < 3; k++)
            z[random32() % (k ? n : n < 60 ? n : 60)] ^= (uint8_t)(1u << random32() % 8);
        bool same = inflate_raw(z, n, out, sizeof(in)) == 0 &&
                    load_crc(out, sizeof(in)) == crc32(0, in, sizeof(in));
        refused += !same;
        free(z);
    }
    free(out);
    // Three changes may cancel out; no other way is known to get the same bytes.
    assert_true(refused > 3980);
}

// By hand from RFC 1951: an invalid kind, a stored block whose length is not repeated, a
// match before the first byte, and more codes than their bits can distinguish.
static void refused(void **unused)
{
    static const struct {
        uint8_t bytes[8];
        size_t size;
    } bad[] = {
        { { 7 }, 1 },
        { { 1, 1, 0, 0, 0, 'x' }, 6 },
        { { 3, 2, 0 }, 3 }, // fixed: a length of 3 at distance 1
        { { 5, 0, 0x92, 4 }, 8 },
    };
    static const uint8_t good[] = { 1, 1, 0, 0xfe, 0xff, 'x' };
    uint8_t out[3];

    (void)unused;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        for (size_t size = 0; size <= sizeof(out); size++)
            assert_int_equal(inflate_raw(bad[i].bytes, bad[i].size, out, size), CORE_DAMAGED);
    assert_int_equal(inflate_raw(good, sizeof(good), out, 1), 0);
    assert_int_equal(out[0], 'x');
    assert_int_equal(load_crc("123456789", 9), 0xcbf43926); // the check value of CRC-32
}

// Lines may come after the edges: the answers are the same as if they had come before.
static void lines_later(void **unused)
{
    struct quern_profile *p = quern_profile_new();
    const char *events[] = { "Ir" };
    uint32_t file = quern_profile_string(p, "x.c", -1), func[2];
    uint8_t needed[64];
    size_t late = 0;

    (void)unused;
    quern_profile_set_events(p, events, 1);
    for (uint32_t i = 0; i < 2; i++)
        func[i] =
            quern_profile_func(p, QUERN_NONE, file, quern_profile_string(p, i ? "b" : "a", 1));
    for (uint32_t line = 1; line <= 20; line++) {
        uint64_t v[] = { line };
        quern_profile_add_cost(
            p, &(struct quern_site){ .func = func[line % 2], .file = file, .line = line }, v, 1);
    }
    uint64_t v[] = { 7 };
    quern_profile_add_call(p, &(struct quern_site){ .func = func[0], .file = file, .line = 2 },
                           func[1], 1, 0, 3, v, 1);
    struct pack *k = pack_everything(p, NULL);
    struct core *c = load_new();
    size_t blocks = pack_block_count(k);
    assert_true(blocks <= sizeof(needed));
    assert_int_equal(load_block(c, unpack_block(pack_block(k, 0)), pack_block(k, 0)->size), 0);
    assert_int_equal(c->blocks, blocks);
    load_needed(c, needed, (uint32_t)blocks);
    for (size_t i = 1; i < blocks; i++)
        if (needed[i])
            assert_int_equal(load_block(c, unpack_block(pack_block(k, i)), pack_block(k, i)->size),
                             0);
    assert_int_equal(link_edges(c), 0);
    for (size_t i = 1; i < blocks; i++) {
        int rc = load_block(c, unpack_block(pack_block(k, i)), pack_block(k, i)->size);
        assert_int_equal(rc, needed[i] ? CORE_WRONG : 0);
        late += !needed[i];
    }
    assert_true(late > 0);
    struct formula *f = formula_event(c, 0);
    struct detail *d;
    core_count sum = 0;
    assert_int_equal(detail_places(c, CORE_NONE, CORE_NONE, DETAIL_LINE, f, &d), 0);
    assert_int_equal(d->count, 20);
    for (uint32_t i = 0; i < d->count; i++)
        sum += detail_value(d, f, 0, i).exact;
    assert_int_equal((int64_t)sum, 210); // 1 + 2 + ... + 20
    detail_free(d);
    formula_free(f);
    // A block that is not in the index has no known properties.
    load_needed(c, needed, sizeof(needed));
    assert_int_equal(needed[0], 1);
    assert_int_equal(needed[blocks], 1);
    load_free(c);
    pack_free(k);
    quern_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflates),
        cmocka_unit_test(changed),
        cmocka_unit_test(refused),
        cmocka_unit_test(lines_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
