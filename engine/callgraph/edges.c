// SPDX-License-Identifier: MIT
// The records of the call graph (edges.h).
#include "engine/callgraph/edges.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

// A frame names its edge by a counter, and each jump, unmatched return and closed frame asks for
// it: the search took 12 % of the time of python with calls (work.py), now 1 %.
#define FOUND_LOG2 13
#define FOUND      (1u << FOUND_LOG2)

static struct lock lock;

static struct {
    u32 *index; // of the edge, plus one
    u32 size, used;
} known;

// The edges that edges_at() has found lately: the counter in the high half, the edge's number plus
// one in the low half; 0: none.
static u64 found[FOUND];

static u64 *found_at(u32 counter)
{
    return &found[counter * 0x9e3779b1u >> (32 - FOUND_LOG2)];
}

static void found_note(u32 counter, u32 edge)
{
    __atomic_store_n(found_at(counter), (u64)counter << 32 | (edge + 1), __ATOMIC_RELEASE);
}

void edges_init(void)
{
    known.size = 4096;
    known.index = heap_alloc(known.size * sizeof(u32));
}

void edges_fork_child(void)
{
    lock.w = 0;
}

// Entries of linkage tables are found by their address only.
static u64 edge_key(const struct spool_edge *e)
{
    return e->kind == SPOOL_EDGE_PLT ? 0 : e->target;
}

static u32 edge_hash(const struct spool_edge *e)
{
    u64 target = edge_key(e);
    u64 h = (e->site ^ target << 21 ^ target >> 11) * 0x9e3779b97f4a7c15ul;

    h ^= (e->from ^ (u64)e->to << 32) * 0xff51afd7ed558ccdul;
    return (u32)(h >> 32);
}

static u32 edge_find(const struct spool_edge *like)
{
    u32 k = edge_hash(like) & (known.size - 1);

    for (; known.index[k]; k = (k + 1) & (known.size - 1)) {
        const struct spool_edge *e = spooler_edge_at(known.index[k] - 1);

        if (e->site == like->site && edge_key(e) == edge_key(like) && e->kind == like->kind &&
            e->from == like->from && e->to == like->to)
            break;
    }
    return k;
}

static void edges_grow(void)
{
    u32 old = known.size, *from = known.index;

    known.size *= 2;
    known.index = heap_alloc(known.size * sizeof(u32));
    for (u32 i = 0; i < old; i++) {
        if (!from[i])
            continue;
        const struct spool_edge *e = spooler_edge_at(from[i] - 1);
        u32 k = edge_hash(e) & (known.size - 1);

        while (known.index[k])
            k = (k + 1) & (known.size - 1);
        known.index[k] = from[i];
    }
    heap_free(from, old * sizeof(u32));
}

// The module may have been unmapped and another one mapped there.
static bool stale(const struct spool_edge *e, const struct spool_edge *now)
{
    return (e->site && e->site_map != now->site_map) ||
           (e->kind != SPOOL_EDGE_PLT && e->target_map != now->target_map);
}

void edges_expect(u32 n)
{
    while (known.size / 2 <= n)
        edges_grow();
}

// The maps first: a reader of the spool after SIGKILL finds every edge that is not dormant
// complete.
void edges_wake(struct spool_edge *e, u32 map)
{
    u32 k;

    lock_take(&lock);
    e->site_map = map;
    e->target_map = e->awake == SPOOL_EDGE_PLT ? 0 : map;
    __atomic_store_n(&e->kind, e->awake, __ATOMIC_RELEASE);
    if (known.used * 2 >= known.size)
        edges_grow();
    k = edge_find(e);
    known.used += !known.index[k];
    known.index[k] = (u32)(e - spooler_edge_at(0)) + 1;
    lock_drop(&lock);
}

bool edges_is_latest(const struct spool_edge *e)
{
    bool latest;

    lock_take(&lock);
    latest = known.index[edge_find(e)] == (u32)(e - spooler_edge_at(0)) + 1;
    lock_drop(&lock);
    return latest;
}

