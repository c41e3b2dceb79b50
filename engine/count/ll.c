// SPDX-License-Identifier: MIT
// The simulated LL (ll.h).
//
// One lock for each reference was the dearest thing that two threads could share: two that write at
// random into 256 KiB each took 90 times as long as natively, one of them 11 times.
#include "engine/count/ll.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/mini.h"
#include "engine/base/pages.h"
#include "engine/base/sys.h"
#include "engine/count/calls.h"
#include "engine/count/near.h"
#include "engine/count/vector.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "sim/cache.h"

#define STRIPES 256u // a power of two

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
#define WAITING_MAX ((LL_LATER_SHARED + 1) / sizeof(struct waiting))

_Static_assert(sizeof(struct waiting) == 16, "asm size");
_Static_assert(TA_LL % 0x10000 == 0 && THREAD_AREA_STRIDE % 0x10000 == 0, "asm looks at 16 bits");

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
        near_init(ll.narrow.tags, ll.narrow.stride, sets);
}

void ll_clear(void)
{
    struct sim_geometry g = geometry();

    if (near_is_on())
        near_end(false);
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
    if (near_is_on())
        near_end(true);
    vector_sets.ll_later = LL_LATER_SHARED;
    __atomic_store_n(&ll.shared, true, __ATOMIC_RELEASE);
}

void ll_forget_locks(void)
{
    if (ll_is_shared()) // else nobody takes them, and a child need not touch their pages
        memset(stripe, 0, sizeof(stripe));
}

void ll_before_fork(void)
{
    near_before_fork();
}

void ll_fork_child(void)
{
    ll_forget_locks();
    alone();
    ll.shared = false;
    near_fork_child();
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
    u32 *ways = near_set((u32)(a >> ll.narrow.line_shift & ll.narrow.set_mask));
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
        miss |= near_is_on() ? near_touch(end) : sim_narrow_touch(&ll.narrow, end);
    return miss;
}

static bool ref(u64 addr, u32 size)
{
    if (UNLIKELY(!ll.narrow.tags))
        return sim_cache_ref(&ll.cache, addr, size);
    if (near_is_on())
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

    if (near_is_on())
        near_end(true);
    near_init(NULL, 0, 0);
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

void ll_thread_init(struct thread *t)
{
    t->ll = (u64)first_of(t);
}

bool ll_waits(const struct thread *t)
{
    return t->ll != (u64)first_of(t);
}

void ll_ref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    if (tb_config.defer && ll.shared) {
        *(struct waiting *)t->ll = (struct waiting){ addr, counter, size };
        t->ll += sizeof(struct waiting);
        if (t->ll == (u64)(first_of(t) + WAITING_MAX))
            ll_drain(t);
        return;
    }
    if (ll_waits(t))
        ll_drain(t);
    calls_count(t, counter, 1);
    if (ll.shared ? shared_ref(addr, size) : own_ref(addr, size))
        calls_count(t, counter + 1, 1);
}

void ll_drain(struct thread *t)
{
    struct waiting *w = first_of(t), *end = (struct waiting *)t->ll;

    if (w == end)
        return;
    lock_take(&stripe[0].lock); // which no reference takes while those of others wait
    for (; w < end; w++) {
        if (tb_config.vectors && vector_sets.ll_sets) {
            w = vector_waiting(w, end, t->misses);
            if (w == end)
                break;
        }
        if (w->size == LL_DONE)
            continue;
        calls_count(t, w->counter, 1);
        if (own_ref(w->addr, w->size ? w->size : 1))
            calls_count(t, w->counter + 1, 1);
        w->size = LL_DONE;
    }
    lock_drop(&stripe[0].lock);
    t->ll = (u64)first_of(t);
}
