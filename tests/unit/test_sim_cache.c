// SPDX-License-Identifier: MIT
//
// sim/cache.c: sequences counted by hand, every rule of geometries, and long random sequences
// against a second simulator that is as slow and plain as possible and shares no line with the
// first. Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/cache.h"

static struct sim_cache cache_new(uint32_t size, uint32_t assoc, uint32_t line)
{
    struct sim_geometry g = { size, assoc, line };
    struct sim_cache c;
    void *storage;

    assert_int_equal(sim_geometry_check_last(&g), SIM_GEOMETRY_OK);
    storage = malloc(sim_cache_bytes(&g));
    assert_non_null(storage);
    memset(storage, 0xaa, sim_cache_bytes(&g)); // init must not rely on fresh memory
    sim_cache_init(&c, &g, storage);
    return c;
}

static void cache_free(struct sim_cache *c)
{
    free(c->tags);
}

// ---- Hand-counted sequences ----

// Four sets of one 16-byte line: 0x00, 0x40 and 0x80 share set 0.
static void direct_mapped(void **state)
{
    static const struct {
        uint64_t addr;
        bool miss;
    } step[] = {
        { 0x00, true },  // empty
        { 0x04, false }, // same line
        { 0x10, true },  // set 1
        { 0x40, true },  // set 0, evicts 0x00
        { 0x0f, true },  // evicts 0x40
        { 0x14, false }, // set 1 was left alone
        { 0x40, true },  // evicts 0x00 again
        { 0x4f, false }, { 0x80, true }, { 0x40, true },
    };
    struct sim_cache c = cache_new(64, 1, 16);

    (void)state;
    for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++)
        assert_int_equal(sim_cache_ref(&c, step[i].addr, 1), step[i].miss);
    cache_free(&c);
}

// One set of two ways: the least recently *used* goes, not the one that came first.
static void two_ways_use_order(void **state)
{
    struct sim_cache c = cache_new(64, 2, 32);

    (void)state;
    assert_true(sim_cache_ref(&c, 0x00, 4));  // A
    assert_true(sim_cache_ref(&c, 0x20, 4));  // B A
    assert_false(sim_cache_ref(&c, 0x00, 4)); // A B
    assert_true(sim_cache_ref(&c, 0x40, 4));  // C A, B goes
    assert_false(sim_cache_ref(&c, 0x1c, 4)); // A C
    assert_true(sim_cache_ref(&c, 0x20, 4));  // B A, C goes
    assert_false(sim_cache_ref(&c, 0x00, 4)); // A B
    assert_true(sim_cache_ref(&c, 0x40, 4));  // C A
    cache_free(&c);
}

static const uint32_t assocs[] = { 1, 2, 4, 8, 12, 16 };
static const uint32_t lines[] = { 16, 32, 64, 128 };
#define EACH(i, a) for (size_t i = 0; i < sizeof(a) / sizeof((a)[0]); i++)

// With W ways: W lines of one set in turn, three rounds, miss W times. W + 1 lines in turn miss
// every time, because each is evicted one reference before it comes again. Other sets stay empty.
static void ways_in_turn(void **state)
{
    (void)state;
    EACH(i, assocs)
    EACH(j, lines)
    {
        uint32_t ways = assocs[i], line = lines[j], sets = 8, misses = 0;
        uint64_t stride = (uint64_t)line * sets;
        struct sim_cache c = cache_new(sets * ways * line, ways, line);

        for (uint32_t round = 0; round < 3; round++)
            for (uint32_t k = 0; k < ways; k++)
                misses += sim_cache_ref(&c, 3 * line + k * stride, 8);
        assert_int_equal(misses, ways);

        misses = 0;
        for (uint32_t round = 0; round < 3; round++)
            for (uint32_t k = 0; k < ways + 1; k++)
                misses += sim_cache_ref(&c, 5 * line + k * stride, 8);
        assert_int_equal(misses, 3 * (ways + 1));

        for (uint32_t s = 0; s < sets; s++)
            assert_true((sim_cache_mru(&c, s) == SIM_LINE_NONE) == (s != 3 && s != 5));
        cache_free(&c);
    }
}

