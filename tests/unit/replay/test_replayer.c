// SPDX-License-Identifier: MIT
// engine/replay/replayer.c: buffers that are handed over, with a real process that replays. The
// replay is a fake: it lists who called it, and can be made to last.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/curve.h"
#include "engine/count/ll.h"
#include "engine/count/vector.h"
#include "engine/objects/objtable.h"
#include "engine/replay/record.h"
#include "engine/replay/replay.h"
#include "engine/replay/replayer.h"
#include "engine/replay/routine.h"
#include "engine/replay/salvage.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "tests/unit/count/reftrace_none.h"

// -- fakes of what replayer.c calls --

struct tb_config tb_config;
struct spool_header *spool = &(struct spool_header){ 0 };
static u64 area[2][TA_VECTOR_SAVE / 8]; // of two threads, as far as it is used
static struct thread *const t = (struct thread *)area[0], *const u = (struct thread *)area[1];
static u32 live = 2;
static struct {
    u32 done;
    s32 by; // process
    struct thread *of;
    const u64 *from, *end;
} made[64];
static u32 begun, nmade;
static u32 hold; // 1: a replay by the process lasts until it is 0
static enum { ENDS_NOT, ENDS_BEFORE, ENDS_IN } ends; // a replay by a thread ends the process
static u32 more;                                     // threads_more_counters()
static u64 apart[2];                                 // which are these
static bool died;
static s32 replayed_in; // the process

void *heap_pages(u64 bytes)
{
    return (void *)sys_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

struct thread *threads_next_live(u32 *slot)
{
    return *slot < live ? (struct thread *)area[(*slot)++] : NULL;
}

void threads_more_counters(struct thread *of)
{
    more += of == t;
    if (of == t)
        of->misses = apart;
}

u32 spooler_counters(u32 n)
{
    assert_true(n <= ARRAY_SIZE(apart));
    return 0;
}

static void replay(struct thread *of, const u64 *from, const u64 *end)
{
    u32 i = __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);

    of->replay_end = (u64)end;
    made[i].by = sys_getpid();
    made[i].of = of;
    made[i].from = from;
    made[i].end = end;
    __atomic_fetch_add(&nmade, 1, __ATOMIC_SEQ_CST); // the entry is complete
    while (made[i].by == replayed_in && __atomic_load_n(&hold, __ATOMIC_SEQ_CST))
        __builtin_ia32_pause();
    __atomic_store_n(&made[i].done, 1, __ATOMIC_SEQ_CST);
}

void replay_records(struct thread *of, const u64 *from, const u64 *end)
{
    if (of == t || of == u)
        replayed_in = sys_getpid();
    replay(of, from, end);
}

void replay_run(struct thread *of, const u64 *from, const u64 *end)
{
    if (ends != ENDS_BEFORE)
        replay(of, from, end);
    if (ends == ENDS_NOT)
        return;
    hold = 0;
    sys_call2(SYS_kill, (u64)sys_getpid(), SIGKILL);
}

enum forgot { LL = 1, ROUTINES = 2, LIMITS_OF_CHILD = 4, CURVE = 8, OBJECTS = 16, HEAP = 32 };
#define LOCKS (LL | ROUTINES | CURVE | OBJECTS | HEAP)

// State shared with a process that is killed, and with its replayer.
static struct {
    u32 rests;
    u32 forgot; // locks freed, a bit each: enum forgot
    const u64 *buffer[2];
    u64 bytes;
    u32 replayed; // buffers replayed
    s32 by;
    u32 replayer; // of spool
    u32 alone;    // threads that were told that nothing replays beside them
} * shared;

bool (*ll_is_orphan)(void);
bool (*curve_is_orphan)(void);
bool (*objtable_is_orphan)(void);
static u32 beside[2], to_help, asks; // ll_beside(), by what it was told; ll_help(); ll_ask()

void ll_beside(struct thread *of, bool split)
{
    (void)of;
    shared->alone += !split && (shared->forgot & LL);
    __atomic_fetch_add(&beside[split], 1, __ATOMIC_SEQ_CST);
}

static bool soon_empty; // while it helps, all but one buffer are replayed

static bool helping;

