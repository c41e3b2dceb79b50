// SPDX-License-Identifier: MIT
//
// finish/sums/siblings.c, and what output_lines.c keeps for the next sibling: the profile is that
// of spool_walk() with sums_add(), byte for byte, whatever the next spool has in common with the
// one before. Expected profiles are worked out by hand from the blocks, or are those of the walk.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finish/output/output.h"
#include "finish/sums/siblings.h"
#include "tests/unit/finish/places_fakes.h"

enum { COUNTERS = 8192, BYTES = 1 << 16 };

static struct spool_map maps[2];
static struct spool_header header;
static struct spool_file spool;
static struct places places;
static uint64_t counters[COUNTERS];
static char blocks[BYTES] __attribute__((aligned(8)));
static char path[] = "/tmp/quern-unit-siblings-XXXXXX";

char *spool_curve_desc(const struct spool_file *s)
{
    (void)s;
    return NULL;
}

bool spool_counters_wanted(const struct spool_file *s, uint64_t slot)
{
    (void)s, (void)slot;
    return true;
}

static int begin(void **state)
{
    (void)state;
    siblings_forget();
    siblings_expect(true);
    memset(counters, 0, sizeof(counters));
    memset(blocks, 0, sizeof(blocks));
    maps[0] = (struct spool_map){ .start = 0x1000, .end = 0x3000, .path = 1 };
    maps[1] = (struct spool_map){ .start = 0x8000, .end = 0x9000, .path = 4 };
    header = (struct spool_header){ .pid = 7, .s_cmd = 4, .flags = SPOOL_F_CACHE_SIM };
    spool = (struct spool_file){ .h = &header,
                                 .text = fake_text,
                                 .maps = maps,
                                 .maps_used = 2,
                                 .blocks = blocks,
                                 .counters = counters,
                                 .slot = SPOOL_ALL_THREADS };
    places = (struct places){ .s = &spool, .map = ~0u };
    strcpy(path, "/tmp/quern-unit-siblings-XXXXXX");
    close(mkstemp(path));
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    siblings_forget();
    return 0;
}

// Appends a block of n instructions of 4 bytes. Each reads once; the first may miss I1. Its
// counters follow those of the blocks before: executions, I1mr and ILmr of the first, D1mr and
// DLmr of each.
static void block(uint64_t pc, uint32_t n)
{
    struct spool_block *b = (struct spool_block *)(void *)(blocks + spool.blocks_used);
    struct spool_insn *in = (struct spool_insn *)(b + 1);

    assert_true(spool.blocks_used + 200 < BYTES && spool.counters_used + 3 + 2 * n < COUNTERS);
    *b = (struct spool_block){ .pc = pc,
                               .counter = (uint32_t)spool.counters_used,
                               .own = (uint32_t)spool.counters_used + 1,
                               .insns = n & 0x7ff };
    for (uint32_t i = 0; i < n; i++)
        in[i] = (struct spool_insn){ .len = 4, .reads = 1, .flags = i ? 0 : SPOOL_I_FETCH };
    spool.blocks_used += (sizeof(*b) + n * sizeof(*in) + 7) & ~7ul;
    spool.counters_used += 3 + 2 * n;
    spool.sums = spool.counters_used;
}

static char *written(struct sums *sums, struct finish_totals *totals)
{
    static char text[2][1 << 16];
    static int turn;
    char *is = text[turn ^= 1], err[256];
    FILE *f;

    assert_int_equal(output_lines(&spool, &places, sums, totals, path, err, sizeof(err)), 0);
    f = fopen(path, "r");
    assert_non_null(f);
    memset(is, 0, sizeof(text[0]));
    (void)!fread(is, 1, sizeof(text[0]) - 1, f);
    fclose(f);
    return is;
}

static void add_only_sums(void *ctx, const struct spool_walk_insn *in)
{
    sums_add(ctx, &places, in);
}

static void find_most(void)
{
    spool.most = 0;
    for (uint64_t i = 0; i < spool.counters_used; i++)
        spool.most |= counters[i];
}

// The profile of the walk, and its totals.
static char *walked(struct finish_totals *totals)
{
    struct sums sums;
    char *is;

    places.row_size = 0;
    sums_open(&sums, header.flags);
    assert_int_equal(spool_walk(&spool, add_only_sums, &sums), 0);
    is = written(&sums, totals);
    sums_close(&sums);
    places.row_size = 0;
    return is;
}

// The profile as a sibling, which is that of the walk.
static char *next(void)
{
    struct finish_totals totals, expected;
    struct sums *sums;
    char *walk, *is;

    find_most();
    walk = walked(&expected);
    sums = siblings_sums(&spool, &places);
    assert_non_null(sums);
    is = written(sums, &totals);
    assert_string_equal(is, walk);
    assert_memory_equal(totals.counts, expected.counts, sizeof(totals.counts));
    return is;
}

#define HEAD "cmd: /lib\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\n"

