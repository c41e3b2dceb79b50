// SPDX-License-Identifier: MIT
// engine/count/ll.c: the replayer's references are batched in pieces of 4096, which the thread
// simulates while it waits; against sim/cache.c, reference by reference. This process is the
// replayer and the thread in turn.
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <signal.h>
#undef REG_RIP // the engine's is another one

#include "engine/base/heap.h"
#include "engine/callgraph/calls.h"
#include "engine/count/levels.h"
#include "engine/count/ll.h"
#include "engine/count/llfork.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "sim/cache.h"
#include "tests/unit/count/curve_none.h"
#include "tests/unit/objects/objects_none.h"
#include "tests/unit/spool/insnids_none.h"
#include "tests/unit/thread/waiter.h"

#define PIECE    4096u
#define PIECES   16u
#define COUNTERS 64u

struct tb_config tb_config;
static struct spool_header header;
struct spool_header *spool = &header;
static struct thread *t;
static struct sim_cache plain;
static u64 counted[COUNTERS], expected[COUNTERS];
static u64 helped[COUNTERS]; // by ll_help()
static u32 vectors;          // that the processor has
static u64 pages_asked;
static void *pages; // the last ones

void *heap_pages(u64 bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    pages_asked = bytes;
    pages = p;
    return p;
}

static u64 large_asked;

void *heap_large(u64 bytes)
{
    large_asked = bytes;
    return heap_pages(bytes);
}

void *heap_alloc(u64 bytes)
{
    return heap_pages(bytes);
}

struct thread *threads_first(void); // thread/threads.h is not for this file: it has sys.h

struct thread *threads_first(void)
{
    return t;
}

void *heap_shared(u64 bytes)
{
    return heap_pages(bytes);
}

static jmp_buf killed;

// Whoever simulates is killed.
void calls_counted(struct thread *of, u32 counter, u64 n)
{
    (void)of, (void)counter, (void)n;
    longjmp(killed, 1);
}

static u32 filled;
static bool pending_then;

void frames_late_fill(struct thread *of)
{
    filled++;
    pending_then = ll_has_pending(of);
    of->late_last = of->late_top;
}

static bool missed, first_missed; // LL: the latest reference, the first of refer_to_some()

// One more reference that missed its L1, by sim/cache.c.
static void refer(u64 addr, u32 size, u32 counter)
{
    expected[counter]++;
    missed = sim_cache_ref_last(&plain, addr, size);
    expected[counter + 1] += missed;
    ll_ref(t, addr, size, counter);
}

static void refer_to_some(u32 n)
{
    for (u32 i = 0; i < n; i++) {
        refer((u64)(u32)rand() % (2 * header.ll.size), (u32)rand() % 8 ? 1 : 8,
              (u32)rand() % 30 * 2);
        if (i == 0)
            first_missed = missed;
    }
}

static void check(void)
{
    assert_false(ll_has_pending(t));
    for (u32 i = 0; i < COUNTERS; i++)
        assert_int_equal(counted[i] + helped[i], expected[i]);
}

static int begin(struct sim_geometry g)
{
    static bool there;

    if (!there) {
        u64 room = TA_LL_PIECES_END + 0x20000;
        u64 at = (u64)heap_pages(room);

        t = (struct thread *)((at + 0xffff) & ~0xfffful);
        t->self = t;
        there = true;
        vectors = !__builtin_cpu_supports("bmi2") ? 0
                  : __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl")
                      ? 64
                  : __builtin_cpu_supports("avx2") ? 32
                                                   : 0;
    }
    header = (struct spool_header){ .ll = { g.size, g.assoc, g.line } };
    tb_config = (struct tb_config){ .recording = true, .stamps = true, .vectors = vectors };
    memset(counted, 0, sizeof(counted));
    memset(helped, 0, sizeof(helped));
    memset(expected, 0, sizeof(expected));
    t->misses = counted;
    t->counters = helped;
    vector_sets.ll_batch = 0;
    ll_init();
    assert_int_equal(vector_sets.ll_batch, LL_BATCH_OWN);
    ll_thread_init(t);
    free(plain.tags);
    sim_cache_init_zeroed(&plain, &g, calloc(1, sim_cache_bytes(&g)));
    srand(7);
    return 0;
}