void ll_helps(struct thread *of, bool helps)
{
    assert_ptr_equal(of, t);
    assert_true(helping != helps);
    helping = helps;
}

bool ll_help(struct thread *of)
{
    assert_true(helping);
    assert_ptr_equal(of, t);
    if (soon_empty)
        hold = 0;
    while (soon_empty && __atomic_load_n(&nmade, __ATOMIC_SEQ_CST) < TA_RECORD_BUFFERS - 1)
        sys_call0(SYS_sched_yield);
    return to_help && to_help--;
}

bool ll_ask(struct thread *of, u32 *word)
{
    assert_ptr_equal(of, t);
    assert_non_null(word);
    asks++;
    hold = 0; // it sleeps now
    return false;
}

void ll_forget_locks(void)
{
    shared->forgot |= LL;
}

void routine_forget_locks(void)
{
    shared->forgot |= ROUTINES;
}

void curve_forget_lock(void)
{
    shared->forgot |= CURVE;
}

void objtable_forget_lock(void)
{
    shared->forgot |= OBJECTS;
}

void heap_forget_lock(void)
{
    shared->forgot |= HEAP;
}

void routine_fork_child(void)
{
    shared->forgot |= LIMITS_OF_CHILD;
}

void salvage_replay(struct thread *of, const u64 *buffer, u64 bytes)
{
    shared->buffer[of == u] = buffer;
    shared->bytes = bytes;
    shared->replayed = nmade;
    shared->by = sys_getpid();
    __atomic_fetch_add(&shared->rests, 1, __ATOMIC_SEQ_CST);
}

// -- a second state of caches: what is done with it is in `made`, too, a join as `joined` --

void (*ahead_await_turn)(struct thread *of);
static const u64 joined[1];
static u64 second_area[TA_VECTOR_SAVE / 8];
static u32 ahead_full;    // the second state has something
static u32 ahead_rests;   // ahead_may() says no so often
static u32 needs_turn;    // the list gets full
static u32 not_joined;    // ahead_joins() says no
static u32 two, nvectors; // routine_replays_two(); vector registers are saved
static u64 ahead_sp;

void ahead_init(void) {}

void ahead_thread_init(struct thread *of)
{
    of->ahead = of == t ? (struct thread *)second_area : NULL;
}

bool ahead_keeps(void)
{
    return tb_config.sampled;
}

bool ahead_joins(const struct thread *of)
{
    assert_ptr_equal(of, t);
    return !not_joined;
}

bool ahead_may(const struct thread *of, u32 before)
{
    assert_true(before <= 3);
    return of->ahead && tb_config.ahead && !ahead_rests &&
           !__atomic_load_n(&ahead_full, __ATOMIC_SEQ_CST);
}

void ahead_next(struct thread *of)
{
    assert_ptr_equal(of, t);
    if (ahead_rests)
        ahead_rests--;
}

struct thread *ahead_begin(struct thread *of, u64 sp, u64 top)
{
    assert_true(!ahead_full && two == 1 && nvectors == (tb_config.vectors != 0));
    ahead_full = 1;
    ahead_sp = sp;
    assert_int_equal(top, of->recordbuf_top);
    return of->ahead;
}

void ahead_sort(struct thread *of)
{
    assert_int_equal(of->ahead->replay_end != 0, 1);
    if (needs_turn)
        ahead_await_turn(of);
}

static void replay(struct thread *of, const u64 *from, const u64 *end);

void ahead_join(struct thread *of)
{
    assert_true(ahead_full);
    replay(of, joined, joined);
    of->replay_end = 0;
    __atomic_store_n(&ahead_full, 0, __ATOMIC_SEQ_CST);
}

void ahead_resume(struct thread *of)
{
    assert_ptr_equal(of, t);
}

void ahead_forget(struct thread *of)
{
    if (of->ahead)
        ahead_full = 0;
}

void routine_replays_two(bool on)
{
    two += on ? 1u : -1u;
}

void vector_save(struct thread *of)
{
    assert_ptr_equal(of, t);
    nvectors++;
}

void vector_restore(struct thread *of)
{
    assert_ptr_equal(of, t);
    nvectors--;
}

void caches_restore_clock(struct thread *of)
{
    (void)of;
}

static u32 resumed, nthreads;

