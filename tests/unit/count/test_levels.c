// SPDX-License-Identifier: MIT
// engine/count/levels.c: which level counts what; an L2 of one line changes nothing of what LL
// counts, which is then as in sim/cache.c; LL filled by what L2 replaces, by hand; each thread's
// own L2, and one for all with --serialize-threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/callgraph/calls.h"
#include "engine/count/levels.h"
#include "engine/count/vector.h"
#include "engine/count/vectorlevels.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "sim/core.h"
#include "sim/level.h"
#include "tests/unit/objects/objects_none.h"
#include "tests/unit/spool/insnids_none.h"

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static struct thread one, two;
static u64 counted[10];

void *heap_alloc(u64 bytes)
{
    return calloc(1, bytes);
}

void *heap_pages(u64 bytes)
{
    return calloc(1, bytes);
}

void *heap_large(u64 bytes)
{
    u64 size = PAGE_UP(bytes);

    return memset(aligned_alloc(4096, size), 0, size); // pages of its own
}

struct thread *threads_first(void)
{
    return &one;
}

void calls_counted(struct thread *of, u32 counter, u64 n)
{
    (void)of, (void)counter, (void)n;
    fail();
}

// l2.size 0: none.
static void begin_threads(u32 threads, struct spool_geometry l2, struct spool_geometry ll,
                          struct spool_machine m)
{
    m.l2 = l2;
    header = (struct spool_header){ .ll = ll, .machine = m, .flags = SPOOL_F_CACHE_SIM };
    if (l2.size)
        header.flags |= SPOOL_F_L2;
    if (m.stlb.size)
        header.flags |= SPOOL_F_TLB;
    if (m.stream_distance || m.pairs)
        header.flags |= SPOOL_F_PREFETCH;
    one = (struct thread){ .misses = counted, .next = &two };
    two = (struct thread){ .misses = counted };
    memset(counted, 0, sizeof(counted));
    levels_init();
    levels_thread_init(&one);
    if (threads == 2)
        levels_thread_init(&two);
}

static void begin(struct spool_geometry l2, struct spool_geometry ll, struct spool_machine m)
{
    begin_threads(2, l2, ll, m);
}

static void expect(u64 l1, u64 l2, u64 ll)
{
    const u64 all[10] = { 0, 0, l1, l2, ll };

    assert_memory_equal(counted, all, sizeof(all));
}

static void test_off(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 0 }, (struct spool_geometry){ 4096, 4, 64 },
          (struct spool_machine){ 0 });
    assert_false(levels_are_on());
    assert_null(one.levels);
    begin((struct spool_geometry){ 0 }, (struct spool_geometry){ 4096, 4, 64 },
          (struct spool_machine){ .ll_replacement = SPOOL_SRRIP });
    assert_true(levels_are_on());
    assert_null(one.levels);
    // without an L2 the next counter is LL's
    levels_ref(&one, 0x1000, 8, false, 2);
    levels_ref(&one, 0x1000, 8, false, 2);
    levels_ref(&one, 0x103c, 8, false, 2); // in two lines, one of which is there: one miss
    levels_ref(&one, 0x103c, 8, false, 2);
    expect(4, 2, 0);
}

// L2: two sets of two ways; LL: one set of eight.
static void test_by_hand(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 256, 2, 64 }, (struct spool_geometry){ 512, 8, 64 },
          (struct spool_machine){ 0 });
    for (u64 line = 0; line < 5; line++)
        levels_ref(&one, line * 64, 4, false, 2); // L2: {4 2} {3 1}
    expect(5, 5, 5);
    levels_ref(&one, 0, 4, false, 2); // {0 4}: 0 was replaced in L2
    expect(6, 6, 5);
    levels_ref(&one, 64, 4, false, 2); // {1 3}
    expect(7, 6, 5);
    levels_ref(&one, 0xfc, 8, false, 2); // lines 3 and 4 are there
    expect(8, 6, 5);
    levels_ref(&one, 0x13c, 8, false, 2); // 4 is there, 5 is not: {4 0} {5 3}
    expect(9, 7, 6);
    // LL, by use: 5 0 4 3 2 1; 6 to 9 make it full, and replace 1 and 2
    for (u64 line = 6; line < 10; line++)
        levels_ref(&one, line * 64, 4, false, 2); // {8 6} {9 7}
    expect(13, 11, 10);
    levels_ref(&one, 3 * 64, 4, false, 2); // {8 6} {3 9}: still in LL
    expect(14, 12, 10);
    levels_ref(&one, 2 * 64, 4, false, 2);
    expect(15, 13, 11);
    levels_clear();
    levels_ref(&one, 2 * 64, 4, false, 2);
    expect(16, 14, 12);
}