static void test_by_hand(void **state)
{
    (void)state;
    block(0x1110, 2); // f1, lines 16 and 20: counters 0; 1 and 2, 3 and 4; 5 and 6
    block(0x1210, 1); // f2, line 16: 7; 8 and 9, 10 and 11
    counters[0] = 5;
    counters[5] = 2;
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n16 5 0 0 5 0 0 0 0 0\n20 5 0 0 5 2 0 0 0 0\n"
                                     "summary: 10 0 0 10 2 0 0 0 0\n");
    counters[0] = 6; // only f1
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n16 6 0 0 6 0 0 0 0 0\n20 6 0 0 6 2 0 0 0 0\n"
                                     "summary: 12 0 0 12 2 0 0 0 0\n");
    counters[7] = 1;
    counters[8] = 1;
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n16 6 0 0 6 0 0 0 0 0\n20 6 0 0 6 2 0 0 0 0\n"
                                     "fn=f2\n16 1 1 0 1 0 0 0 0 0\n"
                                     "summary: 13 1 0 13 2 0 0 0 0\n");
    // Less than before: f1 is left out, with its misses.
    counters[0] = counters[5] = 0;
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f2\n16 1 1 0 1 0 0 0 0 0\n"
                                     "summary: 1 1 0 1 0 0 0 0 0\n");
    // Only a line of it: an instruction that was not executed but has missed.
    counters[6] = 3;
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n20 0 0 0 0 0 3 0 0 0\n"
                                     "fn=f2\n16 1 1 0 1 0 0 0 0 0\n"
                                     "summary: 1 1 0 1 0 3 0 0 0\n");
    counters[6] = counters[7] = counters[8] = 0;
    assert_string_equal(next(), HEAD "summary: 0 0 0 0 0 0 0 0 0\n");
}

// Blocks that this one has and the one before has not, and the reverse.
static void test_blocks(void **state)
{
    uint64_t used, used_counters;

    (void)state;
    block(0x1110, 2);
    counters[0] = 5;
    next();
    used = spool.blocks_used;
    used_counters = spool.counters_used;
    block(0x1310, 1);
    counters[used_counters] = 4;
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n16 5 0 0 5 0 0 0 0 0\n20 5 0 0 5 0 0 0 0 0\n"
                                     "fn=f3\n16 4 0 0 4 0 0 0 0 0\n"
                                     "summary: 14 0 0 14 0 0 0 0 0\n");
    spool.blocks_used = used; // another block with the same counters
    spool.counters_used = used_counters;
    block(0x1198, 1);
    assert_string_equal(next(), HEAD "fl=a.c\nfn=f1\n16 5 0 0 5 0 0 0 0 0\n20 5 0 0 5 0 0 0 0 0\n"
                                     "fl=inc.h\nfn=f1\n24 4 0 0 4 0 0 0 0 0\n"
                                     "summary: 14 0 0 14 0 0 0 0 0\n");
    spool.blocks_used = used; // none
    spool.counters_used = spool.sums = used_counters;
    next();
}

// Parents that go on and children that end, at random but the same each time: 300 spools.
static void test_random(void **state)
{
    uint64_t seed = 1, parent = 0, parent_counters = 0;

    (void)state;
    for (int turn = 0; turn < 300; turn++) {
        uint32_t more = (seed >> 33) % 3;

        spool.blocks_used = parent;
        spool.counters_used = spool.sums = parent_counters;
        for (uint32_t i = 0; i < more + (turn ? 0 : 40); i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            block(0x1000 + (seed >> 33) % 0x1f00, 1 + (seed >> 50) % 5);
            if (i == more / 2 + (turn ? 0 : 38)) { // the rest is the child's
                parent = spool.blocks_used;
                parent_counters = spool.counters_used;
            }
        }
        for (uint64_t i = 0; i < spool.counters_used; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if ((seed >> 40) % 8 == 0)
                counters[i] = (seed >> 50) % 4 ? (seed >> 33) % 1000 : 0;
        }
        next();
    }
    assert_in_range(spool.counters_used, 1000, COUNTERS);
}

// Other modules, options, or numbers of functions: nothing of the one before is used.
static void test_others(void **state)
{
    const struct sums *sums;
    uint64_t turn;

    (void)state;
    block(0x1110, 2);
    counters[0] = 5;
    next();
    sums = siblings_sums(&spool, &places);
    turn = sums->turn;
    assert_int_equal(sums->changes, 0);
    maps[1].mtime = 1;
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 1);
    next();
    maps[1].path = 1;
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 2);
    spool.maps_used = 1;
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 3);
    spool.maps_used = 2; // one more
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 3);
    places.forgotten++;
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 4);
    header.flags |= SPOOL_F_BRANCH_SIM;
    assert_int_equal(siblings_sums(&spool, &places)->turn, turn + 5);
}

// What only the walk can do.
static void test_not(void **state)
{
    struct spool_block *b;

    (void)state;
    block(0x1110, 2);
    block(0x1210, 2);
    b = (struct spool_block *)(void *)blocks;
    counters[0] = 5;
    next();
    header.flags |= SPOOL_F_NO_HINTS;
    assert_null(siblings_sums(&spool, &places));
    header.flags &= ~SPOOL_F_NO_HINTS;
    spool.partial_used = 1;
    assert_null(siblings_sums(&spool, &places));
    spool.partial_used = 0;
    spool.bad = 1;
    assert_null(siblings_sums(&spool, &places));
    spool.bad = 0;
    spool.most = UINT64_MAX >> 8;
    assert_null(siblings_sums(&spool, &places));
    spool.most = 5;
    next();
    b->own += 3; // counters of the second block
    assert_null(siblings_sums(&spool, &places));
    b->own -= 3;
    next();
    b->map = 2;
    assert_null(siblings_sums(&spool, &places));
    b->map = 0;
    next();
    spool.counters_used--;
    assert_null(siblings_sums(&spool, &places));
    spool.counters_used++;
    next();
    b->insns = 2000;
    assert_null(siblings_sums(&spool, &places));
    b->insns = 2;
    next();
    siblings_expect(false); // the last one
    next();
    siblings_forget();
    assert_null(siblings_sums(&spool, &places));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_hand, begin, end),
        cmocka_unit_test_setup_teardown(test_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_random, begin, end),
        cmocka_unit_test_setup_teardown(test_others, begin, end),
        cmocka_unit_test_setup_teardown(test_not, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
