// SPDX-License-Identifier: MIT
// The simulated LL (ll.h).
//
// One lock for each reference was the most expensive thing that two threads shared: two threads
// that write at random into 256 KiB each took 90 times as long as natively, one alone 11 times.
#include "engine/count/ll.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/count/cores.h"
#include "engine/count/curve.h"
#include "engine/count/levels.h"
#include "engine/count/llfork.h"
#include "engine/count/vector.h"
#include "engine/count/vectorlevels.h"
#include "engine/objects/many.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/sharing.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "sim/cache.h"

#define STRIPES  256u      // a power of two
#define SPINS    1024u     // before a sleep: as long as draining a batch takes
#define FEW      32u       // with --data=yes, where that takes hundreds of times as long
#define CHECK_NS 100000000 // between checks whether the lock's holder is alive

bool (*ll_is_orphan)(void);
void (*ll_ahead_full)(struct thread *a);
void (*ll_ahead_notes)(struct thread *a);

static struct {
    bool shared;              // there has been a second thread
    struct sim_narrow narrow; // while tags != NULL
    struct sim_cache cache;   // else
    // applied to a line's number; no more bits than sets have, so a set has one lock
    u64 stripe_mask;
    u32 line_shift;
} ll;

// Each lock guards the sets whose number, modulo STRIPES, is its own. Each is on its own line of
// the host's cache.
static struct {
    _Alignas(64) struct lock lock;
} stripe[STRIPES];

// With a replayer, references are batched in pieces, and either side may simulate a piece: the
// client's thread does where it would wait for an empty buffer. Whoever simulates holds the first
// stripe's lock. t->ll points into the piece that is being filled.
#define PIECES      16u
#define PIECE_BYTES (LL_BATCH_SHARED + 1u)

#define PATIENCE 32768u // looks: some milliseconds, of a piece that takes half of one

struct queue {
    _Alignas(64) u32 given; // pieces so far, by whoever replays
    u32 on;                 // 0: the batch is at TA_LL
    _Alignas(64) u32 done;
    u32 asked; // the thread sleeps on *word, and is to be woken for pieces
    u32 helps; // the thread waits, and simulates pieces meanwhile
    u32 *word;
};

_Static_assert(sizeof(struct ll_pending) == 16, "asm size");
_Static_assert(TA_LL % PIECE_BYTES == 0 && TA_LL_PIECES % PIECE_BYTES == 0 &&
                   THREAD_AREA_STRIDE % PIECE_BYTES == 0,
               "asm looks at 16 bits");
_Static_assert(TA_LL_PIECES + PIECES * PIECE_BYTES <= TA_LL_PIECES_END &&
                   TA_LL_QUEUE + sizeof(struct queue) <= TA_AUTOTUNE,
               "space in the area");

static struct sim_geometry geometry(void)
{
    struct sim_geometry g = { spool->ll.size, spool->ll.assoc, spool->ll.line };

    return g;
}

// Whether what misses L1 is simulated by vectors, and waits for its object (objects/many.h).
static bool waits_by_vectors(void)
{
    return many_wait && tb_config.vectors == 64 && vector_sets.ll_set;
}

// One thread: --calls=yes needs right totals where a call has a miss. It drains the batch before it
// reads them; with AVX-512, where totals are noted at each call, it simulates each reference at
// once (no batch). The levels of a machine are not for vectors, and take a large batch.
static u32 own_batch(void)
{
    if (levels_are_on() || (tb_config.data && !waits_by_vectors()))
        return LL_BATCH_SHARED;
    if (tb_config.calls && !tb_config.data && tb_config.vectors == 64 && !tb_config.calls_lazy)
        return 0;
    return LL_BATCH_OWN;
}

// Sets how many references are batched. A miss of an L1 loads its set of LL ahead only if that is
// used soon: of a large batch it is used much later, and perhaps by another processor, which would
// lose it in between. With --calls=yes a batch is drained when the first miss of a call is found.
static void set_batch(u32 batch)
{
    bool soon = (batch != LL_BATCH_SHARED || tb_config.calls) && ll.narrow.tags &&
                !(spool->flags & SPOOL_F_NO_HINTS);

    vector_sets.ll_batch = batch;
    vector_sets.at_miss_mask = soon ? vector_sets.ll_ahead : 0;
}

