// SPDX-License-Identifier: MIT
// Misses by object (objects.h).
#include "engine/objects/objects.h"

#include "engine/base/cpu.h"
#include "engine/callgraph/calls.h"
#include "engine/callgraph/frames.h"
#include "engine/objects/alloc.h"
#include "engine/objects/cells.h"
#include "engine/objects/lifetimes.h"
#include "engine/objects/lineuse.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pages.h"
#include "engine/objects/ranges.h"
#include "engine/objects/sharing.h"
#include "engine/objects/walks.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"

static const u8 *owner; // of counters: their events

void objects_thread_init(struct thread *t)
{
    if (!tb_config.data)
        return;
    objtable_thread_init(t);
    alloc_thread_init(t);
}

// *block: it is in one.
static void look_up(const struct thread *t, u64 addr, u64 at, struct found *out, bool *block)
{
    struct ranges_span span = { 0, ~0ul };

    *block = alloc_find(addr, at, t->slot, out) != 0;
    if (!*block)
        mappings_find(addr, at, t->slot, out);
    if (pages_wants(addr, at)) {
        if (*block && out->start != FOUND_UNKNOWN && out->end - out->start < PAGE_SIZE)
            span = (struct ranges_span){ out->start, out->end }; // the page has others
        else
            alloc_span(addr, &span);
        if (!*block && span.end - span.start >= PAGE_SIZE)
            mappings_span(addr, &span);
        pages_keep(addr, span.start, span.end, out, *block);
    }
}

static u64 time_of(const struct thread *t)
{
    return tb_config.recording ? t->objects_at : objtable_now();
}

// Whether it is in a block.
static bool find(const struct thread *t, u64 addr, u64 at, struct found *out)
{
    bool block;

    if (!pages_find(addr, at, out, &block))
        look_up(t, addr, at, out, &block);
    return block;
}

static u32 object_at(const struct thread *t, u64 addr, u64 *start)
{
    struct found found;
    bool block = find(t, addr, time_of(t), &found);

    *start = block ? lifetimes_start(&found) : found.start;
    return found.object;
}

static u32 object_fetched(const struct thread *t, u64 addr, bool *waits)
{
    struct found found;

    *waits = !find(t, addr, time_of(t), &found) && alloc_waits(t);
    return found.object;
}

void objects_init(void)
{
    u64 totals;

    if (!tb_config.data)
        return;
    owner = calls_owner(&totals);
    objtable_init();
    pages_init();
    ranges_init();
    cells_init();
    lifetimes_init();
    sharing_find = object_at;
    lineuse_find = object_fetched;
    sharing_init();
    mappings_init();
    alloc_init();
}

bool objects_find(const struct thread *t, u64 at, struct cells_miss *miss, struct found *found)
{
    bool block = find(t, miss->addr, at, found);

    miss->object = found->object;
    miss->start = block ? lifetimes_start(found) : found->start;
    return block;
}

void objects_count(const struct thread *t, u64 at, struct cells_miss *miss)
{
    struct spool_data_count *c;
    struct found found;
    bool waits = false, block = objects_find(t, at, miss, &found);

    if (!block)
        waits = alloc_missed(t, miss);
    c = objtable_count(miss->counter, miss->object, miss->l2, miss->ll);
    if (block)
        lifetimes_missed(&found, miss->addr);
    if (!waits) {
        walks_step(t, objtable_walk(c), miss->addr);
        cells_count(miss);
    }
}

// Apart, so that no initializer of it comes before the direction flag is cleared.
static __attribute__((noinline)) void count(const struct thread *t, struct cells_miss *miss)
{
    objtable_lock();
    objects_count(t, time_of(t), miss);
    objtable_unlock();
}

bool objects_is_data(u32 counter, bool *write)
{
    u32 event = owner[counter];

    *write = event == frames.place[SPOOL_E_D1MW];
    return *write || event == frames.place[SPOOL_E_D1MR];
}

void objects_miss(const struct thread *t, u64 addr, u32 counter, u32 l2, u32 ll)
{
    struct cells_miss miss;
    bool direction = false;

    if (!objects_is_data(counter, &miss.write))
        return;
    if (!tb_config.recording) // else it is a replay's call, no helper's
        direction = cpu_clear_direction();
    miss.addr = addr;
    miss.counter = counter;
    miss.l2 = l2 != 0;
    miss.ll = ll != 0;
    count(t, &miss);
    cpu_restore_direction(direction);
}