void salvage_resume(struct thread *of)
{
    resumed += of == t;
}

u32 threads_count(void)
{
    return nthreads;
}

static jmp_buf back;

_Noreturn void engine_die(const char *format, ...)
{
    (void)format;
    died = true;
    longjmp(back, 1);
}

// -- the tests --

// Each begins with a fragment's record.
static const u64 record[4] = { RECORD_FIRST, RECORD_FIRST, RECORD_FIRST, RECORD_FIRST };
static struct thread_own own;

static bool two_processors(void)
{
    u64 mask[128] = { 0 };
    u32 n = 0;

    sys_call3(SYS_sched_getaffinity, 0, sizeof(mask), (u64)mask);
    for (u32 i = 0; i < 128; i++)
        n += (u32)__builtin_popcountl(mask[i]);
    return n > 1;
}

static int setup(void **state)
{
    struct k_itimerval never = { 0, 0, 0, 0 };

    (void)state;
    // An alarm that was not needed would end what the next test holds.
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&never, 0);
    replayer_stop();
    replayer_fork_child(); // not a stopped one
    memset(area, 0, sizeof(area));
    memset(made, 0, sizeof(made));
    begun = nmade = hold = more = resumed = 0;
    ends = ENDS_NOT;
    nthreads = 1;
    died = false;
    replayed_in = 0;
    tb_config.replayer = two_processors();
    tb_config.watched = true;
    memset(shared, 0, sizeof(*shared));
    t->own = u->own = &own;
    own.tgid = sys_getpid();
    memset(apart, 0, sizeof(apart));
    t->slot = 6;
    replayer_init();
    replayer_start();
    replayer_thread_init(t);
    replayer_thread_init(u);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    replayer_stop();
    return 0;
}

// Another process has taken the job.
static void wait_taken(u32 n)
{
    while (__atomic_load_n(&nmade, __ATOMIC_SEQ_CST) < n)
        sys_call0(SYS_sched_yield);
}

static void test_off(void **state)
{
    (void)state;
    replayer_stop();
    tb_config.replayer = tb_config.watched = false;
    replayer_start();
    assert_false(replayer_is_there());
    replayer_settle(t);
    replayer_thread_init(t);
    assert_int_equal(more, two_processors()); // of setup
    assert_int_equal(nmade, 0);
}

// One processor: no other process replays while the threads run.
static void test_alone(void **state)
{
    (void)state;
    assert_false(replayer_is_there());
    replayer_settle(t);
    assert_int_equal(nmade, 0);
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), 0); // it exists
}

// The client is killed: what its threads have handed over and not yet handed over is replayed. t
// was filling the buffer at `record`; u was just handing over its own. A thread that another
// process has in this memory is not gone.
static void test_inherited(void **state)
{
    u32 status;
    long child;

    (void)state;
    child = sys_call5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        replayer_fork_child();
        own.tgid = sys_getpid();
        replayer_start();
        shared->replayer = spool->replayer;
        t->recordbuf_size = u->recordbuf_size = 24;
        t->recordbuf_begin = (u64)record;
        u->recordbuf_begin = (u64)(record + 1);
        if (tb_config.replayer) {
            replayer_hand_over(t, record + 2, record + 3);
            replayer_hand_over(u, record + 1, record + 3);
        }
        sys_call2(SYS_kill, (u64)own.tgid, SIGKILL);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)child, (u64)&status, 0, 0), child);
    assert_int_equal(status, SIGKILL);
    while (__atomic_load_n(&shared->rests, __ATOMIC_SEQ_CST) < 2)
        sys_call0(SYS_sched_yield);
    assert_int_equal(shared->rests, 2);
    assert_int_equal(shared->forgot, LOCKS | LIMITS_OF_CHILD);
    assert_int_equal(shared->alone, 2);
    assert_ptr_equal(shared->buffer[0], record);
    assert_int_equal(shared->bytes, 24);
    assert_int_not_equal(shared->by, child);
    assert_int_equal(shared->by, shared->replayer);
    if (tb_config.replayer) {
        assert_null(shared->buffer[1]);
        assert_int_equal(shared->replayed, 2);
    } else {
        assert_ptr_equal(shared->buffer[1], record + 1);
        assert_int_equal(shared->replayed, 0);
    }
}