// What vector.S and routine.S have to know of it.
static void vectors_learn(const struct sim_narrow *c)
{
    vector_sets.ll_tags = c->tags;
    vector_sets.ll_set = vector_sets.ll_ahead = 0;
    if (!c->tags)
        return;
    vector_sets.ll_shift = c->line_shift;
    vector_sets.ll_assoc = c->assoc;
    vector_sets.ll_last = 1u << (c->assoc - 1) % 32;
    vector_sets.ll_high = c->high_shift;
    vector_sets.ll_magic = c->magic;
    vector_sets.ll_divide = c->magic_shift;
    vector_sets.ll_odd = c->odd;
    vector_sets.ll_low = c->low_mask;
    vector_sets.ll_upper = c->high_shift - c->line_shift;
    if (c->stride == 16 || (c->stride == 32 && tb_config.vectors == 64))
        vector_sets.ll_set = c->stride == 16 ? 6 : 7;
    if (c->odd == 1 && vector_sets.ll_set == c->line_shift)
        vector_sets.ll_ahead = (u64)c->low_mask << c->line_shift;
}

// Routines append to the batch as for a narrow LL, with nothing to prefetch.
static void init_levels(void)
{
    static u32 nothing[16];
    u32 line = spool->ll.line;

    if ((spool->flags & SPOOL_F_L2) && spool->machine.l2.line < line)
        line = spool->machine.l2.line;
    ll.line_shift = (u32)__builtin_ctz(line);
    vector_sets.ll_tags = nothing;
    vector_sets.ll_set = 6;
    set_batch(own_batch());
}

static void init_bits(void)
{
    vector_sets.ll_bits = tb_config.ahead ? LL_OPEN | LL_BYTES : ~0u;
    for (u32 i = 3; i < ARRAY_SIZE(vector_not_simple); i += 4)
        vector_not_simple[i] = (u32)vector_sets.ll_bits;
}

void ll_init(void)
{
    struct sim_geometry g = geometry();
    u32 sets = g.size / g.line / g.assoc;

    init_bits();
    levels_init();
    many_init(levels_are_on());
    if (levels_are_on()) {
        init_levels();
        return;
    }
    if (!(spool->flags & SPOOL_F_NO_NARROW) && sim_narrow_fits(&g, 47))
        sim_narrow_init_zeroed(&ll.narrow, &g, heap_large(sim_narrow_bytes(&g)));
    else
        sim_cache_init_zeroed(&ll.cache, &g, heap_large(sim_cache_bytes(&g)));
    ll.stripe_mask = (1u << __builtin_ctz(sets)) - 1;
    if (ll.stripe_mask >= STRIPES)
        ll.stripe_mask = STRIPES - 1;
    ll.line_shift = (u32)__builtin_ctz(g.line);
    vectors_learn(&ll.narrow);
    set_batch(own_batch());
    if (ll.narrow.tags)
        llfork_init(ll.narrow.tags, ll.narrow.stride, sets);
}

void ll_clear(void)
{
    struct sim_geometry g = geometry();

    if (levels_are_on()) {
        levels_clear();
        return;
    }
    if (llfork_is_on())
        llfork_end(false);
    if (ll.narrow.tags)
        sys_madvise((u64)ll.narrow.tags, PAGE_UP(sim_narrow_bytes(&g)), MADV_DONTNEED);
    else
        sys_madvise((u64)ll.cache.tags, PAGE_UP(sim_cache_bytes(&g)), MADV_DONTNEED);
}

bool ll_takes_batches(void)
{
    return ll.narrow.tags || levels_are_on();
}

bool ll_is_shared(void)
{
    return __atomic_load_n(&ll.shared, __ATOMIC_ACQUIRE);
}

void ll_share(void)
{
    if (llfork_is_on())
        llfork_end(true);
    set_batch(LL_BATCH_SHARED);
    __atomic_store_n(&ll.shared, true, __ATOMIC_RELEASE);
}

// Without a second thread nobody takes the other locks; a child does not touch their pages.
void ll_forget_locks(void)
{
    objtable_forget_lock();
    sharing_forget_lock();
    curve_forget_lock();
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
    set_batch(own_batch());
    ll.shared = false;
    llfork_fork_child();
}

