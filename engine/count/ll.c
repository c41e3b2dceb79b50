// SPDX-License-Identifier: MIT
// The simulated LL (ll.h).
//
// One lock for each reference was the dearest thing that two threads could share: two that write at
// random into 256 KiB each took 90 times as long as natively, one of them 11 times.
#include "engine/count/ll.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/llfork.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "sim/cache.h"

#define STRIPES 256u      // a power of two
#define SPINS   1024u     // before a sleep: as long as it takes to perform what waits
#define LOOK_NS 100000000 // between looks at whether who has the lock lives

bool (*ll_is_orphan)(void);

static struct {
    bool shared;              // there has been a second thread
    struct sim_narrow narrow; // while tags != NULL
    struct sim_cache cache;   // else
    // of a line's number: less than the sets, so that a set has one lock
    u64 stripe_mask;
    u32 line_shift;
} ll;

// Each guards the sets whose number ends in its own; on a line of the host's cache of its own.
static struct {
    _Alignas(64) struct lock lock;
} stripe[STRIPES];

// What waits in the area of a thread; written by routine.S, too.
struct waiting {
    u64 addr;
    u32 counter;
    u32 size; // 0: lies in one line; LL_DONE
};

// What a process beside finds waits in pieces, so that it need not be the one that performs it: the
// thread does, where it would wait for an empty buffer. Whoever performs holds the first stripe's
// lock. t->ll is in the piece that is being filled.
#define PIECES      8u
#define PIECE_BYTES (LL_LATER_SHARED + 1u)

// Where a buffer has more pieces than there may be, the process would do its part of them while the
// thread is at its next buffer, and LL would go from one processor's caches to the other's all the
// time (matrices: 1.33 of both processors' time). So many buffers go without it then.
#define REST 64u

struct queue {
    _Alignas(64) u32 given; // pieces, counted for ever; by who replays
    u32 on;                 // 0: what waits is at TA_LL
    u32 before;             // of those given when this buffer was begun
    u32 rest;               // buffers until it is tried again
    _Alignas(64) u32 done;
    u32 asked; // the thread sleeps on *word, and is to be woken for pieces
    u32 *word;
};

_Static_assert(sizeof(struct waiting) == 16, "asm size");
_Static_assert(TA_LL % PIECE_BYTES == 0 && TA_LL_PIECES % PIECE_BYTES == 0 &&
                   THREAD_AREA_STRIDE % PIECE_BYTES == 0,
               "asm looks at 16 bits");
_Static_assert(TA_LL_PIECES + PIECES * PIECE_BYTES <= TA_LL_PIECES_END &&
                   TA_LL_QUEUE + sizeof(struct queue) <= TA_PACE,
               "room in the area");

static struct sim_geometry geometry(void)
{
    struct sim_geometry g = { spool->ll.size, spool->ll.assoc, spool->ll.line };

    return g;
}

