// SPDX-License-Identifier: MIT
// engine/count/ahead.c: buffers simulated in a second state of the caches before those before them,
// and joined afterwards; against sim/cache.c, which simulates all references in their order. The
// caches, LL and the list are the real ones, in C and by the vectors that the processor has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cpu.h"
#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/frames.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/cores.h"
#include "engine/count/lineids.h"
#include "engine/count/ll.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/slotmem.h"
#include "engine/spool/spooler.h"
#include "engine/thread/stopworld.h"
#include "sim/cache.h"
#include "tests/unit/count/cores_none.h"
#include "tests/unit/count/curve_none.h"
#include "tests/unit/count/reftrace_none.h"
#include "tests/unit/objects/objects_none.h"
#include "tests/unit/spool/insnids_none.h"

#define COUNTERS 64u
#define OPS      3000u
#define ROUNDS   60u

struct cpu cpu;
struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
void (*stopworld_on_turn)(struct thread *t);
static struct thread *t;
static u64 *counted, expected[COUNTERS], own[COUNTERS]; // counted: of the slot of the second state
static struct sim_cache i1, d1, ll;

void *heap_pages(u64 bytes)
{
    long at = sys_mmap(0, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_true(at > 0);
    return (void *)at;
}

void *heap_large(u64 bytes)
{
    return heap_pages(bytes);
}

void *heap_alloc(u64 bytes)
{
    return heap_pages(bytes);
}

void *heap_shared(u64 bytes)
{
    return heap_pages(bytes);
}

void heap_free(void *p, u64 bytes)
{
    sys_munmap((u64)p, bytes);
}

struct thread *threads_first(void)
{
    return t;
}

void calls_counted(struct thread *of, u32 counter, u64 n)
{
    (void)of, (void)counter, (void)n;
    assert_true(tb_config.calls);
}

// What happens to frames, each with the number of misses before it.
struct frames frames = { .frame = 0x80 };
static struct told {
    char what;
    u64 frame, misses;
    u32 counter;
} told[16];
static u32 ntold;

static void tell(char what, u64 frame, u32 counter)
{
    u64 n = 0;

    for (u32 i = 0; i < COUNTERS; i += 2)
        n += counted[i];
    assert_true(ntold < ARRAY_SIZE(told));
    told[ntold++] = (struct told){ what, frame, n, counter };
}

void frames_late_fill(struct thread *of)
{
    assert_ptr_equal(of, t);
    tell('n', of->late_top, 0);
    of->late_last = of->late_top;
}

void frames_replay(struct thread *of, enum frames_late what, u32 frame, u32 counter)
{
    assert_ptr_equal(of, t);
    tell(what == FRAMES_LEAVE ? 'l' : 'b', frame, counter);
    if (what == FRAMES_BACK)
        assert_int_equal((u32)of->late_was, frame);
}

void frames_late_settle(struct thread *of, u64 top)
{
    assert_ptr_equal(of, t);
    of->late_top = of->late_last = top;
}

void reftrace_cleared(void) {}

void reftrace_thread_init(struct thread *of)
{
    (void)of;
}

// Where no slot with a fixed address is, wherever the kernel places other memory.
static struct thread *new_area(u64 at)
{
    assert_int_equal(sys_mmap(at, TA_COUNTERS + 0x10000, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                              0),
                     at);
    return (struct thread *)at;
}

static u64 *counted, expected[COUNTERS], own[COUNTERS]; // counted: of the second state's slot

enum kind { DATA, FETCH, FETCH_LAST };

struct op {
    enum kind kind;
    u64 addr;
    u32 size, counter;
};
static struct op op[2 * OPS];

static u32 id_of(u64 addr)
{
    return lineids_of(addr / header.i1.line);
}

// As records are interpreted; FETCH_LAST as a routine does it, for a line behind the one that was
// fetched last.
static void simulate(struct thread *by, const struct op *o)
{
    u32 first = id_of(o->addr), last = id_of(o->addr + o->size - 1);
    bool two = first != last;

    if (o->kind == DATA) {
        caches_dref(by, o->addr, o->size, o->counter);
    } else if (o->kind == FETCH_LAST && two) {
        assert_false(caches_touch(by, o->addr, caches_fetch_bits(first)));
        if (caches_touch(by, o->addr + o->size - 1, caches_fetch_bits(last)))
            ll_append(by, o->addr, o->size | caches_fetch_bits(last), o->counter);
    } else if (by->is_ahead && two) {
        ahead_fetch(by, o->addr, o->size, first, last, o->counter);
    } else if (caches_iref(by, o->addr, o->size, first, last)) {
        caches_i1_missed(by, o->addr, o->size, o->counter, last);
    }
}

static void expect(const struct op *o)
{
    bool missed = sim_cache_ref_last(o->kind == DATA ? &d1 : &i1, o->addr, o->size);

    expected[o->counter] += missed;
    if (missed)
        expected[o->counter + 1] += sim_cache_ref_last(&ll, o->addr, o->size);
}

static u32 below(u32 n)
{
    return (u32)rand() % n;
}

// So many references to as few, or as many, lines as this round has.
static void make(struct op *o, u32 n)
{
    u32 bytes = 64u << below(14), line = 0;

    for (u32 i = 0; i < n; i++, o++) {
        o->kind = below(3) ? DATA : FETCH;
        o->addr = (o->kind == DATA ? 0x10000000 : 0x400000) + below(bytes);
        o->size = below(4) ? 1 : 1 + below(o->kind == DATA ? 64 : 15);
        o->counter = below(COUNTERS / 2) * 2;
        if (o->kind == FETCH && o > op && o[-1].kind == FETCH && o[-1].size == 1 && line) {
            o->kind = FETCH_LAST; // it begins in the same line
            o->addr = (o[-1].addr | 63) - below(8);
            o->size = 1 + below(15);
        }
        line = o->kind == FETCH;
    }
}

static u32 earlier; // records before those that are ahead, which are simulated while these are
static u32 turns;

static void simulate_earlier(void)
{
    for (u32 i = 0; i < earlier; i++)
        simulate(t, &op[i]);
    earlier = 0;
}

static void await_turn(struct thread *of)
{
    assert_ptr_equal(of, t);
    simulate_earlier();
    turns++;
}

static void check(void)
{
    assert_false(ll_has_pending(t));
    for (u32 i = 0; i < COUNTERS; i++) {
        assert_int_equal(counted[i], expected[i]);
        assert_int_equal(own[i], 0);
    }
}

static void cache(struct sim_cache *c, const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    free(c->tags);
    sim_cache_init_zeroed(c, &s, calloc(1, sim_cache_bytes(&s)));
}

static void begin(struct spool_geometry one, struct spool_geometry two, u32 vectors)
{
    if (!t) {
        t = new_area(0x200000000000);
        slotmem_row[0] = (u64)new_area(0x210000000000);
        slotmem_rows = 1;
        counted = slotmem_counters(SPOOL_THREADS_FIXED);
        cpu.bmi2 = __builtin_cpu_supports("bmi2");
        lineids_init();
    }
    memset((void *)slotmem_row[0], 0, sizeof(*t));
    memset(t, 0, sizeof(*t));
    t->self = t;
    header = (struct spool_header){
        .flags = SPOOL_F_CACHE_SIM, .i1 = one, .d1 = two, .ll = { 1 << 20, 16, 64 }
    };
    tb_config = (struct tb_config){ .recording = true,
                                    .stamps = true,
                                    .cache = true,
                                    .ahead = true,
                                    .vectors = vectors,
                                    .i1_shift = (u32)__builtin_ctz(one.line),
                                    .d1_shift = (u32)__builtin_ctz(two.line),
                                    .i1_sets = one.size / one.line / one.assoc,
                                    .d1_sets = two.size / two.line / two.assoc };
    cache(&i1, &one);
    cache(&d1, &two);
    cache(&ll, &header.ll);
    memset(counted, 0, COUNTERS * sizeof(*counted));
    memset(expected, 0, sizeof(expected));
    t->counters = own;
    t->misses = counted;
    caches_init();
    t->sim = NULL;
    // Hints are of other ways in the geometry before.
    sys_madvise((u64)t + TA_REPLAY, TA_COUNTERS - TA_REPLAY, MADV_DONTNEED);
    sys_madvise(slotmem_row[0] + TA_REPLAY, TA_COUNTERS - TA_REPLAY, MADV_DONTNEED);
    caches_ahead_init(t); // as caches_thread_init(), which would tell a second thread by it
    caches_ahead_empty(t);
    ll_thread_init(t);
    ahead_init();
    ahead_await_turn = await_turn;
    ahead_thread_init(t);
    assert_ptr_equal(t->ahead, slotmem_row[0]);
    ll_beside(t, true);
    turns = 0;
    srand(11);
}

// A part of the program by t, then one that is ahead of it, and so on.
static void rounds(u32 n)
{
    for (u32 i = 0; i < n; i++) {
        u32 before = below(OPS), all = before + below(OPS);

        make(op, before);
        make(op + before, all - before);
        for (u32 k = 0; k < all; k++)
            expect(&op[k]);
        earlier = before;
        assert_true(ahead_may(t, 0));
        ahead_begin(t, 7 * i, 0);
        for (u32 k = before; k < all; k++)
            simulate(t->ahead, &op[k]);
        assert_false(ahead_may(t, 0));
        if (below(2))
            ahead_sort(t);
        simulate_earlier();
        t->replay_sp = 7 * i; // what came before it ends there
        t->ahead->replay_sp = 7 * i + 3;
        ahead_join(t);
        assert_int_equal(t->replay_sp, 7 * i + 3);
        if (below(2))
            ll_drain(t);
    }
    ll_drain(t);
    check();
}

static u32 vectors_here(void)
{
    return !cpu.bmi2 ? 0
           : __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? 64
           : __builtin_cpu_supports("avx2") ? 32
                                            : 0;
}

static void with(struct spool_geometry one, struct spool_geometry two)
{
    begin(one, two, 0);
    tb_config.recordbuf_grows = true;
    rounds(ROUNDS);
    assert_int_equal(turns, 0);
    begin(one, two, vectors_here());
    tb_config.recordbuf_grows = true;
    rounds(ROUNDS);
    assert_int_equal(turns, 0);
}

static void test_usual(void **state)
{
    (void)state;
    with((struct spool_geometry){ 32768, 8, 64 }, (struct spool_geometry){ 32768, 8, 64 });
}

static void test_twelve_ways(void **state)
{
    (void)state;
    with((struct spool_geometry){ 65536, 4, 64 }, (struct spool_geometry){ 49152, 12, 64 });
}

static void test_one_set(void **state)
{
    (void)state;
    with((struct spool_geometry){ 512, 8, 64 }, (struct spool_geometry){ 256, 4, 64 });
}

static void test_direct_mapped(void **state)
{
    (void)state;
    with((struct spool_geometry){ 1024, 1, 64 }, (struct spool_geometry){ 64, 1, 64 });
}

// The list has few places: when it is full, it is the records' turn before they end.
static void test_list_is_full(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 },
          vectors_here());
    rounds(ROUNDS);
    assert_true(turns > 5);
}

