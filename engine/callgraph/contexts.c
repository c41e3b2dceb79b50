// SPDX-License-Identifier: MIT
// Contexts (contexts.h).
//
// Lock order: translation lock, then the lock here, then that of edges.
#include "engine/callgraph/contexts.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/callgraph/edges.h"
#include "engine/codecache/tcache.h"
#include "engine/spool/spooler.h"

#define CALLERS_MAX 64
#define NODES_MAX   0x80000
#define KNOWN_SLOTS 0x10000

// Counters of a block.
struct piece {
    struct piece *next;
    u32 block, first, counters;
};

// A function.
struct node {
    u64 start;
    u32 map;
    u32 owner; // counter: the context that owns the counts of its blocks
    u32 depth; // counter: how often it is open
    bool plt;
    struct patterns rules;
    struct piece *pieces;
};

static struct lock lock;
static struct node *nodes; // by number; NODES_MAX, memory is allocated when touched
static u32 nodes_used;

// A call that was made before: it need not be looked up again while the modules are the same.
struct known {
    struct known *next;
    u64 site, target;
    u32 maps;
    u32 from, level; // the caller's context; how often the function is open, limited
    u32 node, context;
    u32 depth, recs; // of the function whose context it is
    bool same;
    bool hidden; // a call of a hidden function: that has neither a context nor levels
    bool toggle;
    struct spool_edge *edge;
};

_Static_assert(sizeof(struct known) == 64, "a line of the cache for each call");

// By hash; entries are added in front, and stay. An entry of unmapped modules is used again: its
// `maps` is 0 while it is changed, for readers without a lock.
static struct known **known;

// Address -> number of its function, plus one; start of a function -> its own number.
static struct places {
    struct place {
        u64 addr;
        u32 node;
    } * slot;
    u32 size, used;
    u64 maps; // spooler_maps_named at that time
} places, starts;

// The same for recent addresses, by their lowest bits and without a lock: the rest of the address,
// spooler_maps_named, and the number as above.
#define RECENT_SLOTS 0x10000
#define NEAR_NODE  0xfffffu
#define RECENT_MAPS  0x1fffu // when the number wraps, all entries are cleared

_Static_assert(NODES_MAX < NEAR_NODE, "all have a number");

static u64 *recent_places;

static bool grouped, skips_direct; // from the options
static u32 off_at; // counter: nothing is collected; the totals at that time follow it

void contexts_init(void)
{
    if (!tb_config.contexts)
        return;
    off_at = tb_config.calls_top + 1 + tb_config.calls_events;
    nodes = heap_pages(NODES_MAX * sizeof(*nodes));
    known = heap_pages(KNOWN_SLOTS * sizeof(struct known *));
    recent_places = heap_pages(RECENT_SLOTS * sizeof(*recent_places));
    patterns_init();
    grouped = patterns_has("g");
    skips_direct = spool->flags & SPOOL_F_SKIP_DIRECT;
}

void contexts_fork_child(void)
{
    lock.w = 0;
}

// ---- Functions ----

static struct place *place_of(struct places *p, u64 addr)
{
    u32 k = (u32)(addr * 0x9e3779b97f4a7c15ul >> 32) & (p->size - 1);

    while (p->slot[k].node && p->slot[k].addr != addr)
        k = (k + 1) & (p->size - 1);
    return &p->slot[k];
}

static void places_clear(struct places *p, u32 size)
{
    heap_free(p->slot, p->size * sizeof(*p->slot));
    p->size = size;
    p->used = 0;
    p->slot = heap_alloc(size * sizeof(*p->slot));
    memset(p->slot, 0, size * sizeof(*p->slot));
}

static void place_put(struct places *p, u64 addr, u32 node)
{
    struct place *at;

    if (p->used * 2 >= p->size) {
        struct places old = *p;

        p->slot = NULL;
        places_clear(p, old.size * 2);
        for (u32 i = 0; i < old.size; i++)
            if (old.slot[i].node)
                *place_of(p, old.slot[i].addr) = old.slot[i];
        p->used = old.used;
        heap_free(old.slot, old.size * sizeof(*old.slot));
    }
    at = place_of(p, addr);
    p->used += !at->node;
    *at = (struct place){ addr, node + 1 };
}

// @holds(lock)
static u32 node_make(const struct function *f)
{
    struct node *n = &nodes[nodes_used];

    if (nodes_used == NODES_MAX)
        engine_die("more than %u functions", NODES_MAX);
    *n = (struct node){ .start = f->start,
                        .map = f->map,
                        .owner = spooler_counters(2),
                        .plt = f->skip,
                        .rules = patterns_of(f->rules) };
    n->depth = n->owner + 1;
    n->rules.skip |= f->skip;
    return nodes_used++;
}

