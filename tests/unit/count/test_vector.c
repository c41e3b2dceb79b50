// SPDX-License-Identifier: MIT
// engine/count/vector.S: batched LL references simulated by AVX2 and by AVX-512, against
// sim/cache.c reference by reference; and where the loop stops. Skipped where the processor lacks
// either.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/count/vector.h"
#include "sim/cache.h"

struct pending {
    u64 addr;
    u32 counter, size;
};

#define SETS     4u
#define SETS_MAX 15u

u32 many_fetch; // vector.S reads it

static _Alignas(64) u32 tags[SETS_MAX * 32], plain_tags[SETS_MAX * 32];
static struct sim_narrow plain;
static u64 misses[64], expected[64];
static u8 owner[64];

static void *(*pending)(void *from, void *end, u64 *misses);

static int by_avx2(void **state)
{
    (void)state;
    pending =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? vector_waiting : NULL;
    return 0;
}

static int by_avx512(void **state)
{
    (void)state;
    pending = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")
                  ? vector_waiting64
                  : NULL;
    return 0;
}

static u32 bits = ~0u; // vector_sets.ll_bits

// Sets up an LL of so many sets and ways, with lines of so many bytes, as ll_init() does.
static void begin_of(u32 sets, u32 assoc, u32 line)
{
    struct sim_geometry g = { sets * assoc * line, assoc, line };

    assert_int_equal(sim_narrow_bytes(&g), sets * (assoc <= 16 ? 64 : 128));
    memset(tags, 0, sizeof(tags));
    memset(plain_tags, 0, sizeof(plain_tags));
    memset(misses, 0, sizeof(misses));
    memset(expected, 0, sizeof(expected));
    sim_narrow_init_zeroed(&plain, &g, plain_tags);
    vector_sets = (struct vector_sets){ .ll_tags = tags,
                                        .ll_shift = plain.line_shift,
                                        .ll_high = plain.high_shift,
                                        .ll_magic = plain.magic,
                                        .ll_divide = plain.magic_shift,
                                        .ll_odd = plain.odd,
                                        .ll_low = plain.low_mask,
                                        .ll_upper = plain.high_shift - plain.line_shift,
                                        .ll_set = assoc <= 16 ? 6 : 7,
                                        .ll_last = 1u << (assoc - 1),
                                        .ll_bits = bits };
    for (u32 i = 3; i < ARRAY_SIZE(vector_not_simple); i += 4)
        vector_not_simple[i] = bits;
}

static void begin(u32 assoc)
{
    begin_of(SETS, assoc, 64);
}

static void expect(const struct pending *w)
{
    u32 size = bits == ~0u ? w->size : w->size & LL_BYTES;

    if (w->size == LL_DONE)
        return;
    expected[w->counter]++;
    expected[w->counter + 1] += sim_narrow_ref(&plain, w->addr, size ? size : 1);
}

static void check(void)
{
    assert_memory_equal(tags, plain_tags, sizeof(tags));
    assert_memory_equal(misses, expected, sizeof(misses));
}

// Few lines too_wide what a set holds, so that all ways are met; in every other turn some in two
// lines, and some of a size that is in one. `far`: what is added to all addresses.
static void some(u32 sets, u32 assoc, u32 line, u64 far)
{
    begin_of(sets, assoc, line);
    for (u32 turn = 0; turn < 500; turn++) {
        struct pending w[80];
        u32 n = (u32)rand() % 64 + 1;

        for (u32 i = 0; i < n; i++) {
            u32 number = (u32)rand() % (sets * (assoc + 3)), kind = turn % 2 ? (u32)rand() % 8 : 8;

            w[i] = (struct pending){ far + (u64)number * line + (u32)rand() % line,
                                     (u32)rand() % 20 * 2, kind == 0 ? line / 2 + 8 : kind == 1 };
            if (bits != ~0u && rand() % 2)
                w[i].size |= LL_FETCH | (u32)(rand() % TA_I1_IDS) << LL_ID_SHIFT;
            if (turn % 4 == 3 && rand() % 8 == 0)
                w[i].size = LL_DONE;
            expect(&w[i]);
        }
        assert_ptr_equal(pending(w, w + n, misses), w + n);
        for (u32 i = 0; i < n; i++)
            assert_int_equal(w[i].size, LL_DONE);
    }
    check();
}