// W ways filled with lines 0 .. W-1, then line 0 used again, then a new one: line 1 is the oldest
// and goes, the others stay.
static void oldest_goes(void **state)
{
    (void)state;
    EACH(i, assocs)
    EACH(j, lines)
    {
        uint32_t ways = assocs[i], line = lines[j];
        struct sim_cache c = cache_new(ways * line, ways, line);

        if (ways == 1) {
            cache_free(&c);
            continue;
        }
        for (uint32_t k = 0; k < ways; k++)
            assert_true(sim_cache_ref(&c, (uint64_t)k * line, 1));
        assert_false(sim_cache_ref(&c, 0, 1));
        assert_true(sim_cache_ref(&c, (uint64_t)ways * line, 1));
        assert_false(sim_cache_ref(&c, 0, 1));
        for (uint32_t k = 2; k <= ways; k++)
            assert_false(sim_cache_ref(&c, (uint64_t)k * line, 1));
        assert_true(sim_cache_ref(&c, line, 1));
        cache_free(&c);
    }
}

// 32 KiB of 64-byte lines in one set: a walk over exactly that much hits the second time, over one
// line more never does.
static void fully_associative(void **state)
{
    struct sim_cache c = cache_new(32768, 512, 64);
    int misses = 0;

    (void)state;
    assert_int_equal(c.sets, 1);
    for (int round = 0; round < 2; round++)
        for (uint64_t a = 0; a < 32768; a += 8)
            misses += sim_cache_ref(&c, 0x12345640 + a, 8);
    assert_int_equal(misses, 512);
    cache_free(&c);

    c = cache_new(32768, 512, 64);
    misses = 0;
    for (int round = 0; round < 2; round++)
        for (uint64_t a = 0; a < 32768 + 64; a += 8)
            misses += sim_cache_ref(&c, 0x12345640 + a, 8);
    assert_int_equal(misses, 2 * 513);
    cache_free(&c);
}

// Sets of 64-byte lines; 8 bytes at 0x3c are in lines 0 and 1.
static void straddle(void **state)
{
    struct sim_cache c = cache_new(256, 1, 64);

    (void)state;
    assert_true(sim_cache_ref(&c, 0x3c, 8));  // both absent: one miss, both come in
    assert_false(sim_cache_ref(&c, 0x00, 8)); // line 0
    assert_false(sim_cache_ref(&c, 0x40, 8)); // line 1
    assert_false(sim_cache_ref(&c, 0x3c, 8)); // both present
    assert_true(sim_cache_ref(&c, 0x100, 8)); // line 4 evicts line 0
    assert_true(sim_cache_ref(&c, 0x3c, 8));  // first absent, second present: one miss
    assert_true(sim_cache_ref(&c, 0x140, 8)); // line 5 evicts line 1
    assert_true(sim_cache_ref(&c, 0x3f, 2));  // first present, second absent: one miss
    assert_false(sim_cache_ref(&c, 0x7c, 4)); // ends with its line: no straddle, line 1 is there
    assert_true(sim_cache_ref(&c, 0x80, 1));  // and line 2 never came
    cache_free(&c);
}

// Two lines of one set are touched in the order of their addresses: the upper one is the most
// recent.
static void straddle_order(void **state)
{
    struct sim_cache c = cache_new(128, 2, 64); // one set, two ways

    (void)state;
    assert_true(sim_cache_ref(&c, 0x3c, 8)); // 1 0
    assert_int_equal(sim_cache_mru(&c, 0), 1);
    assert_true(sim_cache_ref(&c, 0x80, 8));  // 2 1
    assert_false(sim_cache_ref(&c, 0x40, 8)); // 1 2
    assert_true(sim_cache_ref(&c, 0x00, 8));  // 0 1
    cache_free(&c);

    // In a cache of a single line the two evict each other each time.
    c = cache_new(64, 1, 64);
    for (int i = 0; i < 4; i++)
        assert_true(sim_cache_ref(&c, 0x3c, 8));
    assert_false(sim_cache_ref(&c, 0x40, 8));
    cache_free(&c);
}