struct spool_edge *edges_record(const struct spool_edge *e, u32 counters)
{
    struct spool_edge *mine;
    u32 k;

    lock_take(&lock);
    if (known.used * 2 >= known.size)
        edges_grow();
    k = edge_find(e);
    mine = known.index[k] ? spooler_edge_at(known.index[k] - 1) : NULL;
    if (!mine || stale(mine, e)) {
        mine = spooler_edge_append(e, counters);
        known.used += !known.index[k];
        known.index[k] = (u32)(mine - spooler_edge_at(0)) + 1;
        if (counters)
            found_note(mine->counter, known.index[k] - 1);
    }
    lock_drop(&lock);
    return mine;
}

u32 edges_plt_number(u64 entry)
{
    return (u32)(entry & SPOOL_FRAME_PLT) | (SPOOL_FRAME_PLT + 1) / 2;
}

struct spool_edge *edges_get(enum spool_edge_kind kind, u64 site, u32 len, u64 target)
{
    struct function from = { 0 }, to = { 0 };
    u32 counters = 1 + tb_config.calls_events;

    if (site)
        from = functions_at(site);
    if (target || kind <= SPOOL_EDGE_ROOT) // also a call by a null pointer
        to = functions_at(target);
    if (kind == SPOOL_EDGE_PLT || kind == SPOOL_EDGE_GOTO)
        counters = 0;
    else if (spool_edge_is_jump(kind))
        counters = 1;
    else if (to.plt)
        counters += tb_config.calls_events;
    return edges_record(&(struct spool_edge){ .site = site,
                                              .target = target,
                                              .kind = (u8)kind,
                                              .len = (u8)len,
                                              .site_map = from.map,
                                              .target_map = to.map,
                                              .function = to.start,
                                              .plt = to.plt ? edges_plt_number(target) : 0 },
                        counters);
}

struct spool_edge *edges_of(enum spool_edge_kind kind, u64 site, u32 len, u64 target)
{
    struct spool_edge *e = NULL;
    u32 k;

    lock_take(&lock);
    k = edge_find(&(struct spool_edge){ .kind = (u8)kind, .site = site, .target = target });
    if (known.index[k])
        e = spooler_edge_at(known.index[k] - 1);
    lock_drop(&lock);
    if (e)
        return e;
    tcache_lock();
    e = edges_get(kind, site, len, target);
    tcache_unlock();
    return e;
}

// Counters are allocated to edges in this order; an edge without counters has the number of the
// next one's.
struct spool_edge *edges_at(u32 counter)
{
    u64 lo = 0, hi = __atomic_load_n(&spool->edges_used, __ATOMIC_ACQUIRE), last = hi - 1;
    u64 before = __atomic_load_n(found_at(counter), __ATOMIC_ACQUIRE);

    if (before >> 32 == counter && (u32)before && (u32)before <= hi &&
        spooler_edge_at((u32)before - 1)->counter == counter)
        return spooler_edge_at((u32)before - 1);
    while (hi - lo > 1) { // the last one that starts there or before
        u64 mid = (lo + hi) / 2;

        if (spooler_edge_at((u32)mid)->counter <= counter)
            lo = mid;
        else
            hi = mid;
    }
    // Not a last one without counters: the next one will have the same number.
    if (lo < last && spooler_edge_at((u32)lo)->counter == counter)
        found_note(counter, (u32)lo);
    return spooler_edge_at((u32)lo);
}

void edges_plt_known(struct spool_edge *entry, u64 target, u64 function)
{
    lock_take(&lock);
    if (!entry->target) {
        entry->function = function;
        __atomic_store_n(&entry->target, target, __ATOMIC_RELEASE);
    }
    lock_drop(&lock);
}

u64 edges_function(u64 addr, bool *plt)
{
    struct function f;

    tcache_lock();
    f = functions_at(addr);
    tcache_unlock();
    *plt = f.plt;
    return f.start;
}
