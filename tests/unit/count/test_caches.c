// SPDX-License-Identifier: MIT
// engine/count/caches.c: I1 and D1 of threads in each of their forms, against sets that the test
// keeps in order of use; which threads begin with empty caches, and which continue a state. The
// simulators (sim/) are the real ones; LL and vectors are fakes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/caches.h"
#include "engine/count/levels.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/tage.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "tests/unit/count/cores_none.h"
#include "tests/unit/count/curve_none.h"
#include "tests/unit/objects/lineuse_none.h"
#include "tests/unit/objects/sharing_none.h"

// -- fakes of what caches.c calls --

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
void (*stopworld_on_turn)(struct thread *t);
struct vector_sets vector_sets;

// The same without vectors; nothing else of it is needed here.
uint32_t tage_find(struct sim_predict *p, uint32_t hash, bool taken, struct sim_tage_places *at)
{
    return sim_tage_find(p, hash, taken, at);
}

static struct thread thread[2];
static u32 missed; // references that reached LL
static u64 missed_at;
static u32 ll_cleared, ll_shared, ll_inits, told_cleared, numbered;

void *heap_alloc(u64 n)
{
    return calloc(1, n + 1);
}

void *heap_pages(u64 n)
{
    return calloc(1, n);
}

struct thread *threads_first(void)
{
    return &thread[0];
}

void ll_counts(struct thread *t)
{
    (void)t;
}

void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    (void)t, (void)size;
    assert_int_equal(counter, 9);
    missed++;
    missed_at = addr;
}

void ll_clear(void)
{
    ll_cleared++;
}

void ll_init(void)
{
    ll_inits++;
}

void ll_share(void)
{
    ll_shared++;
}

void ll_before_fork(void) {}
void ll_fork_child(void) {}

void ll_thread_init(struct thread *t)
{
    (void)t;
}

bool levels_are_on(void)
{
    return false;
}

void levels_thread_init(struct thread *t)
{
    (void)t;
}

bool ll_takes_batches(void)
{
    return true;
}

void reftrace_cleared(void)
{
    told_cleared++;
}

void reftrace_thread_init(struct thread *t)
{
    (void)t;
    numbered++;
}

void calls_counted(struct thread *t, u32 counter, u64 n)
{
    (void)t, (void)counter, (void)n;
    fail();
}

struct sim_stamps_way vector_touch32(u32 *tags, u64 *stamps, u32 assoc, u32 tag, u64 now)
{
    (void)tags, (void)stamps, (void)assoc, (void)tag, (void)now;
    fail();
    return (struct sim_stamps_way){ 0 };
}

struct sim_stamps_way vector_touch64(u64 *tags, u64 *stamps, u32 assoc, u64 tag, u64 now)
{
    (void)tags, (void)stamps, (void)assoc, (void)tag, (void)now;
    fail();
    return (struct sim_stamps_way){ 0 };
}

// -- helpers of the tests --

#define LINE    64u
#define I1_SETS 2u
#define D1_SETS 4u
#define WAYS    3u // of a set of either cache, unless a test sets others

enum form { PLAIN, AREA, STAMPS, FORMS }; // where tags are, and how recency is kept

static u64 counters[16];

static u32 ways; // of a set

// Lines of a set, most recent first; 0: none.
static struct model {
    u64 line[8][16];
} i1, d1;

static bool model_misses(struct model *m, u32 sets, u64 addr)
{
    u64 line = addr / LINE + 1, *set = m->line[addr / LINE % sets];
    u32 at = 0;

    while (at < ways && set[at] != line)
        at++;
    bool miss = at == ways;
    if (miss)
        at--;
    memmove(set + 1, set, at * sizeof(*set));
    set[0] = line;
    return miss;
}

// addr may straddle two lines.
static bool model_ref(struct model *m, u32 sets, u64 addr, u32 size)
{
    bool miss = model_misses(m, sets, addr);

    if ((addr + size - 1) / LINE != addr / LINE)
        miss |= model_misses(m, sets, addr + size - 1);
    return miss;
}