// On huge pages when it is large, so that looking at a set does not cost a walk of the host's page
// tables.
static void *storage(u64 bytes)
{
    u64 at;

    if (bytes < HUGE_PAGE)
        return heap_pages(bytes);
    at = ((u64)heap_pages(bytes + HUGE_PAGE) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    pages_huge(at, bytes);
    return (void *)at;
}

// One thread alone can know of a miss at once; where calls ask for its totals, these are either
// right at once or, by AVX2, what waits is done before.
static void alone(void)
{
    vector_sets.ll_later = tb_config.calls && tb_config.vectors == 64 ? 0 : LL_LATER_OWN;
}

void ll_init(void)
{
    struct sim_geometry g = geometry();
    u32 sets = g.size / g.line / g.assoc;

    if (!(spool->flags & SPOOL_F_NO_NARROW) && sim_narrow_fits(&g, 47))
        sim_narrow_init_zeroed(&ll.narrow, &g, storage(sim_narrow_bytes(&g)));
    else
        sim_cache_init_zeroed(&ll.cache, &g, storage(sim_cache_bytes(&g)));
    ll.stripe_mask = (sets < STRIPES ? sets : STRIPES) - 1;
    ll.line_shift = (u32)__builtin_ctz(g.line);
    vector_sets.ll_tags = ll.narrow.tags;
    vector_sets.ll_shift = ll.narrow.line_shift;
    vector_sets.ll_tag_shift = ll.narrow.tag_shift;
    vector_sets.ll_mask = (u32)ll.narrow.set_mask;
    vector_sets.ll_assoc = ll.narrow.assoc;
    vector_sets.ll_stride = ll.narrow.stride;
    if (ll.narrow.stride == 16 && g.line == 64)
        vector_sets.ll_sets = ll.narrow.set_mask << 6;
    vector_sets.ll_shifts[1] = ll.narrow.tag_shift;
    vector_sets.ll_adds[1] = 1;
    vector_sets.ll_masks[0] = vector_sets.ll_sets;
    vector_sets.ll_masks[1] = ~0ul;
    vector_sets.ll_last = 1u << (ll.narrow.assoc - 1) % 32;
    alone();
    if (ll.narrow.tags)
        llfork_init(ll.narrow.tags, ll.narrow.stride, sets);
}

void ll_clear(void)
{
    struct sim_geometry g = geometry();

    if (llfork_is_on())
        llfork_end(false);
    if (ll.narrow.tags)
        sys_madvise((u64)ll.narrow.tags, PAGE_UP(sim_narrow_bytes(&g)), MADV_DONTNEED);
    else
        sys_madvise((u64)ll.cache.tags, PAGE_UP(sim_cache_bytes(&g)), MADV_DONTNEED);
}

bool ll_is_narrow(void)
{
    return ll.narrow.tags != NULL;
}

bool ll_is_shared(void)
{
    return __atomic_load_n(&ll.shared, __ATOMIC_ACQUIRE);
}

void ll_share(void)
{
    if (llfork_is_on())
        llfork_end(true);
    vector_sets.ll_later = LL_LATER_SHARED;
    __atomic_store_n(&ll.shared, true, __ATOMIC_RELEASE);
}

// A child need not touch pages of locks that nobody takes.
void ll_forget_locks(void)
{
    if (ll_is_shared())
        memset(stripe, 0, sizeof(stripe));
    else if (stripe[0].lock.w)
        stripe[0].lock = (struct lock){ 0 };
}

void ll_before_fork(void)
{
    llfork_before_fork();
}

void ll_fork_child(void)
{
    ll_forget_locks();
    alone();
    ll.shared = false;
    llfork_fork_child();
}

// sim_narrow_ref(), of a reference within a line.
static bool by_vectors(u64 addr)
{
    u64 set = addr >> ll.narrow.line_shift & ll.narrow.set_mask;

    return vector_order(ll.narrow.tags + set * ll.narrow.stride,
                        (u32)(addr >> ll.narrow.tag_shift) + 1, ll.narrow.assoc);
}

// sim_narrow_touch(), in a forked child.
static bool near_touch(u64 a)
{
    u32 *ways = llfork_set((u32)(a >> ll.narrow.line_shift & ll.narrow.set_mask));
    u32 tag = (u32)(a >> ll.narrow.tag_shift) + 1;

    if (tb_config.vectors == 64)
        return vector_order(ways, tag, ll.narrow.assoc);
    return ways[0] != tag && sim_narrow_search(ways, ll.narrow.assoc, tag);
}

static bool near_ref(u64 addr, u32 size)
{
    u64 end = addr + size - 1;
    bool miss = near_touch(addr);

    if ((addr ^ end) > ll.narrow.low)
        miss |= llfork_is_on() ? near_touch(end) : sim_narrow_touch(&ll.narrow, end);
    return miss;
}

static bool ref(u64 addr, u32 size)
{
    if (UNLIKELY(!ll.narrow.tags))
        return sim_cache_ref(&ll.cache, addr, size);
    if (llfork_is_on())
        return near_ref(addr, size);
    if (tb_config.vectors == 64 && (addr ^ (addr + size - 1)) <= ll.narrow.low)
        return by_vectors(addr);
    return sim_narrow_ref(&ll.narrow, addr, size);
}

// Five levels of page tables, or an address that is going to fault.
static bool is_too_wide(u64 addr, u32 size)
{
    return ll.narrow.tags && !sim_narrow_can(&ll.narrow, addr, size);
}

static void widen(void)
{
    struct sim_geometry g = geometry();

    if (llfork_is_on())
        llfork_end(true);
    llfork_init(NULL, 0, 0);
    sim_cache_init_zeroed(&ll.cache, &g, storage(sim_cache_bytes(&g)));
    sim_narrow_widen(&ll.narrow, &ll.cache);
    ll.narrow.tags = NULL;
    vector_sets.ll_tags = NULL;
}

static void widen_shared(void)
{
    for (u32 i = 0; i < STRIPES; i++)
        lock_take(&stripe[i].lock);
    if (ll.narrow.tags)
        widen();
    for (u32 i = 0; i < STRIPES; i++)
        lock_drop(&stripe[i].lock);
}

static bool shared_ref(u64 addr, u32 size)
{
    u64 first = addr >> ll.line_shift & ll.stripe_mask;
    u64 last = (addr + size - 1) >> ll.line_shift & ll.stripe_mask;
    struct lock *one = &stripe[first < last ? first : last].lock;
    struct lock *two = &stripe[first < last ? last : first].lock;
    bool miss, wide;

    // in the order of their numbers
    for (;;) {
        lock_take(one);
        if (two != one)
            lock_take(two);
        wide = is_too_wide(addr, size);
        miss = !wide && ref(addr, size);
        if (two != one)
            lock_drop(two);
        lock_drop(one);
        if (!wide)
            return miss;
        widen_shared();
    }
}

static bool own_ref(u64 addr, u32 size)
{
    if (UNLIKELY(is_too_wide(addr, size)))
        widen();
    return ref(addr, size);
}

static struct waiting *first_of(const struct thread *t)
{
    return (struct waiting *)((u8 *)t->self + TA_LL);
}

static struct queue *queue_of(const struct thread *t)
{
    return (struct queue *)((u8 *)t->self + TA_LL_QUEUE);
}

static struct waiting *piece_of(const struct thread *t, u32 n)
{
    return (struct waiting *)((u8 *)t->self + TA_LL_PIECES + n % PIECES * PIECE_BYTES);
}

// Where what waits and is in no whole piece begins.
static struct waiting *begin_of(const struct thread *t)
{
    const struct queue *q = queue_of(t);

    return q->on ? piece_of(t, q->given) : first_of(t);
}

static u32 pieces(const struct queue *q)
{
    return __atomic_load_n(&q->given, __ATOMIC_ACQUIRE) -
           __atomic_load_n(&q->done, __ATOMIC_ACQUIRE);
}

void ll_thread_init(struct thread *t)
{
    t->ll = (u64)first_of(t);
    *queue_of(t) = (struct queue){ 0 };
}

bool ll_waits(const struct thread *t)
{
    return t->ll != (u64)begin_of(t) || (queue_of(t)->on && pieces(queue_of(t)));
}

static void append(struct thread *t, u64 addr, u32 size, u32 counter)
{
    bool one = addr >> ll.line_shift == (addr + size - 1) >> ll.line_shift;

    *(struct waiting *)t->ll = (struct waiting){ addr, counter, one ? 0 : size };
    t->ll += sizeof(struct waiting);
    if (t->ll % PIECE_BYTES == 0)
        ll_full(t);
}

void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    if (tb_config.defer && (ll.shared || queue_of(t)->on)) {
        append(t, addr, size, counter);
        return;
    }
    if (ll_waits(t))
        ll_drain(t);
    calls_count(t, counter, 1);
    if (ll.shared ? shared_ref(addr, size) : own_ref(addr, size))
        calls_count(t, counter + 1, 1);
}