// With so few sets a tag has more than 32 bits.
static int setup(void **state)
{
    (void)state;
    return begin((struct sim_geometry){ 1 << 17, 16, 64 });
}

static int setup_narrow(void **state)
{
    (void)state;
    begin((struct sim_geometry){ 1 << 20, 16, 64 });
    assert_true(ll_takes_batches());
    assert_int_equal(vector_sets.ll_ahead, 1023 << 6);
    assert_int_equal(vector_sets.ll_set, 6);
    assert_int_equal(pages_asked, 1 << 16); // 4 bytes a line
    return 0;
}

// 15 * 1024 sets; 3 * 1024 of 20 ways, which AVX2 does not search.
static int setup_odd(void **state)
{
    (void)state;
    begin((struct sim_geometry){ 15 << 20, 16, 64 });
    assert_true(ll_takes_batches());
    assert_int_equal(vector_sets.ll_ahead, 0);
    assert_int_equal(vector_sets.ll_set, 6);
    return 0;
}

static int setup_odd_wide_sets(void **state)
{
    (void)state;
    begin((struct sim_geometry){ 3 * 1024 * 20 * 64, 20, 64 });
    assert_true(ll_takes_batches());
    assert_int_equal(vector_sets.ll_set, vectors == 64 ? 7 : 0);
    return 0;
}

// Any order of who simulates, and batches that contain only simulated references.
static void test_by_turns(void **state)
{
    (void)state;
    for (u32 turn = 0; turn < 400; turn++) {
        ll_beside(t, rand() % 8 != 0);
        refer_to_some((u32)rand() % (3 * PIECE));
        ll_replayed(t);
        for (u32 n = (u32)rand() % 4; n && ll_help(t); n--)
            ;
        if (rand() % 16 == 0) {
            ll_drain(t);
            check();
        }
    }
    ll_beside(t, false);
    check();
    assert_true(header.n_helped > 0);
    assert_int_equal(header.n_helped % PIECE, 0);
}

// Sets of other shapes are simulated one reference after the other.
static void test_without_vectors(void **state)
{
    tb_config.vectors = 0;
    test_by_turns(state);
}

// Only whole pieces are left to the thread. Above sixteen, the replayer simulates the oldest.
static void test_pieces(void **state)
{
    u64 n = 0;

    (void)state;
    ll_beside(t, true);
    refer_to_some(PIECE - 1);
    ll_replayed(t);
    assert_true(ll_has_pending(t));
    assert_false(ll_help(t));
    refer_to_some(1);
    assert_true(ll_help(t));
    assert_false(ll_help(t));
    check();
    assert_int_equal(header.n_helped, PIECE);
    refer_to_some((PIECES + 2) * PIECE + 5);
    for (u32 i = 0; i < PIECES - 1; i++)
        assert_true(ll_help(t));
    assert_false(ll_help(t));
    assert_int_equal(header.n_helped, PIECES * PIECE);
    for (u32 i = 0; i < COUNTERS; i += 2)
        n += helped[i]; // misses of L1, one for each reference
    assert_int_equal(n, PIECES * PIECE);
    assert_true(ll_has_pending(t));
    ll_drain(t);
    check();
}

// What is batched belongs to frames that have noted the totals: it is counted before others note
// them, and they do before the next reference is batched.
static void test_counts(void **state)
{
    (void)state;
    ll_share();
    filled = 0;
    ll_ref(t, 64, 1, 3);
    ll_counts(t);
    assert_true(ll_has_pending(t) && !filled);
    t->late_top += 128;
    ll_counts(t);
    assert_true(filled == 1 && !pending_then && !ll_has_pending(t));
    ll_ref(t, 64, 1, 3);
    ll_ref(t, 128, 1, 3);
    assert_true(filled == 1 && ll_has_pending(t));
    t->late_top += 128;
    ll_ref(t, 192, 1, 3);
    assert_true(filled == 2 && !pending_then && ll_has_pending(t));
    ll_drain(t);
    assert_true(counted[3] == 4 && counted[4] == 3);
    ll_fork_child();
}