// sim_narrow_ref() of a reference within a line.
static bool ref_by_vectors(u64 addr)
{
    struct sim_narrow_place p = sim_narrow_place(&ll.narrow, addr);

    return vector_order(ll.narrow.tags + (u64)p.set * ll.narrow.stride, p.tag, ll.narrow.assoc);
}

// sim_narrow_touch() in a forked child.
static bool forked_touch(u64 a)
{
    struct sim_narrow_place p = sim_narrow_place(&ll.narrow, a);
    u32 *ways = llfork_set(p.set);

    if (tb_config.vectors == 64)
        return vector_order(ways, p.tag, ll.narrow.assoc);
    return ways[0] != p.tag && sim_narrow_search(ways, ll.narrow.assoc, p.tag);
}

static bool forked_ref(u64 addr, u32 size)
{
    u64 end = addr + size - 1;
    bool miss = forked_touch(addr);

    if ((addr ^ end) > ll.narrow.low)
        miss |= llfork_is_on() ? forked_touch(end) : sim_narrow_touch(&ll.narrow, end);
    return miss;
}

static bool ref(u64 addr, u32 size)
{
    if (UNLIKELY(!ll.narrow.tags))
        return sim_cache_ref_last(&ll.cache, addr, size);
    if (llfork_is_on())
        return forked_ref(addr, size);
    if (tb_config.vectors == 64 && (addr ^ (addr + size - 1)) <= ll.narrow.low)
        return ref_by_vectors(addr);
    return sim_narrow_ref(&ll.narrow, addr, size);
}

// An address of a five-level page table, or one that is going to fault.
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
    sim_cache_init_zeroed(&ll.cache, &g, heap_large(sim_cache_bytes(&g)));
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

static struct ll_pending *first_of(const struct thread *t)
{
    return (struct ll_pending *)((u8 *)t->self + TA_LL);
}

static struct queue *queue_of(const struct thread *t)
{
    return (struct queue *)((u8 *)t->self + TA_LL_QUEUE);
}

static struct ll_pending *piece_of(const struct thread *t, u32 n)
{
    return (struct ll_pending *)((u8 *)t->self + TA_LL_PIECES + n % PIECES * PIECE_BYTES);
}

// The first batched reference that is in no full piece.
static struct ll_pending *begin_of(const struct thread *t)
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

static bool has_batch(const struct thread *t)
{
    return t->ll != (u64)begin_of(t) || (queue_of(t)->on && pieces(queue_of(t)));
}

bool ll_has_pending(const struct thread *t)
{
    return has_batch(t) || many_has(t);
}

// The bytes of a reference, from its size.
static u32 bytes_of(u32 size)
{
    return size & (tb_config.ahead ? LL_BYTES : ~LL_FETCH);
}

static bool is_in_one(u64 addr, u32 bytes)
{
    return addr >> ll.line_shift == (addr + bytes - 1) >> ll.line_shift;
}

void ll_append(struct thread *t, u64 addr, u32 size, u32 counter)
{
    ll_counts(t);
    *(struct ll_pending *)t->ll = (struct ll_pending){ addr, counter, size };
    t->ll += sizeof(struct ll_pending);
    if (t->ll % PIECE_BYTES == 0)
        ll_full(t);
}

static void append(struct thread *t, u64 addr, u32 size, u32 counter)
{
    u32 bytes = bytes_of(size);

    ll_append(t, addr, is_in_one(addr, bytes) ? size - bytes : size, counter);
}

// One lock for all sets: a replaced line goes to any set.
static void levels_alone(struct thread *t, u64 addr, u32 size, u32 counter)
{
    if (ll.shared) {
        if (t->levels) // it may have been killed
            levels_apart(t, NULL, NULL);
        lock_take(&stripe[0].lock);
    }
    levels_ref(t, addr, bytes_of(size), (size & LL_FETCH) != 0, counter);
    if (ll.shared)
        lock_drop(&stripe[0].lock);
}