// Address 0 is not special, nor is the last line of the address space or what wraps round it.
static void ends_of_the_address_space(void **state)
{
    struct sim_cache c = cache_new(1024, 2, 16);

    (void)state;
    assert_true(sim_cache_ref(&c, 0, 1));
    assert_false(sim_cache_ref(&c, 15, 1));
    assert_true(sim_cache_ref(&c, UINT64_MAX - 15, 16));
    assert_false(sim_cache_ref(&c, UINT64_MAX, 1));
    assert_false(sim_cache_ref(&c, UINT64_MAX, 2)); // the last line and the first
    assert_int_equal(sim_cache_mru(&c, 31), UINT64_MAX >> 4);
    // A non-canonical address, as a wild pointer of the program would be.
    assert_true(sim_cache_ref(&c, 0x8000000000000000u, 8));
    assert_false(sim_cache_ref(&c, 0x8000000000000000u, 8));
    cache_free(&c);
}

// The set is the middle bits: with 64 sets of 64 bytes, bits 6 to 11.
static void set_selection(void **state)
{
    struct sim_cache c = cache_new(49152, 12, 64);

    (void)state;
    assert_int_equal(c.sets, 64);
    assert_true(sim_cache_ref(&c, 0x7fffffffe9c8, 8));
    assert_int_equal(sim_cache_set(&c, 0x7fffffffe9c8 >> 6), 0x27); // 0x9c8 >> 6
    assert_int_equal(sim_cache_mru(&c, 0x27), 0x7fffffffe9c8 >> 6);
    for (uint32_t s = 0; s < 64; s++)
        if (s != 0x27)
            assert_true(sim_cache_mru(&c, s) == SIM_LINE_NONE);
    cache_free(&c);
}

static void clip(void **state)
{
    (void)state;
    assert_int_equal(sim_clip(1, 16), 1);
    assert_int_equal(sim_clip(16, 16), 16);
    assert_int_equal(sim_clip(108, 64), 64);
    assert_int_equal(sim_clip(512, 32), 32);
}

// ---- Geometries ----

static void geometry_check(void **state)
{
    static const struct {
        struct sim_geometry g;
        int want;
    } t[] = {
        { { 32768, 8, 64 }, SIM_GEOMETRY_OK },
        { { 49152, 12, 64 }, SIM_GEOMETRY_OK },
        { { 16, 1, 16 }, SIM_GEOMETRY_OK },
        { { 1u << 31, 1, 1u << 31 }, SIM_GEOMETRY_OK },
        { { 3221225472u, 3, 64 }, SIM_GEOMETRY_OK }, // 3 GiB, 3-way
        { { 0, 8, 64 }, SIM_GEOMETRY_ZERO },
        { { 32768, 0, 64 }, SIM_GEOMETRY_ZERO },
        { { 32768, 8, 0 }, SIM_GEOMETRY_ZERO },
        { { 32768, 8, 48 }, SIM_GEOMETRY_LINE },
        { { 32768, 8, 63 }, SIM_GEOMETRY_LINE },
        { { 32768, 8, 8 }, SIM_GEOMETRY_SHORT },
        { { 256, 8, 64 }, SIM_GEOMETRY_SMALL },
        { { 4096, 1u << 31, 1u << 31 }, SIM_GEOMETRY_SMALL }, // the product needs 64 bits
        { { 32800, 8, 64 }, SIM_GEOMETRY_MULTIPLE },
        { { 1024, 3, 64 }, SIM_GEOMETRY_MULTIPLE },
        { { 49152, 8, 64 }, SIM_GEOMETRY_SETS },      // 96 sets
        { { 503316480, 16, 64 }, SIM_GEOMETRY_SETS }, // 491520 sets
    };

    (void)state;
    EACH(i, t)
    {
        int last = sim_geometry_check_last(&t[i].g);

        assert_int_equal(sim_geometry_check(&t[i].g), t[i].want);
        // of a last level any number of sets will do
        assert_int_equal(last, t[i].want == SIM_GEOMETRY_SETS ? SIM_GEOMETRY_OK : t[i].want);
    }
    for (int a = SIM_GEOMETRY_SETS; a <= SIM_GEOMETRY_OK; a++)
        for (int b = a + 1; b <= SIM_GEOMETRY_OK; b++)
            assert_string_not_equal(sim_geometry_reason(a), sim_geometry_reason(b));
    assert_non_null(sim_geometry_reason(-1000));
}