// Killed while it replayed the older of two buffers that t had taken back, or was about to take: an
// unfinished replay continues, others start from the beginning, in order.
static void test_inherited_busy(void **state)
{
    u32 status;
    long child;

    child = sys_call5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        replayer_fork_child();
        own.tgid = sys_getpid();
        replayer_start();
        ends = *state ? ENDS_IN : ENDS_BEFORE;
        t->recordbuf_begin = (u64)record;
        hold = 1;
        replayer_hand_over(u, record, record + 1);
        wait_taken(1); // the process is busy
        replayer_hand_over(t, record + 1, record + 2);
        replayer_hand_over(t, record + 2, record + 3);
        replayer_settle(t);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)child, (u64)&status, 0, 0), child);
    assert_int_equal(status, SIGKILL);
    while (__atomic_load_n(&shared->rests, __ATOMIC_SEQ_CST) < 3)
        sys_call0(SYS_sched_yield);
    // u's, t's two; of these the first by t if it had begun it
    assert_int_equal(shared->replayed, 3);
    assert_ptr_equal(shared->buffer[0], record);
}

// It starts again when it is needed.
static void test_again(void **state)
{
    (void)state;
    replayer_stop();
    replayer_start(); // by a thread that does not know that this is the end
    assert_false(replayer_is_there());
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), -ECHILD);
    replayer_allow();
    replayer_start();
    assert_int_equal(replayer_is_there(), two_processors());
    assert_int_not_equal(spool->replayer, 0);
    replayer_start(); // and once only
    replayer_stop();
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), -ECHILD);
}

static void test_another_process(void **state)
{
    (void)state;
    assert_true(replayer_is_there());
    assert_int_equal(more, 1);
    assert_int_equal(spool->owner, 1); // slot 0 plus one; 0: none
    assert_int_equal(apart[1], 7);     // whose they are, plus one
    assert_int_equal(apart[0], 0);
    replayer_hand_over(t, record, record + 2);
    wait_taken(1);
    replayer_settle(t);
    assert_int_equal(made[0].done, 1);
    assert_int_not_equal(made[0].by, sys_getpid());
    assert_ptr_equal(made[0].of, t);
    assert_ptr_equal(made[0].from, record);
    assert_ptr_equal(made[0].end, record + 2);
    // a child of ours that only a wait for all kinds sees
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG, 0), -ECHILD);
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), 0);
    replayer_stop();
    assert_false(replayer_is_there());
    assert_int_equal(sys_call4(SYS_wait4, (u64)-1, 0, WNOHANG | __WALL, 0), -ECHILD);
}

// Settling waits for the end, spinning or asleep.
static void test_awaited(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct k_itimerval in = { 0, 0, 0, i % 2 ? 3000 : 50 };

        hold = 1;
        begun = nmade = 0;
        made[0].done = 0;
        replayer_hand_over(t, record, record + 1);
        wait_taken(1);
        sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&in, 0);
        replayer_settle(t);
        assert_int_equal(made[0].done, 1);
    }
}

// No one has taken it: its thread does.
static void test_taken_back(void **state)
{
    (void)state;
    hold = 1;
    replayer_hand_over(u, record, record + 1);
    wait_taken(1); // it is busy with u's
    replayer_hand_over(t, record + 1, record + 3);
    replayer_settle(t);
    assert_int_equal(nmade, 2);
    assert_int_equal(made[1].by, sys_getpid());
    assert_ptr_equal(made[1].of, t);
    assert_ptr_equal(made[1].from, record + 1);
    assert_int_equal(made[0].done, 0);
    hold = 0;
    replayer_settle(u);
    assert_int_equal(made[0].done, 1);
    assert_int_equal(nmade, 2);
}