// More than sixteen pieces: who fills the last one simulates the oldest, also if a thread says that
// it helps and does not come. Both times fifteen are left, and what is behind them.
static void test_many(void **state)
{
    (void)state;
    for (u32 helps = 0; helps < 2; helps++) {
        ll_helps(t, helps);
        ll_beside(t, true);
        refer_to_some((PIECES + 1) * PIECE + 17);
        ll_replayed(t);
        for (u32 i = 0; i < PIECES - 1; i++)
            assert_true(ll_help(t));
        assert_false(ll_help(t));
        assert_true(ll_has_pending(t));
        ll_drain(t);
        check();
    }
    ll_helps(t, false);
    ll_beside(t, false);
}

// The thread asks to be woken: there is enough already, or not yet.
static void test_ask(void **state)
{
    u32 word = 0;

    (void)state;
    assert_false(ll_ask(t, &word));
    ll_beside(t, true);
    refer_to_some(PIECES / 2 * PIECE - 1);
    assert_false(ll_ask(t, &word));
    refer_to_some(1);
    assert_true(ll_ask(t, &word));
    ll_beside(t, false);
    assert_false(ll_ask(t, &word));
    check();
}

// Not with two threads, a call graph, or replays in C: then references are simulated at once, or
// drained together.
static void test_not_batched(void **state)
{
    (void)state;
    tb_config.stamps = false;
    ll_beside(t, true);
    refer_to_some(PIECE);
    check();
    tb_config.stamps = true;
    tb_config.calls = true;
    ll_init();
    ll_beside(t, true);
    tb_config.calls = false;
    assert_false(ll_has_pending(t));
}

// When a second thread starts, the pending references are simulated before anything else.
static void test_second_thread(void **state)
{
    (void)state;
    ll_beside(t, true);
    refer_to_some(3 * PIECE + 7);
    ll_share();
    ll_beside(t, true);
    check();
    refer_to_some(PIECE - 1);
    assert_true(ll_has_pending(t));
    assert_false(ll_help(t));
    refer_to_some(1);
    check();
    ll_fork_child(); // which has one thread
    ll_thread_init(t);
}

// SIGKILL hits the replayer after the last reference of a piece: before the piece is handed over,
// and after; the last time where the ring of pieces wraps.
static void test_killed_at_a_piece(void **state)
{
    (void)state;
    for (u32 i = 0; i < 2 * PIECES; i++) {
        u64 behind;

        ll_beside(t, true);
        refer_to_some(PIECE - 1);
        behind = t->ll + 16;
        refer_to_some(1);
        if (i % 2)
            t->ll = behind;
        __atomic_fetch_sub((u32 *)((u8 *)t->self + TA_LL_QUEUE), 1, __ATOMIC_RELAXED); // given
        ll_beside(t, false);
        check();
    }
}

// In the middle of a piece: references that were simulated are marked.
static void test_killed_in_a_piece(void **state)
{
    struct pending {
        u64 addr;
        u32 counter, size;
    } *w = (void *)((u8 *)t->self + TA_LL_PIECES);

    (void)state;
    ll_beside(t, true);
    refer_to_some(PIECE + 9);
    for (u32 i = 0; i < 100; i++) {
        w[i].size = LL_DONE;
        expected[w[i].counter]--;
    }
    ll_drain(t);
    assert_false(ll_has_pending(t));
    for (u32 i = 0; i < COUNTERS; i += 2)
        assert_int_equal(counted[i] + helped[i], expected[i]);
}

static u32 asked;

static bool is_orphan(void)
{
    return ++asked == 2;
}

// Whoever simulates this piece, that of the last refer_to_some(), is killed at its first reference,
// when that has been counted, and its miss of LL has not.
static void is_killed(u32 piece)
{
    tb_config.calls = true;
    if (!setjmp(killed))
        ll_help(t);
    tb_config.calls = false;
    expected[((u32 *)((u8 *)t->self + TA_LL_PIECES + piece * 0x10000))[2] + 1] -= first_missed;
}