static jmp_buf killed;

static void killed_in_turn(struct thread *of)
{
    await_turn(of);
    longjmp(killed, 1);
}

// A thread that is killed when its list is full: whoever goes on has the records from the one on
// that has filled it, and a list without a free place.
static void test_killed_with_full_list(void **state)
{
    static u32 next;

    (void)state;
    begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 },
          vectors_here());
    for (u32 i = 0; i < OPS; i++) {
        op[i] = (struct op){ DATA, 0x10000000 + below(4096) * 64, 1, 2 * below(2) };
        expect(&op[i]);
    }
    earlier = next = OPS / 2;
    ahead_await_turn = killed_in_turn;
    ahead_begin(t, 0, 0);
    if (setjmp(killed))
        ahead_resume(t);
    while (next < OPS)
        simulate(t->ahead, &op[next++]);
    assert_int_equal(turns, 1);
    ahead_join(t);
    ll_drain(t);
    check();
}

static void load(u64 line)
{
    caches_dref(t->ahead, 0x10000000 + line * 64, 1, 2);
}

static void expect_told(u32 i, char what, u64 frame, u64 misses, u32 counter)
{
    assert_int_equal(told[i].what, what);
    assert_int_equal(told[i].frame, frame);
    assert_int_equal(told[i].misses, misses);
    assert_int_equal(told[i].counter, counter);
}

