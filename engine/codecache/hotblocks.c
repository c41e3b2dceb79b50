// SPDX-License-Identifier: MIT
// Hot blocks (hotblocks.h). Each block has a counter of its executions anyway: that selects them.
#include "engine/codecache/hotblocks.h"

#include "engine/base/heap.h"
#include "engine/codecache/ibl.h"
#include "engine/codecache/links.h"
#include "engine/spool/config.h"

#define SHARE  4000u // a fragment is watched when it has one in so many of all executions ...
#define LEAST  200u  // ... and at least so many
#define ENOUGH 255u  // times seen: struct fragment has a byte for it

// All three by index; the counters are those of executions.
static struct fragment *const *fragments;
static u64 *bodies; // host addresses
static u32 *counters;

void hotblocks_init(struct fragment *const *by_index)
{
    if (!tb_config.watch)
        return;
    fragments = by_index;
    bodies = heap_pages(FRAGMENTS_MAX * sizeof(*bodies));
    counters = heap_pages(FRAGMENTS_MAX * sizeof(*counters));
}

void hotblocks_published(struct fragment *f)
{
    if (!tb_config.watch)
        return;
    if (tb_config.hotblocks_all && f->watch)
        f->flags |= FRAGMENT_WATCHED;
    bodies[f->index] = f->hpc;
    counters[f->index] = f->counter;
}

// Entries of a buffer: 64 KiB at most, so the low 16 bits of the pointer tell where it ends.
static u32 entries(void)
{
    return tb_config.hotblocks_all ? 1024 : 16384;
}

void hotblocks_begin(struct thread *t)
{
    if (!tb_config.watch)
        return;
    t->record_at = (u64)t->self + TA_HOT_END - entries() * sizeof(u32);
    t->bodies = bodies;
}

const u32 *hotblocks_full(const struct thread *t, u32 *n)
{
    u64 end = (u64)t->self + TA_HOT_END;

    *n = entries();
    return t->record_at == end ? (const u32 *)end - *n : NULL;
}

static void set_watched(struct fragment *f, bool watched)
{
    f->flags = watched ? f->flags | FRAGMENT_WATCHED : f->flags & ~(u32)FRAGMENT_WATCHED;
    links_repatch(f);
    ibl_move(f);
}

void hotblocks_most(struct thread *t, u32 n)
{
    u64 least = 0;

    for (u32 i = 0; i < n; i++)
        least += t->counters[counters[i]];
    least = least / SHARE > LEAST ? least / SHARE : LEAST;
    for (u32 i = 0; i < n; i++) {
        struct fragment *f;

        if (t->counters[counters[i]] < least)
            continue;
        f = fragments[i];
        if (!f->watch || (f->flags & (FRAGMENT_WATCHED | FRAGMENT_DEAD | FRAGMENT_PAST)))
            continue;
        f->seen = 0;
        set_watched(f, true);
    }
}

void hotblocks_seen(struct fragment *f, u32 k)
{
    if (!(f->flags & FRAGMENT_WATCHED))
        return;
    f->seen = (u8)(f->seen + k < ENOUGH ? f->seen + k : ENOUGH);
    if (f->seen == ENOUGH)
        set_watched(f, false);
}