// The lock's holder was killed: a survivor checks from time to time, and takes the lock. The
// reference that was being simulated is not counted twice.
static void test_orphan(void **state)
{
    (void)state;
    tb_config.vectors = 0;
    ll_is_orphan = is_orphan;
    asked = 0;
    ll_beside(t, true);
    refer_to_some(PIECE);
    is_killed(0);
    assert_false(ll_help(t));
    ll_drain(t);
    assert_int_equal(asked, 2);
    check();
    refer_to_some(PIECE);
    assert_true(ll_help(t));
    check();
    // The same where all pieces are full.
    refer_to_some(PIECE);
    is_killed(2);
    asked = 0;
    refer_to_some((PIECES - 1) * PIECE);
    assert_int_equal(asked, 2);
    assert_true(ll_help(t));
    ll_drain(t);
    check();
}

// A forked child has no thread that could hold the lock.
static void test_forked(void **state)
{
    (void)state;
    tb_config.vectors = 0;
    ll_is_orphan = NULL;
    for (u32 i = 0; i < 2; i++) {
        ll_beside(t, true);
        refer_to_some(PIECE);
        if (i)
            ll_share();
        is_killed(i);
        assert_false(ll_help(t));
        ll_fork_child();
        assert_true(ll_help(t));
        check();
    }
}

static u32 word;
static long woken;

static void sleeps(void)
{
    const struct timespec limit = { 30, 0 };

    woken = syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &limit);
}

// A thread that sleeps for pieces is woken when there are eight.
static void test_woken(void **state)
{
    (void)state;
    ll_beside(t, true);
    assert_false(ll_ask(t, &word));
    assert_true(waiter_waits(sleeps));
    refer_to_some(PIECES / 2 * PIECE);
    waiter_end();
    assert_int_equal(woken, 0);
    assert_true(ll_ask(t, &word));
    ll_drain(t);
    check();
}

// An address that needs more bits widens all tags: nothing is lost.
static void test_widened(void **state)
{
    (void)state;
    refer_to_some(20000);
    refer((1ul << 52) - 4, 8, 0);
    refer_to_some(20000);
    ll_drain(t);
    assert_false(ll_takes_batches());
    assert_null(vector_sets.ll_tags);
    check();
}

// For the second child the sets of the first one are gathered. They are written back, with their
// changes, when the child starts a thread or forks.
static void test_llfork(void **state)
{
    (void)state;
    tb_config.recording = false;
    refer_to_some(20000);
    for (u32 child = 0; child < 4; child++) {
        ll_before_fork();
        ll_fork_child();
        assert_true(llfork_is_on() && !ll_is_shared());
        assert_null(vector_sets.ll_tags);
        srand(9); // the same sets
        refer_to_some(500);
        check();
    }
    ll_share();
    assert_true(ll_is_shared() && !llfork_is_on());
    assert_non_null(vector_sets.ll_tags);
    assert_int_equal(vector_sets.ll_batch, LL_BATCH_SHARED);
    srand(9);
    refer_to_some(1000);
    check();
    ll_before_fork();
    ll_fork_child();
    assert_true(llfork_is_on());
    assert_int_equal(vector_sets.ll_batch, LL_BATCH_OWN);
    refer_to_some(500);
    refer(1ul << 52, 1, 0);
    assert_false(llfork_is_on() || ll_takes_batches());
    refer_to_some(500);
    check();
}

// The same without recording: each reference locks its sets, and releases them.
static void test_shared(void **state)
{
    (void)state;
    tb_config.recording = false;
    ll_share();
    refer_to_some(20000);
    refer((1ul << 52) - 4, 8, 0);
    assert_false(ll_takes_batches());
    refer_to_some(20000);
    check();
    refer(1ul << 53, 1, 0);
    ll_fork_child();
    assert_false(ll_is_shared());
}

// References batched before are simulated first.
static void test_in_order(void **state)
{
    (void)state;
    tb_config.recording = false;
    expected[2]++;
    expected[3] += sim_cache_ref(&plain, 0x1000, 1);
    ((u64 *)t->ll)[0] = 0x1000;
    ((u64 *)t->ll)[1] = 2; // the counter; size 0: within a line
    t->ll += 16;
    refer(0x1000, 1, 4);
    assert_true(counted[3] == 1 && counted[5] == 0);
    check();
}