// Frames at 0x1000 and below have noted the totals before. Those above do when something misses; of
// those that end, the ones that have noted them are told, with what has missed up to there. A miss
// that turns out to be a hit is no miss.
static void test_frames(void **state)
{
    struct thread *a;

    (void)state;
    begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 }, 0);
    tb_config.calls = true;
    t->calls_base = 0;
    caches_dref(t, 0x10000000 + 3 * 64, 1, 2); // line 3 is there
    t->late_top = t->late_last = 0x1000;
    t->replay_sp = 5;
    a = ahead_begin(t, 5, 0x1000);
    load(1); // of a frame that has noted them
    ahead_frame(a, FRAMES_ENTER, 0x1080, 0);
    ahead_frame(a, FRAMES_ENTER, 0x1100, 0);
    ahead_frame(a, FRAMES_LEAVE, 0x1100, 40); // without a miss
    ahead_frame(a, FRAMES_ENTER, 0x1100, 0);
    load(2);
    load(2);
    load(3);
    ahead_frame(a, FRAMES_LEAVE, 0x1100, 41);
    ahead_frame(a, FRAMES_BACK, 0x1100, 0);
    ahead_frame(a, FRAMES_LEAVE, 0x1080, 42);
    ahead_frame(a, FRAMES_LEAVE, 0x1000, 43); // from before
    ahead_frame(a, FRAMES_ENTER, 0x1000, 0);
    ahead_note(a); // the end
    ntold = 0;
    ahead_join(t);
    ll_drain(t);
    expect_told(0, 'n', 0x1100, 2, 0); // line 1, and that of t
    expect_told(1, 'l', 0x1100, 3, 41);
    expect_told(2, 'b', 0x1100, 3, 0);
    expect_told(3, 'l', 0x1080, 3, 42);
    expect_told(4, 'l', 0x1000, 3, 43);
    expect_told(5, 'n', 0x1000, 3, 0);
    assert_int_equal(ntold, 6);
    assert_int_equal(t->late_top, 0x1000);
    assert_int_equal(counted[2], 3);
    tb_config.calls = false;
}

