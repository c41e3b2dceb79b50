// SPDX-License-Identifier: MIT
//
// sim/stamps.c: least recently used as sim/cache.c has it, reference by reference, over long random
// sequences in geometries from one way to 64 and from one set to 64, and
// with sets that are further apart; and a set counted by hand.
// Run by `make check-sim`.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/stamps.h"

struct both {
    struct sim_cache plain;
    struct sim_stamps stamps;
    uint32_t *ids; // the same again, with lines as they are for tags
    uint64_t *id_stamps, now;
};

static struct both both_new(uint32_t size, uint32_t assoc, uint32_t line, uint32_t stride)
{
    struct sim_geometry g = { size, assoc, line };
    uint32_t ways = size / line, apart = ways / assoc * stride;
    struct both b = { .now = 1 };

    assert_int_equal(sim_geometry_check(&g), SIM_GEOMETRY_OK);
    assert_true(sim_stamps_fits(&g));
    sim_cache_init(&b.plain, &g, malloc(sim_cache_bytes(&g)));
    sim_stamps_init(&b.stamps, &g, stride, malloc(apart * 8), calloc(apart, 8),
                    calloc(SIM_STAMPS_HINTS, 2));
    b.ids = calloc(ways, 4);
    b.id_stamps = calloc(ways, 8);
    return b;
}

static void both_free(struct both *b)
{
    free(b->plain.tags);
    free(b->stamps.tags);
    free(b->stamps.stamps);
    free(b->stamps.hints);
    free(b->ids);
    free(b->id_stamps);
}

static void touch(struct both *b, uint64_t a)
{
    uint64_t line = a >> b->stamps.line_shift;
    uint32_t set = (uint32_t)(line & b->stamps.set_mask), first = set * b->stamps.assoc;
    bool miss = sim_cache_touch(&b->plain, a);
    struct sim_stamps_way w;
    uint32_t ids[64];

    memcpy(ids, b->ids + first, b->stamps.assoc * sizeof(*ids));
    b->now++;
    assert_int_equal(sim_stamps_touch(&b->stamps, a, b->now), miss);
    // where the hint says is the line
    assert_true(b->stamps.tags[b->stamps.hints[line % SIM_STAMPS_HINTS]] == (a & ~b->stamps.low));
    w = sim_stamps_touch_id(b->ids, b->id_stamps, first, b->stamps.assoc, (uint32_t)line + 1,
                            b->now);
    assert_int_equal(w.miss, miss);
    assert_int_equal(b->ids[w.way], line + 1);
    assert_int_equal(w.old, miss ? ids[w.way - first] : 0);
}

static void as_the_order_of_ways(void **state)
{
    static const uint32_t geometry[][4] = {
        { 64, 1, 16, 1 },      { 1024, 1, 32, 1 },     { 4096, 64, 64, 64 }, { 512, 32, 16, 32 },
        { 3072, 3, 64, 3 },    { 3072, 3, 64, 5 },     { 32768, 8, 64, 8 },  { 49152, 12, 64, 12 },
        { 49152, 12, 64, 16 }, { 65536, 16, 128, 16 }, { 2048, 2, 1024, 2 }, { 36864, 9, 64, 16 }
    };
    uint64_t x = 88172645463325252u;

    (void)state;
    for (size_t g = 0; g < sizeof(geometry) / sizeof(geometry[0]); g++) {
        struct both b = both_new(geometry[g][0], geometry[g][1], geometry[g][2], geometry[g][3]);

        for (uint32_t i = 0; i < 200000; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            // twice what fits, and half of the time an eighth of it
            touch(&b, (x >> 8) % (geometry[g][0] * 2 / (x & 1 ? 1 : 16)));
        }
        both_free(&b);
    }
}

// One set of two ways of 16 bytes: 0x00 0x10 0x00 0x20 leaves 0x00 and 0x20, for 0x10 is the least
// recent.
static void two_ways(void **state)
{
    static const struct {
        uint64_t addr;
        bool miss;
    } step[] = { { 0x00, true },  { 0x10, true }, { 0x0f, false }, { 0x20, true },
                 { 0x00, false }, { 0x10, true }, { 0x20, true } };
    struct both b = both_new(32, 2, 16, 2);

    (void)state;
    for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++)
        assert_int_equal(sim_stamps_touch(&b.stamps, step[i].addr, i + 1), step[i].miss);
    both_free(&b);
}

static void what_fits(void **state)
{
    struct sim_geometry most = { 65536 * 64, 16, 64 }, more = { 65536 * 128, 16, 64 };

    (void)state;
    assert_true(sim_stamps_fits(&most)); // 65,536 lines
    assert_false(sim_stamps_fits(&more));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways),
        cmocka_unit_test(as_the_order_of_ways),
        cmocka_unit_test(what_fits),
    };

    return cmocka_run_group_tests_name("sim/stamps", tests, NULL, NULL);
}