// Sixteen pages, 256 KiB apart, twice, in an L2 of 512 sets of four ways. By the program's
// addresses they share a set. In memory they lie anywhere: no set gets more than four. Lines of one
// page have sets of their own in either case.
static void test_physical(void **state)
{
    const struct spool_geometry l2 = { 128 << 10, 4, 64 }, ll = { 1 << 20, 16, 64 };

    (void)state;
    begin(l2, ll, (struct spool_machine){ 0 });
    for (u64 i = 0; i < 32; i++)
        levels_ref(&one, i % 16 << 18, 4, false, 2);
    expect(32, 32, 16);
    begin(l2, ll, (struct spool_machine){ .index = SPOOL_INDEX_PHYSICAL });
    for (u64 i = 0; i < 32; i++)
        levels_ref(&one, i % 16 << 18, 4, false, 2);
    expect(32, 16, 16);
    begin(l2, ll, (struct spool_machine){ .index = SPOOL_INDEX_PHYSICAL });
    for (u64 i = 0; i < 128; i++)
        levels_ref(&one, 0x7fff0000 + i % 64 * 64, 4, false, 2);
    expect(128, 64, 64);
}

// The same levels, LL filled by what L2 replaces.
static void test_victims(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 256, 2, 64 }, (struct spool_geometry){ 256, 4, 64 },
          (struct spool_machine){ .ll_filling = SPOOL_FILL_VICTIM });
    for (u64 line = 0; line < 8; line++)
        levels_ref(&one, line * 64, 4, false, 2); // {6 4} {7 5}, LL: 3 2 1 0
    expect(8, 8, 8);
    levels_ref(&one, 0, 4, false, 2); // {0 6} {7 5}, LL: 4 3 2 1: 0 has moved to L2
    expect(9, 9, 8);
    levels_ref(&one, 64, 4, false, 2); // {0 6} {1 7}, LL: 5 4 3 2
    expect(10, 10, 8);
    levels_ref(&one, 8 * 64, 4, false, 2); // {8 0} {1 7}, LL: 6 5 4 3
    expect(11, 11, 9);
    levels_ref(&one, 2 * 64, 4, false, 2); // not there any more: {2 8} {1 7}, LL: 0 6 5 4
    expect(12, 12, 10);
    levels_ref(&one, 4 * 64, 4, false, 2); // {4 2}, LL: 8 0 6 5
    expect(13, 13, 10);
}

// LL may be late, but not wrong: 3000 references, some in two lines, to levels with and without
// victims, which load ahead: the same counts as at once, after each batch of 1 to 90.
static void test_later(void **state)
{
    static const struct spool_machine machine[] = {
        { 0 },
        { .ll_filling = SPOOL_FILL_VICTIM,
          .l2_replacement = SPOOL_SRRIP,
          .ll_replacement = SPOOL_SRRIP,
          .stream_distance = 8,
          .stream_batch = 2,
          .pairs = 1 },
        { .index = SPOOL_INDEX_PHYSICAL, .ll_replacement = SPOOL_PLRU },
    };
    const struct spool_geometry l2 = { 4096, 8, 64 }, ll = { 16384, 16, 64 };

    (void)state;
    for (size_t m = 0; m < 3; m++) {
        u64 at_once[10];

        begin(l2, ll, machine[m]);
        assert_true(levels_can_wait());
        for (u32 later = 0; later < 2; later++) {
            u64 s = m, batch = 1;

            levels_clear();
            memset(counted, 0, sizeof(counted));
            for (u32 i = 0; i < 3000; i++) {
                s = s * 6364136223846793005u + 1442695040888963407u;
                u64 addr = i % 3 ? s >> 33 & 0x7fff : (u64)i * 40;

                (later ? levels_ref_later : levels_ref)(&one, addr, 8, false, 2);
                if (later && --batch == 0) {
                    levels_finish(&one);
                    batch = 1 + (s >> 40) % 90;
                }
            }
            levels_finish(&one);
            if (!later)
                memcpy(at_once, counted, sizeof(at_once));
        }
        assert_int_equal(counted[2], 3000);
        assert_true(counted[4] > 100);
        assert_memory_equal(counted, at_once, sizeof(at_once));
    }
    tb_config.data = true;
    assert_false(levels_can_wait()); // an object's misses of LL are counted with the reference
    tb_config.data = false;
}