// What is counted without a reference is counted between those before and after it, when it is the
// buffer's turn: once, also where the list is full in between.
static void test_counts(void **state)
{
    (void)state;
    for (u32 k = 0; k < 2; k++) {
        u64 many = k ? 300 : 3;

        begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 }, 0);
        tb_config.recordbuf_grows = !k;
        ahead_count(t, 8, 2); // at once
        assert_int_equal(counted[8], 2);
        ahead_begin(t, 0, 0);
        for (u32 i = 0; i < many; i++) {
            ahead_count(t->ahead, 8, 5);
            load(i);
            ahead_count(t->ahead, 10, 0); // nothing: not on the list
        }
        assert_int_equal(turns > 0, k);
        if (!k)
            assert_int_equal(counted[8], 2);
        ahead_join(t);
        ll_drain(t);
        assert_int_equal(counted[8], 2 + 5 * many);
        assert_int_equal(counted[2], many);
        assert_int_equal(counted[10], 0);
    }
}

static void begin_sampled(bool grows)
{
    begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 }, 0);
    tb_config.core = tb_config.sampled = tb_config.learns = true;
    tb_config.recordbuf_grows = grows;
    t->core_phase = CORES_OFF;
    t->core_left = 1000;
}

// Where a core sees samples, a buffer is joined if all of its instructions are between two of them.
static void test_samples(void **state)
{
    (void)state;
    assert_false(ahead_keeps());
    begin_sampled(true);
    assert_true(ahead_keeps());
    ahead_begin(t, 0, 0);
    cores_skip(t->ahead, 400);
    load(1);
    t->ahead->record_tail = (const struct record_block *)op;
    assert_true(ahead_joins(t));
    t->core_left = 401;
    assert_true(ahead_joins(t));
    t->core_left = 400;
    assert_false(ahead_joins(t));
    t->core_left = 1000;
    t->core_phase = CORES_LEARN;
    assert_false(ahead_joins(t));
    t->core_phase = CORES_OFF;
    ahead_sort(t);
    ahead_join(t);
    assert_int_equal(t->core_left, 600);
    assert_ptr_equal(t->record_tail, op);
    assert_true(ahead_joins(t)); // whoever was killed here may do it again
    ahead_join(t);
    assert_int_equal(t->core_left, 600);
    assert_int_equal(counted[2], 1);
    // The next one may have a tenth more, and so may those before it.
    t->core_left = 441;
    assert_true(ahead_may(t, 0));
    assert_false(ahead_may(t, 1));
    t->core_left = 440;
    assert_false(ahead_may(t, 0));
    t->core_left = 881;
    assert_true(ahead_may(t, 1));
}

