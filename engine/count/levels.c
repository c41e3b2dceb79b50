// SPDX-License-Identifier: MIT
//
// L2, LL and TLBs of a machine (levels.h).
#include "engine/count/levels.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/count/levels_priv.h"
#include "engine/thread/threads.h"

_Static_assert((int)SPOOL_LRU == (int)SIM_LRU && (int)SPOOL_PLRU == (int)SIM_PLRU &&
                   (int)SPOOL_SRRIP == (int)SIM_SRRIP && (int)SPOOL_DRRIP == (int)SIM_DRRIP,
               "the same numbers");

_Static_assert(LEVELS_AHEAD == 2 * SIM_AHEAD_MAX, "none is left out");

struct levels_all levels_all;

static const struct levels_shapes any = { false, SIM_LEVEL_SETS, SIM_LEVEL_SETS, false };

static struct sim_geometry geometry(const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    return s;
}

bool levels_are_on(void)
{
    return levels_all.on;
}

// Of which no line's number reaches this.
static u64 lines_of(const struct sim_geometry *g)
{
    return LEVELS_ALL_PAGES * PAGE_SIZE / g->line;
}

static void make(struct sim_level *l, const struct sim_geometry *g, enum sim_replacement r)
{
    sim_level_init_zeroed(l, g, r, lines_of(g), heap_large(sim_level_bytes(g, r, lines_of(g))));
}

static void empty(const struct sim_level *l, const struct sim_geometry *g)
{
    sys_madvise((u64)l->tags, PAGE_UP(sim_level_bytes(g, l->replacement, lines_of(g))),
                MADV_DONTNEED);
}

static struct levels_places places_of(enum spool_ref kind)
{
    bool fetch = kind == SPOOL_REF_FETCH;
    struct levels_places p = {
        spool_ref_place(kind, fetch ? SPOOL_E_I2MR : SPOOL_E_D2MR, spool->flags),
        spool_ref_place(kind, fetch ? SPOOL_E_ILMR : SPOOL_E_DLMR, spool->flags),
        spool_ref_place(kind, fetch ? SPOOL_E_ITM : SPOOL_E_DTM, spool->flags),
        spool_ref_place(kind, SPOOL_E_STM, spool->flags),
        spool_ref_place(kind, SPOOL_E_PFU, spool->flags),
        spool_ref_place(kind, SPOOL_E_PFW, spool->flags),
    };

    return p;
}

void levels_init(void)
{
    const struct spool_machine *m = &spool->machine;

    memset(&levels_all, 0, sizeof(levels_all));
    levels_all.has_l2 = (spool->flags & SPOOL_F_L2) != 0;
    levels_all.has_tlb = (spool->flags & SPOOL_F_TLB) != 0;
    levels_all.loads_ahead = levels_all.has_l2 && (spool->flags & SPOOL_F_PREFETCH);
    levels_all.on = levels_all.has_l2 || levels_all.has_tlb || m->ll_replacement != SPOOL_LRU;
    if (!levels_all.on)
        return;
    levels_all.victim = levels_all.has_l2 && m->ll_filling == SPOOL_FILL_VICTIM;
    levels_all.physical = m->index == SPOOL_INDEX_PHYSICAL;
    levels_all.fetch = places_of(SPOOL_REF_FETCH);
    levels_all.data = places_of(SPOOL_REF_READ); // those of a write have the same places
    levels_all.gl = geometry(&spool->ll);
    levels_all.rl = (enum sim_replacement)m->ll_replacement;
    levels_all.line_shift = (u32)__builtin_ctz(spool->ll.line);
    make(&levels_all.ll, &levels_all.gl, levels_all.rl);
    levels_all.g2 = geometry(&m->l2);
    levels_all.r2 = (enum sim_replacement)m->l2_replacement;
    levels_all.gi = geometry(&m->itlb);
    levels_all.gd = geometry(&m->dtlb);
    levels_all.gs = geometry(&m->stlb);
    levels_all.regions = levels_all.loads_ahead && m->regions;
    if (levels_all.regions)
        insnids_init();
}

static void prefetch_init(struct sim_prefetch *p)
{
    const struct spool_machine *m = &spool->machine;

    memset(p, 0, sizeof(*p));
    p->distance = m->stream_distance;
    p->batch = m->stream_batch;
    p->dense = m->stream_dense;
    p->reach = m->stream_reach;
    p->pairs = m->pairs != 0;
    p->next = m->next_line != 0;
    p->across = m->stream_across;
    p->has_regions = m->regions != 0;
}

static void own_init(struct levels *own)
{
    prefetch_init(&own->prefetch);
    own->given = own->done = 0;
    own->take = own->drop = NULL;
    own->page[0] = own->page[1] = 0;
    own->timed_page[0] = own->timed_page[1] = own->timed_last = 0;
}