static void test_random(void **state)
{
    static const u32 sets[] = { 1, 3, 4, 5, 7, 12, 15 };

    (void)state;
    if (!pending)
        skip();
    srand(1);
    for (u32 assoc = 1; assoc <= (pending == vector_waiting ? 16 : VECTOR_WAYS); assoc++) {
        some(4, assoc, 64, 0);
        some(sets[assoc % 7], assoc, assoc % 2 ? 64 : 128, 0);
        some(sets[assoc % 7], assoc, 64, 0x1234567890); // a quotient of many bits
    }
    for (u32 i = 0; i < 7; i++)
        some(sets[i], 16, 64,
             (1ul << (37 + __builtin_ctz(sets[i]))) - sets[i] * 20 * 64); // the largest
}

// With tb_config.ahead: a fetch says so, and which line it is.
static void test_fetches(void **state)
{
    if (!pending)
        skip();
    bits = LL_OPEN | LL_BYTES;
    test_random(state);
    bits = ~0u;
}

// A single reference to a set of its own vectors.
static void test_order(void **state)
{
    (void)state;
    if (pending == vector_waiting || !pending)
        skip();
    srand(2);
    for (u32 assoc = 1; assoc <= VECTOR_WAYS; assoc++) {
        _Alignas(64) u32 ways[VECTOR_WAYS] = { 0 }, same[VECTOR_WAYS] = { 0 };

        for (u32 i = 0; i < 2000; i++) {
            u32 tag = 1 + (u32)rand() % (assoc + 2);
            bool miss = same[0] != tag && sim_narrow_search(same, assoc, tag);

            assert_int_equal(vector_order(ways, tag, assoc), miss);
            assert_memory_equal(ways, same, sizeof(ways));
        }
    }
}

// Simulated references are skipped.
static void test_done(void **state)
{
    struct pending w[] = { { 0, 2, 0 }, { 64, 2, LL_DONE }, { 0, 4, 0 } };

    (void)state;
    if (!pending)
        skip();
    begin(12);
    expect(&w[0]);
    expect(&w[2]);
    assert_ptr_equal(pending(w, w + 3, misses), w + 3);
    check();
    assert_int_equal(misses[2], 1);
    assert_int_equal(misses[3], 1);
    assert_int_equal(misses[4], 1);
    assert_int_equal(misses[5], 0);
}

// With --calls=yes: totals of the L1's event and, next to it, of LL's.
static void test_totals(void **state)
{
    struct pending w[] = { { 0, 2, 0 }, { 256, 2, 0 }, { 0, 8, 0 } };

    (void)state;
    if (!pending)
        skip();
    begin(12);
    memset(owner, 0, sizeof(owner));
    owner[2] = 3;
    owner[8] = 5;
    vector_sets.owner = owner;
    vector_sets.totals = 40;
    for (u32 i = 0; i < 3; i++)
        expect(&w[i]);
    expected[43] = expected[44] = 2;
    expected[45] = 1;
    assert_ptr_equal(pending(w, w + 3, misses), w + 3);
    check();
}

// A tag of more than 32 bits, of the first line or the last; an end that is before the beginning;
// an LL that has been widened.
static void test_stops(void **state)
{
    (void)state;
    if (!pending)
        skip();
    begin(16);
    u64 too_wide = 1ul << (31 + plain.high_shift);
    struct pending wide[] = { { too_wide - 1, 2, 0 },
                              { too_wide, 2, 0 },
                              { too_wide - 1, 2, 2 },
                              { UINT64_MAX, 2, 2 },
                              { UINT64_MAX - 63, 2, 0 } };

    expect(&wide[0]);
    assert_ptr_equal(pending(wide, wide + 5, misses), wide + 1);
    for (u32 i = 1; i < 5; i++)
        assert_ptr_equal(pending(wide + i, wide + 5, misses), wide + i);
    check();
    vector_sets.ll_tags = NULL;
    wide[0].size = 0;
    assert_ptr_equal(pending(wide, wide + 5, misses), wide);
    check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_random, by_avx2),
        cmocka_unit_test_setup(test_order, by_avx512),
        cmocka_unit_test_setup(test_random, by_avx512),
        cmocka_unit_test_setup(test_fetches, by_avx2),
        cmocka_unit_test_setup(test_fetches, by_avx512),
        cmocka_unit_test_setup(test_done, by_avx2),
        cmocka_unit_test_setup(test_done, by_avx512),
        cmocka_unit_test_setup(test_totals, by_avx2),
        cmocka_unit_test_setup(test_totals, by_avx512),
        cmocka_unit_test_setup(test_stops, by_avx2),
        cmocka_unit_test_setup(test_stops, by_avx512),
    };

    return cmocka_run_group_tests_name("count/vector", tests, NULL, NULL);
}