// An L2 of one line only keeps repetitions from LL, which are hits of its latest line.
static void test_one_line(void **state)
{
    static const struct spool_geometry ll = { 12 * 5 * 64, 5, 64 };
    struct sim_geometry g = { ll.size, ll.assoc, ll.line };
    struct sim_cache plain;
    u64 l1 = 0, misses = 0;

    (void)state;
    begin((struct spool_geometry){ 64, 1, 64 }, ll, (struct spool_machine){ 0 });
    sim_cache_init(&plain, &g, malloc(sim_cache_bytes(&g)));
    for (int n = 0; n < 100000; n++) {
        u64 addr = (u64)(u32)rand() % (2 * ll.size);

        for (int i = rand() % 3; i >= 0; i--, l1++) {
            misses += sim_cache_ref_last(&plain, addr, 8);
            levels_ref(&one, addr, 8, false, 2);
            levels_ahead(&one, addr);
        }
    }
    assert_int_equal(counted[2], l1);
    assert_int_equal(counted[4], misses);
    assert_in_range(counted[3], misses, l1 - 1);
    free(plain.tags);
}

#define AT_ONCE 500u // references of a thread

struct made {
    u64 addr;
    u32 size;
};

// 6 MiB: one in 16 in two lines, one in 32 beyond 47 bits, one in eight a fetch, one in three in
// order.
static struct made made_of(u32 i, u64 *s)
{
    u64 addr;

    *s = *s * 6364136223846793005u + 1442695040888963407u;
    addr = 0x7f0000000000 + (i % 3 ? *s >> 33 : (u64)i * 64) % (6 << 20);
    addr += i % 32 ? 0 : 1ul << 52;
    return (struct made){ i % 16 == 1 ? addr | 60 : addr & ~7ul, i % 8 ? 8 : 8 | LL_FETCH };
}

static void at_once(struct thread *t, const struct made *m)
{
    for (u32 i = 0; i < AT_ONCE; i++)
        levels_ref(t, m[i].addr, m[i].size & ~LL_FLAGS, m[i].size & LL_FETCH, 2);
}

static void by_vectors(struct thread *t, struct made *m, bool ask)
{
    vectorlevels_one *refer = vectorlevels_for(t);
    u32 regions[AT_ONCE] = { 0 };

    assert_non_null(refer);
    assert_true(vectorlevels_ask_first(t));
    for (u32 i = 0; ask && i < AT_ONCE; i++)
        m[i].size |= vectorlevels_ask(t, m[i].addr, m[i].size, 2, &regions[i]);
    for (u32 i = 0; i < AT_ONCE; i++)
        refer(t, m[i].addr, m[i].size, 2, regions[i]);
    levels_finish(t);
}

static u32 taken, held;

static void take(void)
{
    assert_int_equal(held++, 0);
    taken++;
}

static void drop(void)
{
    assert_int_equal(--held, 0);
}