static struct waiting *by_loop(struct thread *t, struct waiting *w, struct waiting *end)
{
    if (!vector_sets.ll_sets || !tb_config.vectors)
        return w;
    return tb_config.vectors == 64 ? vector_waiting64(w, end, t->misses)
                                   : vector_waiting(w, end, t->misses);
}

// @holds(the first stripe's lock, which no reference takes while those of others wait)
static void perform(struct thread *t, struct waiting *w, struct waiting *end)
{
    for (; w < end; w++) {
        w = by_loop(t, w, end);
        if (w == end)
            break;
        if (w->size == LL_DONE)
            continue;
        calls_count(t, w->counter, 1);
        if (own_ref(w->addr, w->size ? w->size : 1))
            calls_count(t, w->counter + 1, 1);
        w->size = LL_DONE;
    }
}

// The first stripe's lock. Who has it may have been killed.
static void take(void)
{
    struct k_timespec look = { 0, LOOK_NS };

    for (u32 i = 0; i < SPINS; i++) {
        if (lock_try(&stripe[0].lock))
            return;
        __builtin_ia32_pause();
    }
    while (!lock_take_within(&stripe[0].lock, &look)) {
        if (ll_is_orphan && ll_is_orphan())
            ll_forget_locks();
    }
}

// The oldest piece, if there is one.
static void perform_piece(struct thread *t, struct queue *q)
{
    struct waiting *w = piece_of(t, q->done);

    if (!pieces(q))
        return;
    perform(t, w, w + PIECE_BYTES / sizeof(*w));
    __atomic_store_n(&q->done, q->done + 1, __ATOMIC_RELEASE);
}