// Buffers are queued: all but the one that is to be filled. A thread that has to sleep for one
// sleeps until at most one is left, to save sleeps.
static void test_in_order(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    hold = 1;
    for (u32 i = 0; i < TA_RECORD_BUFFERS - 1; i++) {
        assert_false(replayer_ahead(t, record, record)); // at once
        replayer_hand_over(t, record + i, record + i + 1);
        wait_taken(1);
        assert_int_equal(made[0].done, 0);
    }
    assert_int_equal(nmade, 1);
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);
    assert_false(replayer_ahead(t, record, record));
    assert_int_equal(made[TA_RECORD_BUFFERS - 3].done, 1);
    replayer_hand_over(t, record + 3, record + 4);
    replayer_settle(t);
    assert_int_equal(nmade, TA_RECORD_BUFFERS);
    for (u32 i = 0; i < TA_RECORD_BUFFERS; i++) {
        assert_ptr_equal(made[i].from, record + i);
        assert_int_equal(made[i].done, 1);
    }
}

// The thread simulates pieces of LL before it sleeps, but only where it has to wait for an empty
// buffer.
static void test_split(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };
    u32 by_process = 0;

    (void)state;
    assert_false(ll_is_orphan());
    tb_config.replayer_split = true;
    hold = 1;
    to_help = 5;
    asks = beside[0] = beside[1] = 0;
    for (u32 i = 0; i < TA_RECORD_BUFFERS - 1; i++) {
        assert_false(replayer_ahead(t, record, record));
        replayer_hand_over(t, record + i, record + i + 1);
    }
    wait_taken(1);
    assert_int_equal(to_help, 5);
    assert_false(replayer_ahead(t, record, record));
    assert_int_equal(to_help, 0);
    assert_true(asks > 0);
    hold = 1;
    replayer_hand_over(t, record, record + 1);
    to_help = 1;
    asks = 0;
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);
    replayer_settle(t);
    assert_int_equal(to_help, 1);
    assert_int_equal(asks, 0);
    tb_config.replayer_split = false;
    for (u32 i = 0; i < TA_RECORD_BUFFERS;
         i++) // on a busy machine the thread may have taken some back
        by_process += made[i].by != sys_getpid();
    assert_true(by_process > 0);
    assert_int_equal(beside[0], 0);
    assert_int_equal(beside[1], by_process);
}

// It returns to its own work as soon as possible.
static void test_split_is_left(void **state)
{
    (void)state;
    tb_config.replayer_split = true;
    soon_empty = true;
    hold = 1;
    to_help = 5;
    for (u32 i = 0; i < TA_RECORD_BUFFERS - 1; i++)
        replayer_hand_over(t, record + i, record + i + 1);
    wait_taken(1);
    assert_false(replayer_ahead(t, record, record));
    assert_int_equal(to_help, 4);
    replayer_settle(t);
    tb_config.replayer_split = soon_empty = false;
}

static void expect_made(u32 i, const u64 *from)
{
    assert_ptr_equal(made[i].from, from);
    assert_int_equal(made[i].done, 1);
}

// The process is at the first of two: the thread simulates the third itself. Its entry is joined
// when those before it have been replayed.
static void test_ahead(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    tb_config.ahead = true;
    spool->n_ahead = 0;
    t->recordbuf_sp = 77;
    t->recordbuf_sp_known = true;
    hold = 1;
    for (u32 i = 0; i < 2; i++) {
        assert_false(replayer_ahead(t, record + i, record + i + 1));
        replayer_hand_over(t, record + i, record + i + 1);
    }
    wait_taken(1);
    assert_true(replayer_ahead(t, record + 2, record + 3));
    assert_int_equal(ahead_sp, 77);
    assert_int_equal(two, 0);
    assert_int_equal(spool->n_ahead, 1);
    assert_int_equal(made[1].by, sys_getpid());
    assert_ptr_equal(made[1].of, second_area);
    expect_made(1, record + 2);
    assert_int_equal(t->ahead->replay_end, 0);
    replayer_ahead_over(t, record + 2);
    assert_true(ahead_full);
    assert_false(replayer_ahead(t, record + 2, record + 3)); // not until that is joined
    replayer_hand_over(t, record + 2, record + 3);
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0); // SIGALRM: hold = 0
    replayer_settle(t);
    assert_int_equal(nmade, 5);
    expect_made(0, record);
    expect_made(2, record + 1);
    expect_made(3, joined);
    expect_made(4, record + 2);
    assert_false(ahead_full);
    tb_config.ahead = false;
}