static void geometry_nearest(void **state)
{
    // Worked out by hand from the rule in the header.
    static const struct {
        struct sim_geometry g, want;
    } t[] = {
        { { 32768, 8, 64 }, { 32768, 8, 64 } },           // valid: unchanged
        { { 503316480, 16, 64 }, { 503316480, 15, 64 } }, // 491520 sets -> 524288 sets, 15-way
        { { 37748736, 12, 64 }, { 37748736, 9, 64 } },    // 36 MB: 49152 -> 65536 sets
        { { 402653184, 1, 64 }, { 536870912, 1, 64 } },   // 6291456 -> 8388608 sets; 0.75 way -> 1
        { { 12582912, 16, 64 }, { 12582912, 12, 64 } },   // 12 MB: 12288 -> 16384 sets, 12-way
        { { 5767168, 11, 64 }, { 5767168, 11, 64 } },     // 5.5 MB 11-way is valid
        { { 32768, 8, 48 }, { 32768, 8, 64 } },           // 48 > 32 * sqrt(2), so 64
        { { 32768, 8, 40 }, { 32768, 8, 32 } },           // 40 < 32 * sqrt(2), so 32
        { { 0, 0, 0 }, { 16, 1, 16 } },                   // nothing known: the smallest
        { { 100, 8, 64 }, { 64, 1, 64 } },                // more ways than lines
        { { 4294967295u, 16, 64 }, { 4026531840u, 15, 64 } }, // 4 GiB do not fit 32 bits
    };

    (void)state;
    EACH(i, t)
    {
        struct sim_geometry r = sim_geometry_nearest(&t[i].g);

        assert_int_equal(r.size, t[i].want.size);
        assert_int_equal(r.assoc, t[i].want.assoc);
        assert_int_equal(r.line, t[i].want.line);
    }
}

static uint64_t seed;
static uint64_t next_random(void) // splitmix64
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Whatever a processor says, the result is valid, and a valid one is left alone.
static void geometry_nearest_is_valid(void **state)
{
    (void)state;
    seed = 2026;
    for (int i = 0; i < 300000; i++) {
        struct sim_geometry g, r;

        g.size = (uint32_t)next_random() >> next_random() % 32;
        g.assoc = (uint32_t)next_random() >> next_random() % 32;
        g.line = (uint32_t)next_random() >> next_random() % 32;
        if (i % 7 == 0)
            g.size = UINT32_MAX - (uint32_t)next_random() % 100;
        if (i % 3 == 0)
            g.line = 64;
        r = sim_geometry_nearest(&g);
        assert_int_equal(sim_geometry_check(&r), SIM_GEOMETRY_OK);
        if (sim_geometry_check(&g) == SIM_GEOMETRY_OK)
            assert_memory_equal(&r, &g, sizeof(g));
    }
}

// ---- The second simulator ----

// Every line that was ever used, with the time of its last use, and whether it is in the cache. A
// miss in a full set throws out the one of the set that was used longest ago.
struct plain {
    struct {
        uint64_t line, used;
        bool in;
    } known[4096];
    size_t count;
    uint64_t clock;
    uint32_t line, assoc, sets;
};