// What is known of processors' levels at compile time, and searches by AVX2, change no count, nor
// does it to ask TLBs, streams and regions beforehand, or to have LL do its part alone under the
// lock: each kind of levels that vectorlevels.c knows, 300,000 references by one thread, and by two
// in turn.
static void test_by_vectors(void **state)
{
    const struct spool_geometry l8 = { 512 << 10, 8, 64 }, l16 = { 1 << 20, 16, 64 };
    const struct spool_geometry l12 = { 3 << 19, 12, 64 }, page = { 64 << 12, 64, 1 << 12 };
    const struct spool_geometry few = { 24 << 12, 6, 1 << 12 }, many = { 256 << 12, 16, 1 << 12 };
    const struct {
        struct spool_geometry l2, ll;
        struct spool_machine m;
    } kinds[] = {
        { l8,
          l16,
          { .l2_replacement = SPOOL_PLRU,
            .ll_replacement = SPOOL_PLRU,
            .ll_filling = SPOOL_FILL_VICTIM,
            .index = SPOOL_INDEX_PHYSICAL,
            .itlb = page,
            .dtlb = page,
            .stlb = many,
            .stream_distance = 20,
            .stream_batch = 2,
            .pairs = 1 } },
        { l8,
          l16,
          { .l2_replacement = SPOOL_PLRU,
            .ll_replacement = SPOOL_PLRU,
            .ll_filling = SPOOL_FILL_VICTIM,
            .index = SPOOL_INDEX_PHYSICAL,
            .stream_distance = 32,
            .stream_batch = 3,
            .stream_reach = 2,
            .stream_across = 15,
            .next_line = 1,
            .regions = 1 } },
        { l16,
          { 2 << 20, 16, 64 },
          { .l2_replacement = SPOOL_PLRU,
            .ll_replacement = SPOOL_PLRU,
            .itlb = few,
            .dtlb = few,
            .stlb = many } },
        { l12,
          { 3 * (3 << 18), 12, 64 },
          { .l2_replacement = SPOOL_SRRIP, // 3072 sets
            .ll_replacement = SPOOL_SRRIP,
            .ll_filling = SPOOL_FILL_VICTIM } },
    };

    (void)state;
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (u32 n = 0; n < 8 * sizeof(kinds) / sizeof(*kinds); n++) {
        static u64 first[10];
        u32 kind = n / 8, threads = n / 4 % 2 + 1, way = n % 4;
        u64 s = 99;

        tb_config.vectors = way ? 32 : 0;
        begin_threads(threads, kinds[kind].l2, kinds[kind].ll, kinds[kind].m);
        for (u32 i = 0; i < 300000; i += AT_ONCE) {
            struct thread *t = threads == 2 && i / AT_ONCE % 2 ? &two : &one;
            struct made m[AT_ONCE];

            for (u32 k = 0; k < AT_ONCE; k++)
                m[k] = made_of(i + k, &s);
            if (way == 3)
                levels_apart(t, take, drop);
            if (way)
                by_vectors(t, m, way >= 2);
            else
                at_once(t, m);
            levels_apart(t, NULL, NULL);
            assert_int_equal(held, 0);
        }
        if (!way)
            memcpy(first, counted, sizeof(first));
        // LL does at least half of what may wait at a time, or the rest of a batch
        if (way == 3)
            assert_in_range(taken, 300000 / AT_ONCE, 300000 / AT_ONCE + 20 * 300000 / 32);
        else
            assert_int_equal(taken, 0);
        taken = 0;
        assert_int_equal(counted[2], 300000);
        assert_in_range(counted[3], 100000, 299999);
        assert_in_range(counted[4], 10000, counted[3] - 1);
        assert_memory_equal(counted, first, sizeof(first));
    }
    begin(l8, l8, kinds[0].m); // an LL of eight ways: not one of these
    assert_null(vectorlevels_for(&one));
    tb_config.vectors = 0;
    begin(kinds[0].l2, kinds[0].ll, kinds[0].m);
    assert_null(vectorlevels_for(&one));
}

static void test_threads(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 256, 2, 64 }, (struct spool_geometry){ 512, 8, 64 },
          (struct spool_machine){ .l2_replacement = SPOOL_PLRU });
    assert_ptr_not_equal(one.levels, two.levels);
    levels_ref(&one, 0x40, 4, false, 2);
    levels_ref(&two, 0x40, 4, false, 2);
    expect(2, 2, 1);
    levels_thread_init(&two); // another thread gets the slot
    levels_ref(&one, 0x40, 4, false, 2);
    levels_ref(&two, 0x40, 4, false, 2);
    expect(4, 3, 1);
    header.flags |= SPOOL_F_SERIALIZE;
    one.levels = two.levels = NULL;
    levels_thread_init(&one);
    levels_ref(&one, 0x40, 4, false, 2);
    levels_thread_init(&two);
    assert_ptr_equal(one.levels, two.levels);
    levels_ref(&two, 0x40, 4, false, 2);
    levels_thread_init(&two);
    levels_ref(&two, 0x40, 4, false, 2);
    expect(7, 4, 1);
}