static void own_make(struct levels *own)
{
    own_init(own);
    if (levels_all.regions)
        own->asked_regions = heap_pages(LEVELS_PENDING * sizeof(u32));
    if (levels_all.has_l2)
        make(&own->l2, &levels_all.g2, levels_all.r2);
    if (!levels_all.has_tlb)
        return;
    make(&own->itlb, &levels_all.gi, SIM_LRU);
    make(&own->dtlb, &levels_all.gd, SIM_LRU);
    make(&own->stlb, &levels_all.gs, SIM_LRU);
    if (tb_config.core)
        make(&own->timed, &levels_all.gd, SIM_LRU);
}

static void own_empty(struct levels *own)
{
    own_init(own);
    if (levels_all.has_l2)
        empty(&own->l2, &levels_all.g2);
    if (!levels_all.has_tlb)
        return;
    empty(&own->itlb, &levels_all.gi);
    empty(&own->dtlb, &levels_all.gd);
    empty(&own->stlb, &levels_all.gs);
    if (tb_config.core)
        empty(&own->timed, &levels_all.gd);
}

void levels_thread_init(struct thread *t)
{
    if (!levels_all.has_l2 && !levels_all.has_tlb)
        return;
    if (t->levels) {
        if (!levels_all.serial)
            own_empty(t->levels);
        return;
    }
    if (levels_all.serial) {
        t->levels = levels_all.serial;
        return;
    }
    levels_all.several = levels_all.has_one;
    levels_all.has_one = true;
    t->levels = heap_alloc(sizeof(*t->levels));
    own_make(t->levels);
    if (spool->flags & SPOOL_F_SERIALIZE)
        levels_all.serial = t->levels;
}

void levels_clear(void)
{
    if (!levels_all.on)
        return;
    empty(&levels_all.ll, &levels_all.gl);
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->levels)
            own_empty(t->levels);
}

bool levels_can_wait(void)
{
    return levels_all.has_l2 && !tb_config.data;
}

// Where LL does not wait its sets are loaded, too, though L2 may have the line: they are as far
// away as memory is.
void levels_ahead(const struct thread *t, u64 addr)
{
    u64 place = levels_place_of(levels_page_of(addr), addr), line = place >> levels_all.line_shift;

    if (!levels_can_wait())
        sim_level_ahead(&levels_all.ll, line);
    if (!levels_all.has_l2)
        return;
    line = place >> t->levels->l2.line_shift;
    sim_level_ahead(&t->levels->l2, line);
    if (t->levels->prefetch.pairs)
        sim_level_ahead(&t->levels->l2, line ^ 1);
    if (t->levels->prefetch.next)
        sim_level_ahead(&t->levels->l2, line + 1);
}

// Programs refer to two pages in turn, their stack's and another one: these are in a TLB of two
// ways or more, which learns their order when a third one comes.
static bool is_recent(struct levels *own, u64 page)
{
    u64 *last = own->timed_page;

    if (page + 1 == last[0])
        return true;
    if (page + 1 == last[1] && levels_all.gd.assoc > 1) {
        last[1] = last[0];
        last[0] = page + 1;
        return true;
    }
    if (last[0] != own->timed_last)
        levels_tlb_misses(&own->timed, last[0] - 1, any);
    last[1] = last[0];
    last[0] = own->timed_last = page + 1;
    return false;
}

static u8 translation(struct levels *own, u64 page, bool missed)
{
    if (is_recent(own, page) || !levels_tlb_misses(&own->timed, page, any))
        return CORE_TLB_HIT;
    if (missed) // STLB has been asked
        return own->found.translation == CORE_TLB_WALK ? CORE_TLB_WALK : CORE_TLB_SECOND;
    return sim_level_has(&own->stlb, page) ? CORE_TLB_SECOND : CORE_TLB_WALK;
}

u8 levels_translation(struct thread *t, u64 addr, u32 size, bool missed)
{
    struct levels *own = t->levels;
    u64 first, last;
    u8 one, two;

    if (!levels_all.has_tlb)
        return CORE_TLB_HIT;
    first = levels_page_of(addr);
    last = levels_page_of(addr + size - 1);
    one = translation(own, first, missed);
    two = first == last ? one : translation(own, last, missed);
    return one > two ? one : two;
}

const struct levels_found *levels_found(const struct thread *t)
{
    return &t->levels->found;
}

static void do_half(struct thread *t, struct levels *own)
{
    levels_ll_oldest(t, own, LEVELS_WAITING / 2, any);
}

// No more than there can be, should the program have written there.
void levels_finish(struct thread *t)
{
    struct levels *own = t->levels;

    if (!own)
        return;
    if (own->given != own->done && own->given - own->done <= LEVELS_WAITING)
        levels_ll_oldest(t, own, own->given - own->done, any);
    own->done = own->given;
}

void levels_apart(struct thread *t, void (*take)(void), void (*drop)(void))
{
    t->levels->take = take;
    t->levels->drop = drop;
}

void levels_ref(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter)
{
    levels_finish(t);
    if (t->levels)
        t->levels->found.n = 0;
    levels_reference(t, addr, size | (fetch ? LL_FETCH : 0), counter, true, 0, do_half, any);
}

void levels_ref_later(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter)
{
    levels_reference(t, addr, size | (fetch ? LL_FETCH : 0), counter, false, 0, do_half, any);
}