// Where a core sees samples the records are kept until the buffer is joined, so the thread waits
// until one of four is free. A buffer that cannot be joined is replayed.
static void test_ahead_kept(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    tb_config.ahead = tb_config.sampled = t->recordbuf_sp_known = true;
    for (u32 k = 0; k < 2; k++) {
        u32 made_before = nmade;

        not_joined = k;
        hold = 1;
        for (u32 i = 0; i < 2; i++)
            replayer_hand_over(t, record + i, record + i + 1);
        wait_taken(made_before + 1);
        assert_true(replayer_ahead(t, record + 2, record + 3));
        sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);    // SIGALRM: hold = 0
        assert_false(replayer_ahead(t, record + 3, record + 4)); // until one is free
        assert_true(nmade > made_before + 2);
        replayer_settle(t);
        assert_int_equal(nmade, made_before + 4);
        expect_made(made_before + 1, record + 2); // ahead
        expect_made(made_before + 2, record + 1);
        expect_made(made_before + 3, k ? record + 2 : joined);
        assert_false(ahead_full);
        assert_int_equal(spool->n_again, k);
    }
    tb_config.ahead = tb_config.sampled = false;
    not_joined = 0;
}

// Not without the stack pointer, where the second state rests, nor where the buffer begins with a
// change of a frame: the thread waits, as ever.
static void test_not_ahead(void **state)
{
    static const u64 within = RECORD_LEAVE;
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    tb_config.ahead = true;
    for (u32 k = 0; k < 3; k++) {
        const u64 *first = k == 2 ? &within : record + 3;

        hold = 1;
        t->recordbuf_sp_known = k > 0;
        ahead_rests = k == 1 ? 100 : 0;
        for (u32 i = 0; i < 3; i++)
            replayer_hand_over(t, record + i, record + i + 1);
        wait_taken(3 * k + 1);
        sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);
        assert_false(replayer_ahead(t, first, first + 1));
        replayer_settle(t);
        assert_int_equal(nmade, 3 * k + 3);
        assert_int_equal(ahead_rests, k == 1 ? 99 : 0);
    }
    tb_config.ahead = false;
}

// The list is full: the thread waits for the turn of its records, and joins them itself.
static void test_ahead_in_turn(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    tb_config.ahead = t->recordbuf_sp_known = true;
    tb_config.vectors = 32;
    needs_turn = 1;
    hold = 1;
    for (u32 i = 0; i < 3; i++)
        replayer_hand_over(t, record + i, record + i + 1);
    wait_taken(1);
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);
    assert_true(replayer_ahead(t, record + 3, record + 4));
    needs_turn = 0;
    assert_int_equal(nmade, 5);
    expect_made(4, joined);
    assert_int_equal(made[4].by, sys_getpid());
    assert_false(ahead_full);
    assert_int_equal(nvectors, 0);
    replayer_hand_over(t, record, record + 1); // nothing is left of it
    replayer_settle(t);
    assert_int_equal(nmade, 6);
    tb_config.ahead = false;
    tb_config.vectors = 0;
}

// The same, and the process has been killed at the first of two: the thread completes that, and
// simulates the second.
static void test_ahead_alone(void **state)
{
    u32 child = spool->replayer;

    (void)state;
    tb_config.ahead = t->recordbuf_sp_known = true;
    needs_turn = 1;
    hold = 1;
    for (u32 i = 0; i < 2; i++)
        replayer_hand_over(t, record + i, record + i + 1);
    wait_taken(1);
    sys_call2(SYS_kill, child, SIGKILL);
    hold = 0;
    assert_true(replayer_ahead(t, record + 2, record + 3));
    needs_turn = 0;
    assert_int_equal(shared->rests, 1);
    assert_true(shared->forgot & LL);
    assert_int_equal(nmade, 4);
    expect_made(1, record + 2);
    expect_made(2, record + 1);
    expect_made(3, joined);
    for (u32 i = 1; i < 4; i++)
        assert_int_equal(made[i].by, sys_getpid());
    assert_false(ahead_full);
    assert_int_equal(sys_call4(SYS_wait4, child, 0, __WALL, 0), child);
    tb_config.ahead = false;
}