// A large LL is on huge pages, and stays so when it is widened.
static void test_huge(void **state)
{
    (void)state;
    begin((struct sim_geometry){ 64 << 20, 16, 64 });
    assert_int_equal(pages_asked, 4 << 20);
    assert_int_equal(large_asked, 4 << 20);
    refer_to_some(20000);
    ll_drain(t);
    check();
}

// Who simulates is killed when it has counted the first reference's miss of L1: a survivor does not
// count it again.
static void is_killed_by_levels(void)
{
    u64 before = counted[3];

    tb_config.recording = true;
    ll_beside(t, true);
    for (u32 i = 0; i < PIECE; i++)
        ll_ref(t, 64, 1, 3);
    tb_config.calls = true;
    if (!setjmp(killed))
        ll_help(t);
    tb_config.calls = false;
    ll_forget_locks();
    ll_drain(t);
    ll_beside(t, false);
    assert_int_equal(counted[3], before + PIECE);
}

// The levels of a machine get the batched references in order: of the thread alone, and in pieces
// that it simulates while it waits. An L2 of one line keeps nothing from LL but repetitions.
static void test_machine(void **state)
{
    u64 misses = 0, n = 0;

    (void)state;
    begin((struct sim_geometry){ 60 << 10, 20, 64 });
    header.flags = SPOOL_F_CACHE_SIM | SPOOL_F_L2;
    header.machine.l2 = (struct spool_geometry){ 64, 1, 64 };
    ll_init();
    levels_thread_init(t);
    assert_int_equal(vector_sets.ll_batch, LL_BATCH_SHARED);
    assert_true(ll_takes_batches());
    for (u32 beside = 0; beside < 2; beside++) {
        ll_beside(t, beside);
        for (u32 i = 0; i < 3 * PIECE + 5; i++, n++) {
            u64 addr = (u64)(u32)rand() % (2 * header.ll.size);
            u32 size = (u32)rand() % 8 ? 1 : 8;

            misses += sim_cache_ref_last(&plain, addr, size);
            ll_ref(t, addr, size, 3);
        }
        assert_int_equal(ll_help(t), beside);
        ll_drain(t);
        assert_false(ll_has_pending(t));
        assert_int_equal(counted[3], n);
        assert_int_equal(counted[5], misses);
        assert_in_range(counted[4], misses, n);
    }
    ll_beside(t, false);
    tb_config.recording = false; // at once
    misses += sim_cache_ref_last(&plain, 1ul << 60, 1);
    ll_ref(t, 1ul << 60, 1, 3);
    assert_int_equal(counted[5], misses);
    ll_clear();
    ll_ref(t, 1ul << 60, 1, 3);
    assert_int_equal(counted[5], misses + 1);
    is_killed_by_levels();
    header.flags = 0;
    begin((struct sim_geometry){ 1 << 17, 16, 64 });
    assert_false(levels_are_on());
}

// It is empty afterwards, narrow or wide.
static void test_cleared(void **state)
{
    (void)state;
    tb_config.recording = false;
    if (ll_takes_batches()) {
        for (u32 child = 0; child < 2; child++) {
            ll_before_fork();
            ll_fork_child();
            refer(0x2000, 1, 2);
        }
        assert_true(llfork_is_on());
        ll_clear();
        assert_false(llfork_is_on());
        memset(plain.tags, 0, sim_cache_bytes(&(struct sim_geometry){ header.ll.size, 16, 64 }));
        refer(0x2000, 1, 2);
        assert_int_equal(expected[3], 2);
        check();
        ll_clear();
        memset(plain.tags, 0, sim_cache_bytes(&(struct sim_geometry){ header.ll.size, 16, 64 }));
    }
    for (u32 i = 0; i < 3; i++)
        refer(i * 4096, 1, 0);
    ll_clear();
    memset(plain.tags, 0, sim_cache_bytes(&(struct sim_geometry){ header.ll.size, 16, 64 }));
    for (u32 i = 0; i < 3; i++)
        refer(i * 4096, 1, 0);
    assert_int_equal(expected[1], 6);
    check();
}