static void expect_all(u64 l1, u64 l2, u64 ll, u64 tlb, u64 stlb, u64 used, u64 wasted)
{
    const u64 all[10] = { 0, 0, l1, l2, ll, tlb, stlb, used, wasted };

    assert_memory_equal(counted, all, sizeof(all));
}

#define PAGE(n) ((u64)(n) << 12)

// DTLB: one set of two pages; ITLB: one page; STLB: two sets of two.
static void test_tlbs(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 1 << 20, 16, 64 }, (struct spool_geometry){ 1 << 24, 16, 64 },
          (struct spool_machine){ .itlb = { 1 << 12, 1, 1 << 12 },
                                  .dtlb = { 2 << 12, 2, 1 << 12 },
                                  .stlb = { 4 << 12, 2, 1 << 12 } });
    for (u64 page = 0; page < 3; page++)
        levels_ref(&one, PAGE(page), 4, false, 2); // DTLB: 2 1; STLB: {2 0} {1}
    expect_all(3, 3, 3, 3, 3, 0, 0);
    levels_ref(&one, PAGE(1) + 8, 4, false, 2);
    expect_all(4, 3, 3, 3, 3, 0, 0);
    levels_ref(&one, PAGE(0), 4, false, 2); // DTLB: 0 1; in STLB
    expect_all(5, 3, 3, 4, 3, 0, 0);
    levels_ref(&one, PAGE(1) - 4, 8, false, 2); // the end of page 0, the beginning of 1
    expect_all(6, 4, 4, 4, 3, 0, 0);
    levels_ref(&one, PAGE(6) - 4, 8, false, 2); // 5 and 6: one reference; STLB: {6 0} {5 1}
    expect_all(7, 5, 5, 5, 4, 0, 0);
    levels_ref(&one, PAGE(5), 4, true, 2); // a fetch has a TLB of its own: STLB has the page
    expect_all(8, 6, 6, 6, 4, 0, 0);
    levels_ref(&one, PAGE(5) + 64, 4, true, 2);
    expect_all(9, 7, 7, 6, 4, 0, 0);
    levels_ref(&one, PAGE(8), 4, true, 2);
    levels_ref(&one, PAGE(5), 4, true, 2); // of one page
    expect_all(11, 8, 8, 8, 5, 0, 0);
    levels_clear();
    levels_ref(&one, PAGE(5), 4, true, 2);
    expect_all(12, 9, 9, 9, 6, 0, 0);
}

// What a core times is asked of a DTLB of its own, of the same two pages, whatever L1 had; nothing
// counts. STLB has {2 0} {1} as above.
static void test_translations(void **state)
{
    (void)state;
    tb_config.core = true;
    begin((struct spool_geometry){ 1 << 20, 16, 64 }, (struct spool_geometry){ 1 << 24, 16, 64 },
          (struct spool_machine){ .itlb = { 1 << 12, 1, 1 << 12 },
                                  .dtlb = { 2 << 12, 2, 1 << 12 },
                                  .stlb = { 4 << 12, 2, 1 << 12 } });
    for (u64 page = 0; page < 3; page++) // the last one is a walk, and the first of those timed: 2
        levels_ref(&one, PAGE(page), 4, false, 2);
    assert_int_equal(levels_translation(&one, PAGE(2), 4, true), CORE_TLB_WALK);
    assert_int_equal(levels_translation(&one, PAGE(2) + 64, 4, false), CORE_TLB_HIT);
    assert_int_equal(levels_translation(&one, PAGE(0), 4, false), CORE_TLB_SECOND); // 0 2
    assert_int_equal(levels_translation(&one, PAGE(2), 4, false), CORE_TLB_HIT);    // 2 0
    assert_int_equal(levels_translation(&one, PAGE(1), 4, false), CORE_TLB_SECOND); // 1 2
    assert_int_equal(levels_translation(&one, PAGE(0), 4, false), CORE_TLB_SECOND); // 0 1
    assert_int_equal(levels_translation(&one, PAGE(7), 4, false), CORE_TLB_WALK);   // 7 0
    assert_int_equal(levels_translation(&one, PAGE(0), 4, false), CORE_TLB_HIT);    // 0 7
    // The end of page 0 and the beginning of 1: 1 0. Of pages 1 and 2, of 2 and 3: 3 2.
    assert_int_equal(levels_translation(&one, PAGE(1) - 4, 8, false), CORE_TLB_SECOND);
    assert_int_equal(levels_translation(&one, PAGE(2) - 4, 8, false), CORE_TLB_SECOND);
    assert_int_equal(levels_translation(&one, PAGE(3) - 4, 8, false), CORE_TLB_WALK);
    // It missed L1, and the counted DTLB, which has 2 1, had it: STLB has it, too.
    levels_ref(&one, PAGE(1), 4, false, 2);
    assert_int_equal(levels_translation(&one, PAGE(1), 4, true), CORE_TLB_SECOND);
    expect_all(4, 3, 3, 3, 3, 0, 0);
    levels_clear();
    assert_int_equal(levels_translation(&one, PAGE(1), 4, false), CORE_TLB_WALK);
    begin((struct spool_geometry){ 1 << 20, 16, 64 }, (struct spool_geometry){ 1 << 24, 16, 64 },
          (struct spool_machine){ 0 });
    assert_int_equal(levels_translation(&one, PAGE(1), 4, false), CORE_TLB_HIT);
    tb_config.core = false;
}