static bool plain_touch(struct plain *p, uint64_t line)
{
    size_t me = p->count, oldest = p->count;
    uint32_t in_set = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (p->known[i].line == line)
            me = i;
        if (p->known[i].in && p->known[i].line % p->sets == line % p->sets) {
            in_set++;
            if (oldest == p->count || p->known[i].used < p->known[oldest].used)
                oldest = i;
        }
    }
    p->clock++;
    if (me < p->count && p->known[me].in) {
        p->known[me].used = p->clock;
        return false;
    }
    if (in_set == p->assoc)
        p->known[oldest].in = false;
    if (me == p->count) {
        assert_true(p->count < sizeof(p->known) / sizeof(p->known[0]));
        p->count++;
    }
    p->known[me].line = line;
    p->known[me].used = p->clock;
    p->known[me].in = true;
    return true;
}

static bool plain_ref(struct plain *p, uint64_t addr, uint32_t size)
{
    bool miss = false;

    for (uint32_t i = 0; i < size; i++)
        if (i == 0 || (addr + i) % p->line == 0)
            if (plain_touch(p, (addr + i) / p->line))
                miss = true;
    return miss;
}

// Working sets a little larger than the cache, so that hits in every way and misses are all
// frequent.
// The same references through tags of 32 bits, and from half-way on through the widened copy.
static void narrow_like_wide(void **state)
{
    static const uint32_t sets[] = { 1, 2, 3, 15, 20, 64, 96 };
    uint64_t hits = 0, misses = 0;

    (void)state;
    seed = 20261121;
    EACH(i, assocs)
    EACH(j, lines)
    EACH(k, sets)
    {
        struct sim_geometry g = { sets[k] * assocs[i] * lines[j], assocs[i], lines[j] };
        struct sim_cache c = cache_new(g.size, g.assoc, g.line);
        struct sim_cache copy = cache_new(g.size, g.assoc, g.line);
        struct sim_narrow narrow;
        void *storage = calloc(1, sim_narrow_bytes(&g));

        assert_non_null(storage);
        sim_narrow_init_zeroed(&narrow, &g, storage);
        for (int n = 0; n < 2000; n++) {
            uint64_t addr = 0x400000 + next_random() % (g.size + g.size / 2 + 4 * g.line);
            uint32_t bytes = sim_clip((uint32_t)(1u << next_random() % 6), g.line);
            bool want = sim_cache_ref_last(&c, addr, bytes);

            if (n == 1000)
                sim_narrow_widen(&narrow, &copy);
            if (n < 1000) {
                assert_true(sim_narrow_can(&narrow, addr, bytes));
                assert_int_equal(sim_narrow_ref(&narrow, addr, bytes), want);
            } else {
                assert_int_equal(sim_cache_ref_last(&copy, addr, bytes), want);
            }
            want ? misses++ : hits++;
        }
        free(storage);
        cache_free(&c);
        cache_free(&copy);
    }
    assert_true(hits > 20000 && misses > 20000);
}

// 2 sets of 16-byte lines: 5 bits of an address are not in the tag. The largest, 2^31, is that of
// the line at 0xfffffffc0.
static void narrow_limits(void **state)
{
    struct sim_geometry g = { 64, 2, 16 };
    uint32_t storage[2 * 16] = { 0 };
    struct sim_narrow c;

    (void)state;
    assert_true(sim_narrow_fits(&g, 36)); // largest quotient 2^31 - 1
    assert_false(sim_narrow_fits(&g, 37));
    assert_int_equal(sim_narrow_bytes(&g), sizeof(storage));
    sim_narrow_init_zeroed(&c, &g, storage);
    assert_true(sim_narrow_can(&c, 0xfffffffff, 1));
    assert_false(sim_narrow_can(&c, 0xfffffffff, 2));
    assert_false(sim_narrow_can(&c, 0x1000000000, 1));
    assert_false(sim_narrow_can(&c, ~0ul, 2)); // wraps round
    assert_true(sim_narrow_ref(&c, 0xfffffffc0, 1));
    assert_int_equal(storage[0], 0x7fffffff);
    assert_false(sim_narrow_ref(&c, 0xfffffffcf, 1));
    assert_true(sim_narrow_ref(&c, 0xfffffffcf, 2)); // the other set
    assert_int_equal(storage[16], 0x7fffffff);
    assert_true(sim_narrow_ref(&c, 0xfffffffff, 1));
    assert_int_equal(storage[16], 0x80000000);
}