// Buffers of a dead thread are not replayed for the next thread in its area.
static void test_next_thread(void **state)
{
    (void)state;
    hold = 1;
    replayer_hand_over(u, record, record + 1);
    wait_taken(1);
    replayer_hand_over(t, record, record + 1);
    replayer_thread_init(t);
    hold = 0;
    replayer_settle(u);
    replayer_settle(t);
    assert_int_equal(nmade, 1);
}

// Told to end during a replay: it completes the current buffer, the threads replay the queue.
static void test_stopped(void **state)
{
    struct k_itimerval soon = { 0, 0, 0, 20000 };

    (void)state;
    hold = 1;
    replayer_hand_over(u, record, record + 1);
    wait_taken(1);
    replayer_hand_over(t, record, record + 1);
    sys_call3(SYS_setitimer, ITIMER_REAL, (u64)&soon, 0);
    replayer_stop();
    assert_int_equal(made[0].done, 1);
    replayer_settle(u);
    replayer_settle(t);
    assert_int_equal(nmade, 2);
    assert_int_equal(made[1].done, 1);
}

// The process is killed: a single thread continues its replay. With other threads, which may wait
// for its locks, there is a message.
static void test_killed(void **state)
{
    bool alone = *state == NULL;

    hold = 1;
    nthreads = alone ? 1 : 2;
    replayer_hand_over(t, record, record + 1);
    wait_taken(1);
    assert_int_equal(made[0].by, replayed_in);
    assert_true(made[0].by > 1);
    sys_call2(SYS_kill, (u64)made[0].by, SIGKILL);
    if (!setjmp(back))
        replayer_settle(t);
    assert_int_equal(died, !alone);
    assert_int_equal(resumed, alone);
    assert_int_equal(nmade, 1); // it continues, and does not start again
    assert_int_equal(shared->forgot, alone ? LOCKS : 0);
    assert_false(replayer_is_there());
    assert_int_equal(sys_call4(SYS_wait4, (u64)made[0].by, 0, __WALL, 0), made[0].by);
}

static bool gives_up(int sig, s32 code, u64 value, bool *taken)
{
    struct k_siginfo info;

    memset(&info, 0, sizeof(info));
    info.code = code;
    info.timer_value = value;
    died = false;
    if (!setjmp(back))
        *taken = replayer_takes_signal(t, sig, &info);
    return died;
}

// The timer at the end of the process: the replay is given up if no string instruction and no
// buffer of any thread has made progress since the timer's last expiry, whatever record it is at.
static void test_bound(void **state)
{
    s32 timer;
    bool taken;

    (void)state;
    nthreads = 2;
    tb_config.recording = true;
    t->tid = sys_gettid();
    u->replay_pulse = 5;
    timer = replayer_bound(t);
    assert_true(timer >= 0);
    t->record = 16;
    u->replay_pulse = 6;
    assert_false(gives_up(SIGSYS, SI_TIMER, REPLAYER_END_MAGIC, &taken));
    assert_true(taken);
    t->record = 24;
    assert_true(gives_up(SIGSYS, SI_TIMER, REPLAYER_END_MAGIC, &taken));
    replayer_hand_over(u, record, record + 1); // and somebody replays it
    replayer_settle(u);
    assert_false(gives_up(SIGSYS, SI_TIMER, REPLAYER_END_MAGIC, &taken));
    assert_true(taken);
    assert_true(gives_up(SIGSYS, SI_TIMER, REPLAYER_END_MAGIC, &taken));
    // Timers of the client's, and other signals.
    assert_false(gives_up(SIGSYS, SI_TIMER, 7, &taken));
    assert_false(taken);
    assert_false(gives_up(SIGSYS, SI_QUEUE, REPLAYER_END_MAGIC, &taken));
    assert_false(taken);
    assert_false(gives_up(SIGUSR1, SI_TIMER, REPLAYER_END_MAGIC, &taken));
    assert_false(taken);
    replayer_bound_over(timer);
    assert_int_equal(sys_call1(SYS_timer_delete, (u64)timer), -EINVAL); // it no longer exists
    tb_config.recording = false;
    assert_int_equal(replayer_bound(t), -1); // nothing is recorded
}

