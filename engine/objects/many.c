// SPDX-License-Identifier: MIT
// Misses that wait for their objects (many.h). Most are in a page that is in one object, and of a
// pair of an instruction and an object that has missed lately: these take no search at all. Others
// are counted in steps, so that the host's misses of one overlap with those of others: which
// object, where its counts are noted, the counts.
//
// Before, each took the lock, whose atomic instructions wait for all stores before, and three
// searches (docs/design/090-data-objects.md).
#include "engine/objects/many.h"

#include "engine/objects/cells.h"
#include "engine/objects/found.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pages.h"
#include "engine/objects/walks.h"
#include "engine/spool/spooler.h"

#define MISSES 16u // that are counted in steps
#define CHUNK  64u // under one lock
#define AHEAD  16u // references whose pages are on their way into the host's cache

bool many_wait;

struct one {
    struct cells_miss miss;
    struct cells_at at;
    struct found found;
    struct objtable_pair *pair;
    struct many_ref *ref;
    bool block;
};

static void look_for(const struct thread *t, u64 at, struct one *o)
{
    struct cells_miss *miss = &o->miss;

    o->block = objects_find(t, at, miss, &o->found);
    o->pair = objtable_pair(miss->counter, miss->object);
    cells_place(miss, &o->at);
}

static bool is_known(const struct one *o)
{
    return objtable_is_pair(o->pair, o->miss.counter, o->miss.object);
}

// Whether it is in the cell of the pair's last miss, or in none.
static bool has_cell(const struct one *o)
{
    if (!o->at.counter)
        return true;
    return o->pair->cell.counter == o->at.counter && o->pair->cell.key == o->at.key;
}

// What is not known of it begins to be loaded: first where it is noted, then itself.
static void prefetch(const struct one *o, bool noted)
{
    bool known = is_known(o);

    if (!known && noted)
        objtable_prefetch_count(o->miss.counter, o->miss.object);
    else if (!known)
        objtable_prefetch(o->miss.counter, o->miss.object);
    if (known && has_cell(o))
        return;
    if (noted)
        cells_prefetch_cell(&o->at);
    else
        cells_prefetch(&o->at);
}

static void add_cell(const struct one *o)
{
    struct cells_kept *k = &o->pair->cell;

    if (!has_cell(o))
        cells_keep(k, &o->at);
    if (k->counter)
        cells_add(k, o->at.offset, 0, o->miss.ll);
}

// It has been counted by the code.
static void add(const struct thread *t, struct one *o)
{
    const struct cells_miss *miss = &o->miss;
    bool known = is_known(o) || objtable_keep(o->pair, miss->counter, miss->object);
    struct spool_data_count *walk = known ? objtable_add(o->pair, miss->ll) : NULL;

    if (o->block)
        lifetimes_missed(&o->found, miss->addr);
    walks_step(t, walk, miss->addr);
    if (!known)
        cells_count(miss);
    else if (o->at.counter)
        add_cell(o);
}

static void mark(struct many_ref *r)
{
    __atomic_store_n(&r->how, MANY_DONE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// A miss whose page is in one object, and whose pair and cell are kept. False: it is none.
static inline bool add_known(const struct thread *t, struct many_ref *r, u64 at, u32 line_shift)
{
    const struct pages_entry *e = pages_of(r->addr, at);
    struct spool_data_count *c;
    struct objtable_pair *p;
    u32 ll = r->how;
    u64 offset;

    if (!e || !pages_seen(e, r->addr))
        return false;
    p = objtable_pair(r->counter, e->object);
    if (!objtable_is_pair(p, r->counter, e->object) || !p->walk)
        return false;
    offset = r->addr - e->from;
    if (p->cell.has && (e->from > r->addr || !p->cell.counter ||
                        p->cell.key != cells_key(p->cell.large, offset)))
        return false;
    mark(r);
    c = objtable_count_at((p->count - 1) % SPOOL_DATA_COUNTS_MAX);
    c->l1++;
    c->ll += ll;
    c = objtable_count_at((p->walk - 1) % SPOOL_DATA_COUNTS_MAX);
    if (!walks_step_again(t, c, r->addr, line_shift))
        walks_step(t, c, r->addr);
    if (p->cell.has && !cells_add_again(&p->cell, offset, ll))
        cells_add(&p->cell, offset, 0, ll);
    return true;
}

static bool begin(const struct thread *t, struct many_ref *r, u64 at, struct one *o)
{
    struct cells_miss *miss = &o->miss;

    if (!objects_is_data(r->counter, &miss->write))
        return false;
    miss->addr = r->addr;
    miss->counter = r->counter;
    miss->l2 = 0;
    miss->ll = (u8)r->how;
    o->ref = r;
    look_for(t, at, o);
    return true;
}

static void finish(const struct thread *t, struct one *o, const struct one *end)
{
    for (const struct one *i = o; i < end; i++)
        prefetch(i, true);
    for (; o < end; o++) {
        mark(o->ref);
        add(t, o);
    }
}

// References up to `end`. Returns the time of the last.
static u64 count(const struct thread *t, struct many_ref *r, struct many_ref *end, u64 at)
{
    u32 line_shift = (u32)tb_config.d1_shift;
    struct one one[MISSES], *o = one;

    objtable_lock();
    for (; r < end; r++) {
        if (r + AHEAD < end)
            pages_ahead(r[AHEAD].addr);
        if (r->counter == MANY_TIME)
            at = r->addr;
        else if (r->how != MANY_DONE && (o > one || !add_known(t, r, at, line_shift)) && begin(t, r, at, o))
            prefetch(o++, false);
        if (o == one + MISSES || (r + 1 == end && o > one)) {
            finish(t, one, o);
            o = one;
        }
    }
    objtable_unlock();
    return at;
}

void many_settle(struct thread *t)
{
    struct many_ref *r = (struct many_ref *)((u8 *)t->self + TA_MANY), *end, *next;
    struct many_queue *q;
    u64 at;

    if (!many_has(t))
        return;
    q = many_queue(t);
    at = q->at;
    for (end = (struct many_ref *)q->end; r < end; r = next) {
        next = end - r > CHUNK ? r + CHUNK : end;
        at = count(t, r, next, at);
    }
    q->at = at;
    __atomic_store_n(&q->end, (u64)t->self + TA_MANY, __ATOMIC_RELEASE);
}

void many_time(struct thread *t, u64 at)
{
    t->objects_at = at;
    if (!many_wait)
        return;
    many_append(t, at, MANY_TIME, 0);
    if (many_is_full(t))
        many_settle(t);
}

void many_thread_init(struct thread *t)
{
    if (many_wait)
        *many_queue(t) = (struct many_queue){ (u64)t->self + TA_MANY, t->objects_at };
}

void many_init(bool levels)
{
    many_wait = tb_config.data && tb_config.recording && tb_config.stamps && !levels &&
                !(spool->flags & SPOOL_F_NO_HINTS);
}