static void waits(bool yes)
{
    tb_config.data = many_wait = yes;
    *many_queue(t) = (struct many_queue){ .end = (u64)t->self + TA_MANY };
    if (yes && vector_sets.ll_batch) // as ll_init() does then
        vector_sets.ll_batch = tb_config.vectors == 64 ? LL_BATCH_OWN : LL_BATCH_SHARED;
}

// With --data=yes, too, a reference that is being counted when its thread is killed is not counted
// again: its miss of LL is lost.
static void test_killed_with_data(void **state)
{
    (void)state;
    tb_config.vectors = 0;
    waits(true);
    ll_share();
    refer_to_some(500);
    tb_config.calls = true;
    if (!setjmp(killed))
        ll_drain_batch(t);
    tb_config.calls = false;
    expected[((u32 *)((u8 *)t->self + TA_LL))[2] + 1] -= first_missed;
    ll_forget_locks();
    ll_drain_batch(t);
    assert_int_equal(many_queue(t)->end - ((u64)t->self + TA_MANY), 499 * 16);
    assert_true(ll_has_pending(t));
    ll_drain(t);
    ll_fork_child();
    waits(false);
    check();
}

// With --data=yes what has missed L1 is put into the queue of objects/many.h, by vectors and by C;
// fetches are not.
static void test_waits(void **state)
{
    static u8 owner[COUNTERS];
    u64 begin = (u64)t->self + TA_MANY;
    u32 data = 0;

    (void)state;
    for (u32 i = 0; i < 8; i += 2)
        owner[i] = 2;
    vector_sets.owner = owner;
    vector_sets.totals = 60; // and behind it that of LL; 62 and 63 are of fetches
    waits(true);
    many_fetch = 2;
    for (u32 i = 0; i < 1000; i++) {
        const struct many_ref *last = (const void *)many_queue(t)->end;
        u64 addr = (u64)(u32)rand() % (2 * header.ll.size) & -8ul;
        u32 counter = (u32)rand() % 28 * 2;

        refer(addr, 8, counter);
        expected[60 + owner[counter]]++;
        expected[61 + owner[counter]] += missed;
        ll_drain_batch(t);
        if (vectors == 64 && owner[counter]) {
            assert_int_equal(many_queue(t)->end, (u64)last);
            continue;
        }
        data++;
        assert_int_equal(last->addr, addr);
        assert_int_equal(last->counter, counter);
        assert_int_equal(last->how, missed ? MANY_MISSED : 0);
        if (vectors != 64) { // calls_count() is not called
            expected[60 + owner[counter]]--;
            expected[61 + owner[counter]] -= missed;
        }
        assert_int_equal(many_queue(t)->end, begin + 16ul * (data % 1024));
        if (data % 1024 == 0)
            data = 0;
    }
    assert_memory_equal(counted, expected, sizeof(counted));
    vector_sets.owner = NULL;
    ll_drain(t);
    waits(false);
    check();
}

// The same of many at once, some of which lie in two lines.
static void test_many_wait(void **state)
{
    static u8 owner[COUNTERS];
    struct many_ref wants[40];

    (void)state;
    for (u32 i = 0; i < 8; i += 2)
        owner[i] = 2;
    vector_sets.owner = owner;
    vector_sets.totals = 60;
    waits(true);
    many_fetch = 2;
    for (u32 round = 0; round < 24; round++) {
        const struct many_ref *first = (const void *)many_queue(t)->end;
        u32 n = 0, others = (u32)rand() % 3 ? 8 : 64; // of so many one is in two lines, perhaps

        for (u32 i = 0; i < ARRAY_SIZE(wants); i++) {
            u64 addr = (u64)(u32)rand() % (2 * header.ll.size) & -8ul;
            u32 counter = (u32)rand() % 28 * 2;

            addr |= (u32)rand() % others ? 0 : 60;
            refer(addr, 8, counter);
            if (vectors == 64) {
                expected[60 + owner[counter]]++;
                expected[61 + owner[counter]] += missed;
            }
            if (vectors != 64 || !owner[counter])
                wants[n++] = (struct many_ref){ addr, counter, missed ? MANY_MISSED : 0 };
        }
        ll_drain_batch(t);
        assert_int_equal(many_queue(t)->end, (u64)(first + n));
        for (u32 i = 0; i < n; i++) {
            assert_int_equal(first[i].addr, wants[i].addr);
            assert_int_equal(first[i].counter, wants[i].counter);
            assert_int_equal(first[i].how, wants[i].how);
        }
    }
    assert_memory_equal(counted, expected, sizeof(counted));
    vector_sets.owner = NULL;
    ll_drain(t);
    waits(false);
    check();
}