static void begin_with(enum form form, u32 n)
{
    ways = n;
    memset(&header, 0, sizeof(header));
    header.flags = SPOOL_F_CACHE_SIM;
    header.i1 = (struct spool_geometry){ I1_SETS * n * LINE, n, LINE };
    header.d1 = (struct spool_geometry){ D1_SETS * n * LINE, n, LINE };
    header.ll = (struct spool_geometry){ 1 << 20, 16, LINE };
    tb_config = (struct tb_config){
        .i1_fast = form != PLAIN,
        .d1_fast = form != PLAIN,
        .stamps = form == STAMPS,
        .i1_shift = 6,
        .d1_shift = 6,
        .i1_sets = I1_SETS,
        .d1_sets = D1_SETS,
        .d1_scale = n > 8, // makes a set as long as 8-byte tags
    };
    memset(&i1, 0, sizeof(i1));
    memset(&d1, 0, sizeof(d1));
    missed = 0;
    for (u32 i = 0; i < 2; i++) {
        struct thread *t = &thread[i];

        sys_madvise((u64)t->self, TA_COUNTERS, MADV_DONTNEED);
        t->sim = NULL;
        t->counters = t->misses = counters;
        t->hist = 77;
        assert_int_equal(caches_thread_init(t), 0);
        assert_int_equal(t->hist, 0);
    }
}

static void begin(enum form form)
{
    begin_with(form, WAYS);
}

// The form decides whether lines have ids.
static bool fetch_misses(struct thread *t, u64 pc, u32 len)
{
    if (!tb_config.i1_fast)
        return caches_iref(t, pc, len, 0, 0);
    return caches_iref(t, pc, len, (u32)(pc / LINE + 1), (u32)((pc + len - 1) / LINE + 1));
}

static bool ref_misses(struct thread *t, u64 addr, u32 size)
{
    u32 before = missed;

    caches_dref(t, addr, size, 9);
    assert_in_range(missed - before, 0, 1);
    if (missed != before)
        assert_int_equal(missed_at, addr);
    return missed != before;
}