// The piece that is being filled is full. In this order, so that whoever finds it after SIGKILL
// sees by t->ll that it is.
static void give(struct thread *t, struct queue *q)
{
    t->ll = (u64)piece_of(t, q->given + 1);
    __atomic_store_n(&q->given, q->given + 1, __ATOMIC_SEQ_CST);
}

void ll_drain(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (!ll_waits(t))
        return;
    take();
    if (q->on) {
        if (t->ll - (u64)begin_of(t) >= PIECE_BYTES)
            give(t, q);
        while (pieces(q))
            perform_piece(t, q);
    }
    perform(t, begin_of(t), (struct waiting *)t->ll);
    lock_drop(&stripe[0].lock);
    t->ll = (u64)begin_of(t);
}

static void wake(struct queue *q)
{
    if (!__atomic_load_n(&q->asked, __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&q->asked, 0, __ATOMIC_RELAXED);
    sys_futex(q->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

void ll_full(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (!q->on) {
        ll_drain(t);
        return;
    }
    give(t, q);
    if (pieces(q) >= PIECES / 2)
        wake(q);
    if (pieces(q) < PIECES)
        return;
    take();
    if (pieces(q) == PIECES)
        perform_piece(t, q);
    lock_drop(&stripe[0].lock);
}

// Of the buffer that is begun.
static bool is_for_thread(struct queue *q)
{
    if (q->rest)
        q->rest--;
    else if (q->on && q->given - q->before > PIECES)
        q->rest = REST;
    q->before = q->given;
    return !q->rest;
}

void ll_beside(struct thread *t, bool beside)
{
    struct queue *q = queue_of(t);
    bool on = beside && !ll.shared && tb_config.stamps && !tb_config.calls && is_for_thread(q);

    if (on != q->on) {
        ll_drain(t);
        q->on = on;
        t->ll = (u64)begin_of(t);
    }
    if (!ll.shared && vector_sets.ll_later)
        vector_sets.ll_later = on ? LL_LATER_SHARED : LL_LATER_OWN;
}

void ll_replayed(struct thread *t)
{
    if (!queue_of(t)->on)
        ll_drain(t);
}

bool ll_help(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (!q->on || !pieces(q) || !lock_try(&stripe[0].lock))
        return false;
    if (pieces(q))
        __atomic_fetch_add(&spool->n_helped, PIECE_BYTES / sizeof(struct waiting),
                           __ATOMIC_RELAXED);
    perform_piece(t, q);
    lock_drop(&stripe[0].lock);
    return true;
}

bool ll_ask(struct thread *t, u32 *word)
{
    struct queue *q = queue_of(t);

    q->word = word;
    __atomic_store_n(&q->asked, 1, __ATOMIC_SEQ_CST);
    return q->on && pieces(q) >= PIECES / 2;
}