// @holds(lock)
static u32 node_of(const struct function *f)
{
    u64 key = f->start ^ (u64)f->map << 47; // modules may take turns at one address
    struct place *at;
    u32 n;

    if (!starts.size)
        places_clear(&starts, 1024);
    at = place_of(&starts, key);
    if (at->node && nodes[at->node - 1].map == f->map && nodes[at->node - 1].start == f->start)
        return at->node - 1;
    n = node_make(f);
    place_put(&starts, key, n);
    return n;
}

// The slot's value for addr, without the number.
static u64 recent_key(u64 addr, u64 maps)
{
    return addr >> 16 << 33 | (maps & RECENT_MAPS) << 20;
}

static void recent_put(u64 addr, u64 maps, u32 number)
{
    if (addr >> 47 == 0)
        __atomic_store_n(&recent_places[addr % RECENT_SLOTS], recent_key(addr, maps) | (number + 1),
                         __ATOMIC_RELEASE);
}

static struct node *node_slow(u64 addr, u32 *number);

// The function that contains addr, and its number.
static struct node *node_at(u64 addr, u32 *number)
{
    u64 at = __atomic_load_n(&recent_places[addr % RECENT_SLOTS], __ATOMIC_ACQUIRE);

    if (at && (at & ~(u64)NEAR_NODE) == recent_key(addr, spooler_maps_named) && addr >> 47 == 0) {
        *number = (u32)(at & NEAR_NODE) - 1;
        return &nodes[*number];
    }
    return node_slow(addr, number);
}

static struct node *node_slow(u64 addr, u32 *number)
{
    struct function f;
    struct node *n;

    lock_take(&lock);
    if (!places.size ||
        places.maps != spooler_maps_named) { // other modules may be mapped there now
        bool round = places.maps / (RECENT_MAPS + 1) != spooler_maps_named / (RECENT_MAPS + 1);

        places_clear(&places, 1024);
        places.maps = spooler_maps_named;
        for (u32 i = 0; round && i < RECENT_SLOTS; i++)
            __atomic_store_n(&recent_places[i], 0, __ATOMIC_RELAXED);
    }
    *number = place_of(&places, addr)->node;
    n = *number ? &nodes[*number - 1] : NULL;
    if (n)
        recent_put(addr, places.maps, *number - 1);
    lock_drop(&lock);
    if (n) {
        --*number;
        return n;
    }
    tcache_lock();
    f = functions_at(addr);
    tcache_unlock();
    lock_take(&lock);
    *number = node_of(&f);
    n = &nodes[*number];
    place_put(&places, addr, *number);
    lock_drop(&lock);
    return n;
}

u64 contexts_function(const struct spool_frame *f)
{
    return nodes[contexts_of(f)->node].start;
}

u64 contexts_function_at(u64 addr)
{
    u32 number;

    return node_at(addr, &number)->start;
}

bool contexts_plt(const struct spool_frame *f)
{
    return nodes[contexts_of(f)->node].plt;
}

const struct patterns *contexts_rules(const struct spool_frame *f)
{
    return &nodes[contexts_of(f)->node].rules;
}

u32 contexts_map(const struct spool_frame *f)
{
    return nodes[contexts_of(f)->node].map;
}

// ---- Accounts ----

void contexts_block(u32 block, u32 first, u32 counters, const struct function *f)
{
    struct piece *p;
    struct node *n;

    if (!tb_config.contexts)
        return;
    p = heap_alloc(sizeof(*p));
    lock_take(&lock);
    n = &nodes[node_of(f)];
    lock_drop(&lock);
    *p = (struct piece){ n->pieces, block, first, counters };
    edges_record(&(struct spool_edge){ .kind = SPOOL_EDGE_PIECE, .target = block, .to = n->owner },
                 0);
    __atomic_store_n(&n->pieces, p, __ATOMIC_RELEASE);
}

static bool any(const u64 *counters, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (counters[i])
            return true;
    return false;
}

// Moves the counts of the function's blocks to an account of its owner.
static void move(u64 *counters, const struct node *n, u32 owner)
{
    for (const struct piece *p = __atomic_load_n(&n->pieces, __ATOMIC_ACQUIRE); p; p = p->next) {
        const struct spool_edge *e;

        if (!any(counters + p->first, p->counters))
            continue;
        e = edges_record(
            &(struct spool_edge){ .kind = SPOOL_EDGE_ACCOUNT, .target = p->block, .to = owner },
            p->counters);
        for (u32 i = 0; i < p->counters; i++) {
            counters[e->counter + i] += counters[p->first + i];
            counters[p->first + i] = 0;
        }
    }
}