void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    bool miss;

    if (tb_config.core && (!tb_config.sampled || t->core_phase >= CORES_RUN_IN)) {
        // It must know now where the reference is found.
        levels_alone(t, addr, size, counter);
        return;
    }
    if (tb_config.recording && (ll.shared || queue_of(t)->on || levels_are_on() ||
                                (tb_config.data && vector_sets.ll_batch))) {
        append(t, addr, size, counter);
        return;
    }
    if (has_batch(t))
        ll_drain_batch(t);
    if (levels_are_on()) {
        levels_alone(t, addr, size, counter);
        return;
    }
    ll_counts(t);
    calls_count(t, counter, 1);
    size = bytes_of(size);
    miss = ll.shared ? shared_ref(addr, size) : own_ref(addr, size);
    if (miss)
        calls_count(t, counter + 1, 1);
    if (!many_wait) {
        objects_missed(t, addr, counter, 0, miss);
        return;
    }
    many_append(t, addr, counter, miss);
    if (many_is_full(t))
        many_full(t);
}

#define AHEAD 8 // references whose sets are on their way into the host's cache

// Before it is counted: a thread that is killed may lose a miss, but none is counted twice.
static void mark(struct ll_pending *w, u32 as)
{
    __atomic_store_n(&w->size, as, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Of a thread's pieces, which lie side by side.
static u32 place_in_pieces(const struct ll_pending *w)
{
    _Static_assert(LEVELS_PENDING == PIECES * PIECE_BYTES / sizeof(*w), "a place for each");
    return (u32)((u64)w / sizeof(*w) % LEVELS_PENDING);
}

// @holds(the first stripe's lock)
static void simulate_known_levels(struct thread *t, struct ll_pending *w, struct ll_pending *end,
                                  vectorlevels_one *one)
{
    const u32 *asked = vectorlevels_regions(t);

    for (u32 size; w < end; w++) {
        if (w + AHEAD < end)
            __builtin_prefetch(t->misses + w[AHEAD].counter, 1);
        size = w->size;
        if (size == LL_DONE)
            continue;
        mark(w, LL_DONE);
        one(t, w->addr, size & ~LL_FLAGS ? size : size | 1, w->counter,
            asked ? asked[place_in_pieces(w)] : 0);
    }
}

// @holds(the first stripe's lock, or levels_apart())
static void simulate_levels(struct thread *t, struct ll_pending *w, struct ll_pending *end)
{
    levels_one *one = levels_can_wait() ? levels_ref_later : levels_ref;
    vectorlevels_one *known = vectorlevels_for(t);

    if (known)
        simulate_known_levels(t, w, end, known);
    else
        for (u32 size, bytes; w < end; w++) {
            if (w + AHEAD < end) {
                __builtin_prefetch(t->misses + w[AHEAD].counter, 1);
                levels_ahead(t, w[AHEAD].addr);
            }
            size = w->size;
            if (size == LL_DONE)
                continue;
            bytes = bytes_of(size);
            mark(w, LL_DONE);
            one(t, w->addr, bytes ? bytes : 1, (size & LL_FETCH) != 0, w->counter);
        }
    levels_finish(t);
}

// A piece is full: TLBs, streams and regions are asked by who fills it, the other levels by who
// simulates it.
static void ask_first(struct thread *t, struct ll_pending *w)
{
    const struct ll_pending *end = w + PIECE_BYTES / sizeof(*w);
    u32 *asked, regions;

    if (!levels_are_on() || !vectorlevels_ask_first(t))
        return;
    for (asked = vectorlevels_regions(t); w < end; w++) {
        w->size |= vectorlevels_ask(t, w->addr, w->size & ~LL_FLAGS ? w->size : w->size | 1,
                                    w->counter, &regions);
        if (asked)
            asked[place_in_pieces(w)] = regions;
    }
}

static struct ll_pending *simulate_by_vectors(struct ll_pending *w, struct ll_pending *end,
                                              u64 *counters)
{
    if (!vector_sets.ll_set || !tb_config.vectors || tb_config.data)
        return w;
    return tb_config.vectors == 64 ? vector_waiting64(w, end, counters)
                                   : vector_waiting(w, end, counters);
}

// Begins to load a reference's set.
static void own_ahead(u64 addr)
{
    if (ll.narrow.tags && !llfork_is_on())
        __builtin_prefetch(ll.narrow.tags +
                           (u64)sim_narrow_place(&ll.narrow, addr).set * ll.narrow.stride);
}

// With --data=yes: what has missed waits for its object (objects/many.h).
static void simulate_data(struct thread *t, struct ll_pending *w, struct ll_pending *end)
{
    for (; w < end; w++) {
        bool miss;

        if (waits_by_vectors())
            w = vector_waits64(w, end, t->misses, &many_queue(t)->end);
        if (w == end)
            break;
        if (w + AHEAD < end)
            own_ahead(w[AHEAD].addr);
        if (w->size == LL_DONE)
            continue;
        miss = own_ref(w->addr, w->size ? w->size : 1);
        mark(w, LL_DONE);
        calls_count(t, w->counter, 1);
        if (miss)
            calls_count(t, w->counter + 1, 1);
        many_append(t, w->addr, w->counter, miss);
    }
}

static void count_at(struct thread *t, u64 *counters, u32 counter)
{
    counters[counter]++;
    if (tb_config.calls)
        calls_counted(t, counter, 1);
}

// own: counts at the thread's own counters, not those of the replayer (levels: at those, always).
// The finisher adds all.
// @holds(the first stripe's lock; no thread simulates a single reference while others have batches)
static void simulate(struct thread *t, struct ll_pending *w, struct ll_pending *end, bool own)
{
    u64 *counters = own ? t->counters : t->misses;

    if (levels_are_on()) {
        simulate_levels(t, w, end);
        return;
    }
    if (many_wait) {
        simulate_data(t, w, end);
        return;
    }
    u32 bytes;
    bool miss;

    for (; w < end; w++) {
        w = simulate_by_vectors(w, end, counters);
        if (w == end)
            break;
        if (w + AHEAD < end)
            own_ahead(w[AHEAD].addr);
        if (w->size == LL_DONE)
            continue;
        bytes = bytes_of(w->size);
        miss = own_ref(w->addr, bytes ? bytes : 1);
        mark(w, LL_DONE);
        count_at(t, counters, w->counter);
        if (miss)
            count_at(t, counters, w->counter + 1);
        objects_missed(t, w->addr, w->counter, 0, miss);
    }
}

// Takes the first stripe's lock. Its holder may have been killed.
static void take_lock(void)
{
    struct k_timespec check = { 0, CHECK_NS };

    for (u32 i = 0; i < (tb_config.data ? FEW : SPINS); i++) {
        if (lock_try(&stripe[0].lock))
            return;
        __builtin_ia32_pause();
    }
    while (!lock_take_within(&stripe[0].lock, &check)) {
        if (ll_is_orphan && ll_is_orphan())
            ll_forget_locks();
    }
}

// Simulates the oldest piece, if there is one.
static void simulate_piece(struct thread *t, struct queue *q, bool own)
{
    struct ll_pending *w = piece_of(t, q->done);

    if (!pieces(q))
        return;
    simulate(t, w, w + PIECE_BYTES / sizeof(*w), own);
    __atomic_store_n(&q->done, q->done + 1, __ATOMIC_RELEASE);
}

// The current piece is full. t->ll is stored first: whoever finds the state after SIGKILL sees by
// it that the piece is full.
static void hand_over(struct thread *t, struct queue *q)
{
    t->ll = (u64)piece_of(t, q->given + 1);
    __atomic_store_n(&q->given, q->given + 1, __ATOMIC_SEQ_CST);
}

static void drop_lock(void)
{
    lock_drop(&stripe[0].lock);
}

// Whether the batch of one of several threads needs the lock for LL alone: its L2 is its own.
static bool is_apart(const struct thread *t)
{
    return ll.shared && !queue_of(t)->on && levels_can_wait() &&
           !(spool->flags & SPOOL_F_SERIALIZE);
}

// The same of a batch that is apart.
static void drain_apart(struct thread *t)
{
    levels_apart(t, take_lock, drop_lock);
    simulate_levels(t, begin_of(t), (struct ll_pending *)t->ll);
    levels_apart(t, NULL, NULL);
    t->ll = (u64)begin_of(t);
}

void ll_drain_batch(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (!has_batch(t))
        return;
    if (is_apart(t)) {
        drain_apart(t);
        return;
    }
    take_lock();
    if (q->on) {
        if (t->ll - (u64)begin_of(t) >= PIECE_BYTES)
            hand_over(t, q);
        while (pieces(q))
            simulate_piece(t, q, false);
    }
    simulate(t, begin_of(t), (struct ll_pending *)t->ll, false);
    lock_drop(&stripe[0].lock);
    t->ll = (u64)begin_of(t);
    if (many_wait && many_is_full(t))
        many_full(t);
}

void ll_drain(struct thread *t)
{
    ll_drain_batch(t);
    many_settle(t);
}

void ll_counts(struct thread *t)
{
    if (LIKELY(t->late_last == t->late_top))
        return;
    if (t->is_ahead) {
        ll_ahead_notes(t);
        return;
    }
    ll_drain_batch(t);
    frames_late_fill(t);
}

static void wake(struct queue *q)
{
    if (!__atomic_load_n(&q->asked, __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&q->asked, 0, __ATOMIC_RELAXED);
    sys_futex(q->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL);
}

// All pieces are full. The thread simulates them if it has nothing else to do: LL stays in its
// processor's caches, and with levels a piece takes as long as its records took.
static void leave_to_thread(const struct queue *q)
{
    for (u32 i = 0; i < PATIENCE && pieces(q) == PIECES; i++) {
        if (!__atomic_load_n(&q->helps, __ATOMIC_RELAXED))
            return;
        __builtin_ia32_pause();
    }
}

// Into pieces, which the thread may simulate.
static void divide(struct thread *t, struct ll_pending *w, const struct ll_pending *end)
{
    for (; w < end; w++) {
        u32 size = w->size;

        if (size == LL_DONE)
            continue;
        mark(w, LL_DONE);
        ll_append(t, w->addr, size, w->counter);
    }
}

// With levels a reference takes as long as all else of its instruction.
void ll_simulate(struct thread *t, struct ll_pending *from, struct ll_pending *end)
{
    if (queue_of(t)->on && levels_are_on()) {
        divide(t, from, end);
        return;
    }
    ll_drain_batch(t);
    take_lock();
    simulate(t, from, end, false);
    lock_drop(&stripe[0].lock);
}

void ll_ahead_begin(struct thread *a, u64 at)
{
    queue_of(a)->on = 1;
    a->ll = at;
}

bool ll_ahead_may(const struct thread *t)
{
    if (ll_is_shared() || tb_config.calls) // with calls there are no pieces
        return !ll_is_shared();
    return __atomic_load_n(&queue_of(t)->on, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&vector_sets.ll_batch, __ATOMIC_ACQUIRE) == LL_BATCH_SHARED;
}

void ll_full(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (t->is_ahead) {
        ll_ahead_full(t);
        return;
    }
    if (!q->on) {
        ll_drain_batch(t);
        return;
    }
    ask_first(t, piece_of(t, q->given));
    hand_over(t, q);
    if (pieces(q) >= PIECES / 2)
        wake(q);
    leave_to_thread(q);
    if (pieces(q) < PIECES)
        return;
    take_lock();
    if (pieces(q) == PIECES)
        simulate_piece(t, q, false);
    lock_drop(&stripe[0].lock);
}

void ll_beside(struct thread *t, bool beside)
{
    struct queue *q = queue_of(t);
    bool on = beside && !ll.shared && tb_config.stamps && !tb_config.calls;

    if (on != q->on) {
        ll_drain(t);
        q->on = on;
        t->ll = (u64)begin_of(t);
    }
    if (!ll.shared && vector_sets.ll_batch)
        set_batch(on ? LL_BATCH_SHARED : own_batch());
}

void ll_replayed(struct thread *t)
{
    if (!queue_of(t)->on)
        ll_drain(t);
}

void ll_helps(struct thread *t, bool helps)
{
    __atomic_store_n(&queue_of(t)->helps, helps, __ATOMIC_RELAXED);
}

bool ll_help(struct thread *t)
{
    struct queue *q = queue_of(t);

    if (!q->on || !pieces(q) || !lock_try(&stripe[0].lock))
        return false;
    if (pieces(q))
        __atomic_fetch_add(&spool->n_helped, PIECE_BYTES / sizeof(struct ll_pending),
                           __ATOMIC_RELAXED);
    // The replayer writes to its own at the same time, a branch's each time it is executed: a line
    // of both would move between the processors (matrix with branches: 1.5 times the time).
    simulate_piece(t, q, true);
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