static void faults(int signal)
{
    (void)signal;
    longjmp(killed, 1);
}

// Threads that a fork does not copy had locks of sets: in the child nobody has them, and nobody
// waits for them. There are 128 sets.
static void test_locks_forgotten(void **state)
{
    (void)state;
    tb_config.recording = false;
    ll_share();
    signal(SIGSEGV, faults);
    alarm(20);
    for (volatile u32 i = 0; i < 128; i++) {
        sigset_t segv;

        mprotect(pages, pages_asked, PROT_NONE);
        if (!setjmp(killed))
            ll_ref(t, i * 64, 1, 0);
        mprotect(pages, pages_asked, PROT_READ | PROT_WRITE);
        sigemptyset(&segv);
        sigaddset(&segv, SIGSEGV);
        sigprocmask(SIG_UNBLOCK, &segv, NULL);
    }
    signal(SIGSEGV, SIG_DFL);
    memset(counted, 0, sizeof(counted));
    ll_fork_child();
    ll_share();
    for (u32 i = 0; i < 128; i++)
        refer(i * 64, 1, 0);
    alarm(0);
    check();
    ll_fork_child();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_by_turns, setup),
        cmocka_unit_test_setup(test_without_vectors, setup),
        cmocka_unit_test_setup(test_pieces, setup),
        cmocka_unit_test_setup(test_many, setup),
        cmocka_unit_test_setup(test_counts, setup),
        cmocka_unit_test_setup(test_ask, setup),
        cmocka_unit_test_setup(test_not_batched, setup),
        cmocka_unit_test_setup(test_second_thread, setup),
        cmocka_unit_test_setup(test_killed_at_a_piece, setup),
        cmocka_unit_test_setup(test_killed_in_a_piece, setup),
        cmocka_unit_test_setup(test_killed_with_data, setup),
        cmocka_unit_test_setup(test_orphan, setup),
        cmocka_unit_test_setup(test_forked, setup),
        cmocka_unit_test_setup(test_woken, setup),
        cmocka_unit_test_setup(test_cleared, setup),
        cmocka_unit_test_setup(test_locks_forgotten, setup),
        // from here on LL is narrow, until a test widens it
        cmocka_unit_test_setup(test_cleared, setup_narrow),
        cmocka_unit_test_setup(test_by_turns, setup_narrow),
        cmocka_unit_test_setup(test_by_turns, setup_odd),
        cmocka_unit_test_setup(test_by_turns, setup_odd_wide_sets),
        // the largest first: what lies together for children is allocated once
        cmocka_unit_test_setup(test_llfork, setup_odd_wide_sets),
        cmocka_unit_test_setup(test_llfork, setup_odd),
        cmocka_unit_test_setup(test_shared, setup_odd),
        cmocka_unit_test_setup(test_shared, setup_odd_wide_sets),
        cmocka_unit_test_setup(test_without_vectors, setup_narrow),
        cmocka_unit_test_setup(test_waits, setup_narrow),
        cmocka_unit_test_setup(test_waits, setup_odd),
        cmocka_unit_test_setup(test_waits, setup_odd_wide_sets),
        cmocka_unit_test_setup(test_many_wait, setup_narrow),
        cmocka_unit_test_setup(test_many_wait, setup_odd),
        cmocka_unit_test_setup(test_many_wait, setup_odd_wide_sets),
        cmocka_unit_test_setup(test_in_order, setup_narrow),
        cmocka_unit_test_setup(test_llfork, setup_narrow),
        cmocka_unit_test_setup(test_shared, setup_narrow),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_machine),
        cmocka_unit_test_setup(test_widened, setup_narrow),
    };

    return cmocka_run_group_tests_name("count/ll", tests, NULL, NULL);
}