void contexts_thaw(u64 *counters)
{
    if (!counters[off_at])
        return;
    for (u32 i = 0; i < tb_config.calls_events; i++)
        counters[tb_config.calls_top + 1 + i] = counters[off_at + 1 + i];
}

void contexts_settle(struct thread *t, const struct spool_frame *top)
{
    const struct spool_frame_context *m = contexts_of(top);
    u64 *counters = t->counters;
    u32 context = m->context;
    // without groups each function has its own depth, next to its owner
    u32 owner = m->depth && !grouped ? m->depth - 1 : nodes[m->node].owner;

    if (m->flags & SPOOL_FRAME_OFF)
        context = SPOOL_CONTEXT_OFF;
    else if (m->flags & SPOOL_FRAME_SKIPPED)
        context = SPOOL_CONTEXT_SKIPPED;
    if (counters[owner] != context) {
        move(counters, &nodes[m->node], (u32)counters[owner]);
        counters[owner] = context;
    }
    t->calls_context = context;
    counters[off_at] = (m->flags & SPOOL_FRAME_OFF) != 0;
    for (u32 i = 0; counters[off_at] && i < tb_config.calls_events; i++)
        counters[off_at + 1 + i] = counters[tb_config.calls_top + 1 + i];
}

// ---- Contexts ----

// The number of a context's record: of the function, its level of recursion, and its nearest
// caller's context.
static u32 context_of(const struct node *n, u32 level, u32 callers)
{
    const struct spool_edge *e = edges_record(&(struct spool_edge){ .kind = SPOOL_EDGE_CONTEXT,
                                                                    .target = n->start,
                                                                    .function = n->start,
                                                                    .target_map = n->map,
                                                                    .from = callers,
                                                                    .to = level },
                                              0);

    return (u32)(e - spooler_edge_at(0)) + 1;
}

static struct spool_frame_context *frame_number(const struct spool_frame *nearest, u32 number,
                                                u32 own)
{
    return contexts_of((const struct spool_frame *)((u64)nearest + ((s64)number - (s64)own) *
                                                                       (s64)tb_config.calls_frame));
}

// `nearest` is frame number `at`, `below` that of the first caller.
static u32 callers_of(const struct spool_frame *nearest, u32 at, u32 below, u32 n)
{
    const struct node *caller[CALLERS_MAX];
    u32 found = 0, context = 0;

    while (found < n && found < CALLERS_MAX && below != CONTEXTS_NONE) {
        const struct spool_frame_context *m = frame_number(nearest, below, at);

        caller[found++] = &nodes[m->node];
        below = m->below;
    }
    while (found-- > 0)
        context = context_of(caller[found], 0, context);
    return context;
}

static u32 hash_of(u64 site, u64 target, u32 from)
{
    u64 h = (site ^ target << 21 ^ target >> 11 ^ (u64)from << 40) * 0x9e3779b97f4a7c15ul;

    return (u32)(h >> 32) % KNOWN_SLOTS;
}

// The level of a function with this call, limited by `recs`. same: it calls itself.
static u32 level_of(const u64 *counters, u32 depth, u32 recs, bool same)
{
    u64 open = counters[depth] + !(same && skips_direct);

    return open > recs ? recs : (u32)open;
}

// Finds `want` for the current modules, and copies it, because the entry may be used again once the
// modules change.
static bool known_find(const u64 *counters, const struct known *want, struct known *found)
{
    const struct known *k =
        __atomic_load_n(&known[hash_of(want->site, want->target, want->from)], __ATOMIC_ACQUIRE);

    for (; k; k = k->next) {
        if (__atomic_load_n(&k->maps, __ATOMIC_ACQUIRE) != want->maps || k->site != want->site ||
            k->target != want->target || k->from != want->from)
            continue;
        *found = *k;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&k->maps, __ATOMIC_RELAXED) == want->maps &&
            (found->hidden ||
             found->level == level_of(counters, found->depth, found->recs, found->same)))
            return true;
    }
    return false;
}