// Set and tag of any line are what a division says: 3, 15 and 245 times a power of two, and numbers
// of sets with the largest odd parts; up to the last line that has a tag.
static void narrow_divides(void **state)
{
    static const uint32_t sets[] = { 1, 3, 15 << 14, 3 << 14, 245 << 3, 65535, 1048575, 67108863 };

    (void)state;
    seed = 3;
    EACH(i, sets)
    {
        struct sim_geometry g = { sets[i] * 16, 1, 16 };
        uint32_t k = (uint32_t)__builtin_ctz(sets[i]);
        uint64_t total = UINT64_C(1) << (31 + k);
        struct sim_narrow c;

        sim_narrow_init_zeroed(&c, &g, NULL);
        for (int n = 0; n < 100000; n++) {
            uint64_t line = n < 100 ? total - 1 - (uint64_t)n
                            : n < 200
                                // about a multiple near the end, where an error shows first
                                ? total / sets[i] * sets[i] - 50 + (uint64_t)(n - 100)
                                : next_random() % total;
            struct sim_narrow_place p;

            if (line >= total)
                continue;
            p = sim_narrow_place(&c, line * 16);
            assert_int_equal(p.set, line % sets[i]);
            assert_int_equal(p.tag, line / sets[i] + 1);
        }
    }
}

static void random_against_plain(void **state)
{
    static const uint32_t sets[] = { 1, 2, 4, 16 };
    uint64_t hits = 0, misses = 0;

    (void)state;
    seed = 20260131;
    EACH(i, assocs)
    EACH(j, lines)
    EACH(k, sets)
    {
        uint32_t size = sets[k] * assocs[i] * lines[j];
        struct sim_cache c = cache_new(size, assocs[i], lines[j]);
        struct plain *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        p->line = lines[j];
        p->assoc = assocs[i];
        p->sets = sets[k];
        for (int n = 0; n < 3000; n++) {
            uint64_t addr = 0x400000 + next_random() % (size + size / 2 + 4 * lines[j]);
            uint32_t bytes = (uint32_t)(1u << next_random() % 6);
            bool want, got;

            if (next_random() % 4 == 0)
                addr = 0x400000 + next_random() % (2 * lines[j]); // a hot corner
            bytes = sim_clip(bytes, lines[j]);
            want = plain_ref(p, addr, bytes);
            got = sim_cache_ref(&c, addr, bytes);
            assert_int_equal(got, want);
            got ? misses++ : hits++;
        }
        free(p);
        cache_free(&c);
    }
    // The test is worth nothing if one side never happens.
    assert_true(hits > 50000 && misses > 50000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_mapped),
        cmocka_unit_test(two_ways_use_order),
        cmocka_unit_test(ways_in_turn),
        cmocka_unit_test(oldest_goes),
        cmocka_unit_test(fully_associative),
        cmocka_unit_test(straddle),
        cmocka_unit_test(straddle_order),
        cmocka_unit_test(ends_of_the_address_space),
        cmocka_unit_test(set_selection),
        cmocka_unit_test(clip),
        cmocka_unit_test(geometry_check),
        cmocka_unit_test(geometry_nearest),
        cmocka_unit_test(geometry_nearest_is_valid),
        cmocka_unit_test(random_against_plain),
        cmocka_unit_test(narrow_like_wide),
        cmocka_unit_test(narrow_limits),
        cmocka_unit_test(narrow_divides),
    };

    return cmocka_run_group_tests_name("sim/cache", tests, NULL, NULL);
}
