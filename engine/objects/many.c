// SPDX-License-Identifier: MIT
// Many misses at once (many.h): the usual way with records. In steps, so that the host's misses of
// one overlap with those of others: which object, where its counts are noted, the counts. What a
// pair of an instruction and an object has found last is kept: most misses take no search at all.
//
// Before, each took the lock, whose atomic instructions wait for all stores before, and three
// searches (docs/design/090-data-objects.md).
#include "engine/objects/many.h"

#include "engine/objects/cells.h"
#include "engine/objects/found.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/walks.h"

struct one {
    struct cells_miss miss;
    struct cells_at at;
    struct found found;
    struct objtable_pair *pair;
    u32 *size;
    bool block;
};

static void look_for(const struct thread *t, struct one *o)
{
    struct cells_miss *miss = &o->miss;

    o->block = objects_find(t, miss, &o->found);
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
    return o->pair->cell_counter == o->at.counter && o->pair->key == o->at.key;
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
    struct objtable_pair *p = o->pair;

    if (!has_cell(o)) {
        p->cell_counter = 0;
        p->cell = cells_find(&o->at);
        p->key = o->at.key;
        p->full = 0;
        __atomic_store_n(&p->cell_counter, p->cell ? o->at.counter : 0, __ATOMIC_RELEASE);
    }
    if (p->cell_counter)
        cells_add(p->cell, &o->miss, &o->at, &p->full);
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

void many_missed(const struct thread *t, const struct many_ref *ref, u32 n, u32 done)
{
    struct one many[MANY_MISSES], *end = many;
    u32 unknown = 0;

    objtable_lock();
    for (u32 i = 0; i < n; i++) {
        struct cells_miss *miss = &end->miss;

        if (!objects_is_data(ref[i].counter, &miss->write)) {
            *ref[i].size = done;
            continue;
        }
        miss->addr = ref[i].addr;
        miss->counter = ref[i].counter;
        miss->l2 = 0;
        miss->ll = (u8)ref[i].ll;
        end->size = ref[i].size;
        look_for(t, end);
        if (!is_known(end) || !has_cell(end)) {
            unknown++;
            prefetch(end, false);
        }
        end++;
    }
    for (const struct one *o = many; o < end && unknown; o++)
        prefetch(o, true);
    for (struct one *o = many; o < end; o++) {
        __atomic_store_n(o->size, done, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        add(t, o);
    }
    objtable_unlock();
}