// The child of a fork has no replayer; its parent's continues.
static void test_forked(void **state)
{
    u32 status;
    long child;

    (void)state;
    child = sys_call5(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        replayer_fork_child();
        sys_exit_group(replayer_is_there() ? 1 : 0);
    }
    assert_int_equal(sys_call4(SYS_wait4, (u64)child, (u64)&status, 0, 0), child);
    assert_int_equal(status, 0);
    assert_true(replayer_is_there());
}

static void on_alarm(int sig)
{
    (void)sig;
    __atomic_store_n(&hold, 0, __ATOMIC_SEQ_CST);
}

// Threads in system calls, or parked, need no processor. (Which way is faster does not matter yet
// after so few buffers: test_autotune.c.)
static void test_pays(void **state)
{
    static const u32 quiet[] = { TS_IN_SYSCALL, TS_PARKED, TS_DEAD };
    static const u32 busy[] = { TS_RUNNING, TS_HELPER, TS_ENGINE };

    (void)state;
    live = 2;
    t->state = u->state = TS_RUNNING;
    tb_config.replayer_beside = 0;
    assert_true(replayer_pays(t));
    tb_config.replayer_beside = 2;
    assert_true(replayer_pays(t));
    tb_config.replayer_beside = 1;
    for (u32 i = 0; i < ARRAY_SIZE(busy); i++) {
        u->state = busy[i];
        assert_false(replayer_pays(t));
    }
    for (u32 i = 0; i < ARRAY_SIZE(quiet); i++) {
        u->state = quiet[i];
        assert_true(replayer_pays(t));
    }
    tb_config.replayer_beside = 0;
}

// The kernel requires a sigreturn of the caller's.
__asm__(".globl test_restorer\ntest_restorer: mov $15, %eax\nsyscall");
extern const char test_restorer[];

int main(void)
{
    struct k_sigaction act = { (u64)on_alarm, SA_RESTORER | SA_RESTART, (u64)test_restorer, 0 };
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_off, setup, stop),
        cmocka_unit_test_setup_teardown(test_another_process, setup, stop),
        cmocka_unit_test_setup_teardown(test_awaited, setup, stop),
        cmocka_unit_test_setup_teardown(test_taken_back, setup, stop),
        cmocka_unit_test_setup_teardown(test_split, setup, stop),
        cmocka_unit_test_setup_teardown(test_split_is_left, setup, stop),
        cmocka_unit_test_setup_teardown(test_in_order, setup, stop),
        cmocka_unit_test_setup_teardown(test_ahead, setup, stop),
        cmocka_unit_test_setup_teardown(test_ahead_kept, setup, stop),
        cmocka_unit_test_setup_teardown(test_not_ahead, setup, stop),
        cmocka_unit_test_setup_teardown(test_ahead_in_turn, setup, stop),
        cmocka_unit_test_setup_teardown(test_ahead_alone, setup, stop),
        cmocka_unit_test_setup_teardown(test_next_thread, setup, stop),
        cmocka_unit_test_setup_teardown(test_stopped, setup, stop),
        cmocka_unit_test_setup_teardown(test_killed, setup, stop),
        { "test_killed, two threads", test_killed, setup, stop, &own },
        cmocka_unit_test_setup_teardown(test_bound, setup, stop),
        cmocka_unit_test_setup_teardown(test_forked, setup, stop),
        cmocka_unit_test_setup_teardown(test_inherited, setup, stop),
        { "test_inherited_busy, before it was begun", test_inherited_busy, setup, stop, NULL },
        { "test_inherited_busy, under way", test_inherited_busy, setup, stop, &own },
        cmocka_unit_test_setup_teardown(test_again, setup, stop),
        cmocka_unit_test(test_pays),
    };

    static const struct CMUnitTest alone[] = {
        cmocka_unit_test_setup_teardown(test_off, setup, stop),
        cmocka_unit_test_setup_teardown(test_alone, setup, stop),
        cmocka_unit_test_setup_teardown(test_inherited, setup, stop),
        cmocka_unit_test_setup_teardown(test_again, setup, stop),
        cmocka_unit_test(test_pays),
    };

    sys_sigaction(SIGALRM, &act, NULL);
    shared =
        (void *)sys_mmap(0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!two_processors())
        return cmocka_run_group_tests_name("replay/replayer", alone, NULL, NULL);
    return cmocka_run_group_tests_name("replay/replayer", tests, NULL, NULL);
}