// A list that is full does not wait for its turn: whether the buffer can be joined is not known.
static void test_samples_full(void **state)
{
    (void)state;
    begin_sampled(false);
    ahead_begin(t, 0, 0);
    for (u32 i = 0; i < 100; i++)
        load(i);
    assert_int_equal(turns, 0);
    assert_false(ahead_joins(t));
    ahead_sort(t);
    assert_false(ahead_joins(t));
    ahead_forget(t);
    assert_false(ahead_may(t, 0)); // not soon again
    for (u32 i = 0; i < COUNTERS; i++)
        assert_int_equal(counted[i], 0);
    for (u32 i = 0; i < 64; i++)
        ahead_next(t);
    assert_true(ahead_may(t, 0));
}

// Not before LL is batched in pieces, nor where threads share it, nor with two thousand lines of
// code too many.
static void test_may(void **state)
{
    (void)state;
    begin((struct spool_geometry){ 4096, 4, 64 }, (struct spool_geometry){ 2048, 2, 64 }, 0);
    assert_true(ahead_may(t, 0));
    ll_beside(t, false);
    assert_false(ahead_may(t, 0));
    ll_beside(t, true);
    assert_true(ahead_may(t, 0));
    ahead_begin(t, 0, 0);
    assert_false(ahead_may(t, 0));
    ahead_forget(t);
    assert_true(ahead_may(t, 0));
    ll_share();
    assert_false(ahead_may(t, 0));
    ll_fork_child();
    t->misses = own;
    ahead_thread_init(t);
    assert_null(t->ahead);
    assert_false(ahead_may(t, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),        cmocka_unit_test(test_twelve_ways),
        cmocka_unit_test(test_one_set),      cmocka_unit_test(test_direct_mapped),
        cmocka_unit_test(test_list_is_full), cmocka_unit_test(test_killed_with_full_list),
        cmocka_unit_test(test_frames),       cmocka_unit_test(test_counts),
        cmocka_unit_test(test_samples),      cmocka_unit_test(test_samples_full),
        cmocka_unit_test(test_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