// A page in sequence: after two steps every line is there before it is used. No TLBs: the counters
// of lines loaded ahead follow those of LL.
static void test_streams(void **state)
{
    const u64 expected[10] = { 0, 0, 64, 3, 3, 61, 0 };

    (void)state;
    begin((struct spool_geometry){ 1 << 14, 8, 64 }, (struct spool_geometry){ 1 << 20, 16, 64 },
          (struct spool_machine){ .stream_distance = 8, .stream_batch = 2 });
    for (u64 line = 0; line < 64; line++)
        levels_ref(&one, PAGE(1) + line * 64, 8, false, 2);
    assert_memory_equal(counted, expected, sizeof(expected));
    for (u64 line = 0; line < 64; line++) // fetches are no steps
        levels_ref(&one, PAGE(9) + line * 64, 8, true, 2);
    assert_int_equal(counted[2], 128);
    assert_int_equal(counted[3], 67);
    assert_int_equal(counted[5], 61);
    for (u64 line = 0; line < 3; line++)
        levels_ref(&one, PAGE(17) + line * 64, 8, false, 2);
    levels_ref(&one, PAGE(17) + 3 * 64, 8, true, 2); // but they use what data had loaded ahead
    assert_int_equal(counted[2], 132);
    assert_int_equal(counted[3], 70);
    assert_int_equal(counted[5], 62);
    // whatever a group has, it has places for
    for (u32 i = 7; i < 10; i++)
        assert_int_equal(counted[i], 0);
}

// L2: one set of four. Lines that are replaced before they are used are wasted.
static void test_wasted(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 256, 4, 64 }, (struct spool_geometry){ 1024, 16, 64 },
          (struct spool_machine){ .pairs = 1, .ll_filling = SPOOL_FILL_VICTIM });
    levels_ref(&one, 0, 8, false, 2);      // 0, and 1 with it
    levels_ref(&one, 4 * 64, 8, false, 2); // 4, 5: L2 5' 4 1' 0
    const u64 first[10] = { 0, 0, 2, 2, 2, 0, 0 };
    assert_memory_equal(counted, first, sizeof(first));
    levels_ref(&one, 5 * 64, 8, false, 2); // used: 5 4 1' 0
    levels_ref(&one, 8 * 64, 8, false, 2); // 9' 8 5 4; 1 was wasted; LL: 1 0
    const u64 second[10] = { 0, 0, 4, 3, 3, 1, 1 };
    assert_memory_equal(counted, second, sizeof(second));
    levels_ref(&one, 64, 8, false, 2); // 1 from LL, 0 with it: 0' 1 9' 8
    const u64 third[10] = { 0, 0, 5, 4, 3, 1, 1 };
    assert_memory_equal(counted, third, sizeof(third));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),      cmocka_unit_test(test_by_vectors),
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_physical),
        cmocka_unit_test(test_victims),  cmocka_unit_test(test_later),
        cmocka_unit_test(test_one_line), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_tlbs),     cmocka_unit_test(test_translations),
        cmocka_unit_test(test_streams),  cmocka_unit_test(test_wasted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