static u32 chance(u32 *seed, u32 below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

static void run(struct thread *t, u32 seed)
{
    for (u32 i = 0; i < 3000; i++) {
        u64 pc = 0x1000 + chance(&seed, (I1_SETS * ways + 4) * LINE);
        u64 addr = 0x8000 + chance(&seed, (D1_SETS * ways + 6) * LINE);
        u32 len = 1 + chance(&seed, 15), size = 1u << chance(&seed, 5);

        assert_int_equal(fetch_misses(t, pc, len), model_ref(&i1, I1_SETS, pc, len));
        assert_int_equal(ref_misses(t, addr, size), model_ref(&d1, D1_SETS, addr, size));
    }
}

// From 9 ways to 15 D1's sets are 16 apart in the form with stamps.
static void test_forms(void **state)
{
    static const u32 of_sets[] = { WAYS, 8, 9, 12, 15, 16 };

    (void)state;
    for (u32 i = 0; i < sizeof(of_sets) / sizeof(*of_sets); i++) {
        for (enum form f = PLAIN; f < FORMS; f++) {
            begin_with(f, of_sets[i]);
            run(&thread[0], 1);
            // The other thread has its own caches, still empty.
            memset(&i1, 0, sizeof(i1));
            memset(&d1, 0, sizeof(d1));
            run(&thread[1], 2);
        }
    }
}

static void test_stride(void **state)
{
    static const u32 of_sets[][2] = { { 1, 1 },   { 8, 8 },   { 9, 16 },  { 12, 16 },
                                      { 15, 16 }, { 16, 16 }, { 17, 17 }, { 32, 32 } };

    (void)state;
    begin(STAMPS);
    for (u32 i = 0; i < sizeof(of_sets) / sizeof(*of_sets); i++) {
        header.d1.assoc = of_sets[i][0];
        assert_int_equal(caches_d1_stride(), of_sets[i][1]);
    }
    header.d1.assoc = 12;
    tb_config.d1_sets = 4096; // 65,536 ways in all
    assert_int_equal(caches_d1_stride(), 16);
    tb_config.d1_sets = 8192;
    assert_int_equal(caches_d1_stride(), 12);
}

// caches_clear() empties all threads' caches; a slot that is used again starts with empty caches.
static void test_emptied(void **state)
{
    (void)state;
    for (enum form f = PLAIN; f < FORMS; f++) {
        begin(f);
        run(&thread[0], 3);
        memset(&i1, 0, sizeof(i1));
        memset(&d1, 0, sizeof(d1));
        run(&thread[1], 4);
        ll_cleared = told_cleared = 0;
        caches_clear();
        assert_int_equal(ll_cleared, 1);
        assert_int_equal(told_cleared, 1);
        for (u32 i = 0; i < 2; i++) {
            memset(&i1, 0, sizeof(i1));
            memset(&d1, 0, sizeof(d1));
            run(&thread[i], 5);
        }
        caches_thread_init(&thread[1]);
        memset(&i1, 0, sizeof(i1));
        memset(&d1, 0, sizeof(d1));
        run(&thread[1], 6);
    }
    header.flags = 0;
    ll_cleared = 0;
    caches_clear();
    assert_int_equal(ll_cleared, 0);
}

// A process that continues after another was killed: its clock is past the latest stamp of both
// caches.
static void test_clock(void **state)
{
    struct thread *t = &thread[0];
    u64 *of_i1, *of_d1;

    (void)state;
    begin(STAMPS);
    of_i1 = (u64 *)((u64)t->self + TA_I1_STAMPS);
    of_d1 = (u64 *)((u64)t->self + TA_D1_STAMPS);
    of_i1[I1_SETS * WAYS - 1] = 500;
    of_i1[I1_SETS * WAYS] = 9999; // belongs to no way
    of_d1[2] = 400;
    of_d1[D1_SETS * WAYS] = 9999;
    caches_restore_clock(t);
    assert_int_equal(t->clock, 500 + CACHES_TICK);
    of_d1[D1_SETS * WAYS - 1] = 700;
    caches_restore_clock(t);
    assert_int_equal(t->clock, 700 + CACHES_TICK);
    // Sets of 12 ways are 16 apart: the 4 others have the latest stamp, and are ignored.
    begin_with(STAMPS, 12);
    assert_true(of_d1[12] == INT64_MAX && of_d1[16 * D1_SETS - 1] == INT64_MAX);
    assert_int_equal(of_d1[16], 0);
    of_d1[16 * (D1_SETS - 1) + 11] = 800;
    ((u8 *)t->self)[TA_D1_ORDER + 24] = 3; // sorted ways, at a clock that may be in the future
    caches_restore_clock(t);
    assert_int_equal(t->clock, 800 + CACHES_TICK);
    assert_int_equal(((u8 *)t->self)[TA_D1_ORDER + 24], 0);
    tb_config.stamps = false;
    t->clock = 5;
    caches_restore_clock(t);
    assert_int_equal(t->clock, 5);
}

// Each thread has a predictor; its history is in the thread block.
static void test_branches(void **state)
{
    struct thread *t = &thread[0];

    (void)state;
    begin(STAMPS);
    memset(counters, 0, sizeof(counters));
    for (u32 i = 0; i < 100; i++)
        caches_branch(t, 0x1234, true, 3);
    u64 learned = counters[3];
    assert_in_range(learned, 1, 99);
    for (u32 i = 0; i < 100; i++)
        caches_branch(t, 0x1234, true, 3);
    assert_int_equal(counters[3], learned);
    assert_int_not_equal(t->hist, 0);
    caches_branch(t, 0x1234, false, 3);
    assert_int_equal(counters[3], learned + 1);
    assert_true(caches_indirect(t, 5, 0x7777));
    assert_false(caches_indirect(t, 5, 0x7777));
    assert_true(caches_indirect(t, 5, 0x8888));
    assert_true(caches_indirect(&thread[1], 5, 0x8888));
}

// --serialize-threads: the state moves with the turn, and stays when its thread has ended.
static void test_turns(void **state)
{
    (void)state;
    for (enum form f = PLAIN; f < STAMPS; f++) {
        begin(f);
        header.flags |= SPOOL_F_SERIALIZE;
        for (u32 i = 0; i < 2; i++)
            thread[i].sim = NULL;
        ll_shared = 0;
        for (u32 i = 0; i < 2; i++)
            caches_thread_init(&thread[i]);
        assert_int_equal(ll_shared, 2); // begin() has made the first thread
        caches_turn(&thread[0]);
        caches_clear();
        assert_ptr_equal(caches_holder(), &thread[0]);
        run(&thread[0], 7);
        caches_branch(&thread[0], 0x1234, true, 3);
        caches_turn(&thread[1]);
        assert_ptr_equal(caches_holder(), &thread[1]);
        assert_int_equal(thread[1].hist, thread[0].hist);
        run(&thread[1], 8);
        caches_thread_fini(&thread[0]); // it does not have the turn
        assert_ptr_equal(caches_holder(), &thread[1]);
        caches_thread_fini(&thread[1]);
        assert_null(caches_holder());
        caches_turn(&thread[0]);
        run(&thread[0], 9);
        caches_thread_fini(&thread[0]);
    }
}

static void test_init(void **state)
{
    (void)state;
    begin(STAMPS);
    ll_inits = 0;
    caches_init();
    assert_ptr_equal(stopworld_on_turn, caches_turn);
    assert_int_equal(ll_inits, 1);
    assert_int_equal(vector_sets.i1_mask, I1_SETS - 1);
    assert_int_equal(vector_sets.d1_mask, D1_SETS - 1);
    assert_int_equal(vector_sets.d1_ways, 7);
    assert_int_equal(vector_sets.d1_low, 63);
    assert_false(caches_by_vectors());
    tb_config.vectors = 64;
    assert_true(caches_by_vectors());
    header.d1.assoc = 17;
    assert_false(caches_by_vectors());
    header.d1.assoc = 16;
    assert_true(caches_by_vectors());
    assert_false(caches_by_whole_vectors());
    vector_sets.ll_set = 6;
    cpu.pext = true;
    assert_true(caches_by_whole_vectors());
    tb_config.calls = true;
    assert_false(caches_by_whole_vectors());
    tb_config.vectors = 32; // AVX2 allows a call graph, and needs no pext
    assert_true(caches_by_whole_vectors());
    cpu.pext = false;
    assert_true(caches_by_whole_vectors());
    cpu.pext = true;
    tb_config.vectors = 64;
    tb_config.calls = false;
    tb_config.d1_sets = 16384; // hints are numbered by 13 bits of the line
    assert_false(caches_by_whole_vectors());
    tb_config.d1_sets = 8192;
    assert_true(caches_by_whole_vectors());
    cpu.pext = false;
    assert_false(caches_by_whole_vectors());
    header.ll.line = 32;
    assert_false(caches_by_vectors());
    header.flags = 0;
    caches_init();
    assert_int_equal(ll_inits, 1);
}

static int first(void **state)
{
    (void)state;
    for (u32 i = 0; i < 2; i++) {
        long area = sys_mmap(0, TA_COUNTERS, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (sys_failed(area))
            return -1;
        thread[i].self = (struct thread *)area;
        thread[i].next = i ? NULL : &thread[1];
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_stride),
        cmocka_unit_test(test_emptied),  cmocka_unit_test(test_clock),
        cmocka_unit_test(test_branches), cmocka_unit_test(test_turns),
        cmocka_unit_test(test_init),
    };

    return cmocka_run_group_tests_name("count/caches", tests, first, NULL);
}