static void known_add(const struct known *what)
{
    struct known **first = &known[hash_of(what->site, what->target, what->from)], *k;
    struct known mine = *what;

    lock_take(&lock);
    for (k = *first; k && k->maps == (u32)spooler_maps_named; k = k->next)
        ;
    if (k) {
        mine.next = k->next;
        mine.maps = 0;
        __atomic_store_n(&k->maps, 0, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        *k = mine;
        __atomic_store_n(&k->maps, what->maps, __ATOMIC_RELEASE);
    } else {
        k = heap_alloc(sizeof(*k));
        mine.next = *first;
        *k = mine;
        __atomic_store_n(first, k, __ATOMIC_RELEASE);
    }
    lock_drop(&lock);
}

// Opens a frame of the function: its position in the stack of functions, its depth, and whether
// anything is collected.
static void open_one(u64 *counters, const struct spool_frame_context *from, const struct known *k,
                     u32 number, struct spool_frame_context *mine)
{
    mine->own = k->same ? from->own : number;
    mine->below = k->same ? from->below : from ? from->own : CONTEXTS_NONE;
    if (!k->same || !skips_direct) {
        mine->depth = k->depth;
        counters[k->depth]++;
    }
    if (k->toggle && !k->same && counters[k->depth] == 1) // not if it is open already
        mine->flags ^= SPOOL_FRAME_OFF;
}

// A call of a hidden function is no call.
static void hide_frame(const struct spool_frame_context *from, struct spool_frame_context *mine)
{
    mine->context = from->context;
    mine->own = from->own;
    mine->below = from->below;
    mine->flags |= SPOOL_FRAME_SKIPPED;
}

static struct spool_edge *hide(struct spool_edge *e)
{
    e->kind = SPOOL_EDGE_SKIPPED; // one for all that is hidden there
    e->target = e->function = 0;
    e->target_map = e->site_map;
    return edges_record(e, 1 + tb_config.calls_events);
}

struct spool_edge *contexts_enter(struct thread *t, const struct spool_frame *top,
                                  const struct contexts_way *w, u32 number,
                                  struct spool_frame_context *mine)
{
    const struct spool_frame_context *last = top ? contexts_of(top) : NULL;
    const struct spool_frame_context *from = w->kind == SPOOL_EDGE_ROOT ? NULL : last;
    bool off = last ? last->flags & SPOOL_FRAME_OFF : spool->flags & SPOOL_F_NOT_COLLECTING;
    bool hidden = from && (from->flags & SPOOL_FRAME_SKIPPED);
    // out of a hidden function: from the site of the call that led there, as its edge has it
    struct known k = { .site = hidden ? ~(top->counter | (u64)w->kind << 32) : w->site,
                       .target = w->target,
                       .maps = (u32)spooler_maps_named,
                       .from = from ? from->context : 0 };
    const struct node *n, *named, *caller = NULL;
    struct known old;
    struct spool_edge e = {
        .kind = (u8)w->kind, .site = w->site, .len = (u8)w->len, .target = w->target
    };
    u32 unused;

    *mine = (struct spool_frame_context){ .flags = off ? SPOOL_FRAME_OFF : 0 };
    if (from && known_find(t->counters, &k, &old)) {
        mine->node = old.node;
        if (old.hidden) {
            hide_frame(from, mine);
        } else {
            open_one(t->counters, from, &old, number, mine);
            mine->context = old.context;
        }
        return old.edge;
    }
    n = named = node_at(w->target, &mine->node);
    if (hidden) { // the hidden function made the call for its caller
        const struct spool_edge *through = edges_at(top->counter);

        e.site = through->site;
        e.len = through->len;
    }
    if (e.site)
        e.site_map = node_at(e.site, &unused)->map;
    e.target_map = n->map;
    e.function = n->start;
    e.from = from ? from->context : 0;
    if (from && n->rules.skip) {
        hide_frame(from, mine);
        k.node = mine->node;
        k.hidden = true;
        k.edge = hide(&e);
        known_add(&k);
        return k.edge;
    }
    if (from) {
        caller = &nodes[frame_number(top, from->own, number - 1)->node];
        k.same = caller == n || (n->rules.group && caller->rules.group == n->rules.group);
        named = k.same ? caller : n;
    }
    k.depth = named->depth;
    k.recs = named->rules.recs;
    k.toggle = n->rules.toggle;
    k.level = level_of(t->counters, k.depth, k.recs, k.same);
    open_one(t->counters, from, &k, number, mine);
    mine->context = context_of(
        named, k.level, from ? callers_of(top, number - 1, mine->below, named->rules.callers) : 0);
    e.to = mine->context;
    k.edge = edges_record(&e, 1 + tb_config.calls_events);
    // the caller's context has what this one follows from
    if (from && named->rules.callers <= caller->rules.callers + 1) {
        k.node = mine->node;
        k.context = mine->context;
        known_add(&k);
    }
    return k.edge;
}

// ---- Zero, and requests to toggle ----

bool contexts_state(u32 i, u64 *first, u64 *end)
{
    if (!tb_config.contexts || i > nodes_used)
        return false;
    *first = i ? nodes[i - 1].owner : off_at;
    *end = *first + (i ? 2 : 1); // depth follows owner
    return true;
}

void contexts_toggle(struct thread *t, u64 base, const struct spool_frame *top)
{
    contexts_thaw(t->counters);
    for (u64 at = base; at <= (u64)top; at += tb_config.calls_frame)
        contexts_of((const struct spool_frame *)at)->flags ^= SPOOL_FRAME_OFF;
    contexts_settle(t, top);
}
