// SPDX-License-Identifier: MIT
//
// A reference that has missed L1, inline: levels.c makes of it what any levels need, vectorlevels.c
// the same for levels of known shapes, by vectors.
#ifndef QUERN_ENGINE_LEVELS_PRIV_H
#define QUERN_ENGINE_LEVELS_PRIV_H

#include "engine/callgraph/calls.h"
#include "engine/count/levels.h"
#include "engine/count/vector.h"
#include "engine/objects/objects.h"
#include "engine/spool/config.h"
#include "engine/spool/insnids.h"
#include "engine/spool/spooler.h"
#include "sim/core.h"
#include "sim/level.h"
#include "sim/prefetch.h"

#define LEVELS_INLINE static inline __attribute__((always_inline))

// What LL is to do with a line.
enum ll_kind {
    LL_USE,  // a reference missed L2
    LL_AND,  // the same reference, to its second line
    LL_LOAD, // L2 loads it ahead
    LL_PUT,  // L2 has replaced it
};

struct ll_task {
    u64 line;
    u32 counter; // of a miss of LL
    u32 kind;
};

// So many wait at most, of which half are done at a time: LL's sets are in the host's memory, and
// the lines of many of them can be loaded meanwhile.
#define LEVELS_WAITING 64u

#define LEVELS_APART 128u // bytes: no two lines of the host's cache, nor pairs of them

// Each thread's. Two processors may simulate one thread's levels: what one of them writes is apart
// from what the other one does.
struct levels {
    struct sim_level l2, itlb, dtlb, stlb;
    u8 before_asked[LEVELS_APART];
    struct sim_prefetch prefetch;
    u32 *asked_regions; // vectorlevels_regions()
    u64 page[2];        // of the last reference to data, and of the last fetch, plus one; 0: none
    u8 after_asked[LEVELS_APART];
    // What LL has not done yet, in order, at the remainders by LEVELS_WAITING: what L2 does next
    // does not depend on it. A reference's misses of LL count once: `missed`. In the heap, so that
    // whoever replays the references of a thread that was killed goes on with it.
    struct ll_task task[LEVELS_WAITING];
    u32 given, done;
    bool missed;
    void (*take)(void), (*drop)(void); // levels_apart()
    struct levels_found found;
    // Another DTLB, for levels_translation(); the last two different pages that it was asked for,
    // plus one, the latest first; and the one of these that it holds as used last.
    struct sim_level timed;
    u64 timed_page[2], timed_last;
};

// Where a reference's counters are, from that of its L1 miss on.
struct levels_places {
    u32 l2, ll, tlb, stlb, used, wasted;
};

// What all threads have.
struct levels_all {
    bool on, has_l2, has_tlb, loads_ahead;
    bool victim;           // LL is filled with the lines that L2 replaces
    bool has_one, several; // L2 of a thread, at any time
    bool physical;         // L2 and LL find lines by places in memory
    bool regions;          // instructions are asked for
    u32 line_shift;        // of LL
    struct sim_geometry g2, gl, gi, gd, gs;
    enum sim_replacement r2, rl;
    struct sim_level ll;
    struct levels *serial; // --serialize-threads: those of all threads
    struct levels_places fetch, data;
};
extern struct levels_all levels_all;

// What the compiler is to know of levels; known: nothing.
struct levels_shapes {
    bool known;
    enum sim_level_kind l2, ll;
    bool power; // the sets of each are a power of two
};

// ---- Where an address is ----

// Programs have addresses of 47 bits. Pages beyond these, of which there are more than there are
// places, get a place of half as many behind the rest: two may share one.
#define LEVELS_PAGE_BITS 35u
#define LEVELS_PAGES     (1ul << LEVELS_PAGE_BITS)
#define LEVELS_ALL_PAGES (LEVELS_PAGES + LEVELS_PAGES / 2)
#define LEVELS_MIXER     0x9e3779b97f4a7c15ul // odd

// Each step can be undone, so no two pages have the same.
LEVELS_INLINE u64 levels_page_mixed(u64 page)
{
    page ^= page >> (LEVELS_PAGE_BITS / 2 + 1);
    page = page * LEVELS_MIXER & (LEVELS_PAGES - 1);
    return page ^ page >> (LEVELS_PAGE_BITS / 2 + 1);
}

LEVELS_INLINE u64 levels_page_of(u64 addr)
{
    u64 page = addr / PAGE_SIZE;

    if (UNLIKELY(page >= LEVELS_PAGES))
        return LEVELS_PAGES + (page * LEVELS_MIXER >> (64 - LEVELS_PAGE_BITS + 1));
    return page;
}

// Where a page is for L2 and LL. In memory a page lies anywhere, each at a place of its own and
// always at the same.
LEVELS_INLINE u64 levels_place_of(u64 page, u64 addr)
{
    if (levels_all.physical && LIKELY(page < LEVELS_PAGES))
        page = levels_page_mixed(page);
    return page * PAGE_SIZE | (addr & (PAGE_SIZE - 1));
}

// The same of `at`, where that of addr is known.
LEVELS_INLINE u64 levels_place_near(u64 at, u64 addr, u64 place)
{
    if (LIKELY(PAGE_DOWN(at) == PAGE_DOWN(addr)))
        return PAGE_DOWN(place) | (at & (PAGE_SIZE - 1));
    return levels_place_of(levels_page_of(at), at);
}

// ---- LL ----

// What is the same for all lines of a reference.
struct levels_reference {
    struct thread *t;
    struct levels *own;
    u32 code;  // the instruction, where regions are asked
    u64 fetch; // 0 or 1: a word, since a byte that is stored and read as one waits for the host
    u32 ll_counter;
    bool now;
    u32 asked;   // LL_TLB_ASKED, LL_STREAMS_ASKED, and what streams have said of the next line
    u32 regions; // and what regions have said of it
    void (*half)(struct thread *t, struct levels *own); // does half of what waits for LL
};

LEVELS_INLINE struct sim_shape levels_ll_shape(struct levels_shapes v)
{
    return sim_shape_of(&levels_all.ll, v.ll, false, true, v.power);
}

// Whether a line misses LL; fills it unless L2's victims do.
LEVELS_INLINE bool levels_ll_misses(u64 line, struct levels_shapes v)
{
    struct sim_level *ll = &levels_all.ll;
    u64 old;

    if (!v.known)
        return levels_all.victim ? !sim_level_take(ll, line) : !sim_level_refer(ll, line, &old);
    if (levels_all.victim)
        return !sim_level_take_as(ll, sim_level_place_of(ll, line, levels_ll_shape(v)),
                                  levels_ll_shape(v));
    return !sim_level_refer_as(ll, line, &old, levels_ll_shape(v));
}

// L2 has replaced a line. It was not in LL, which gives to L2 what that takes; but another thread's
// L2 may have had it, too.
LEVELS_INLINE void levels_ll_put(u64 line, struct levels_shapes v)
{
    struct sim_level *ll = &levels_all.ll;
    u64 old;

    if (!v.known)
        sim_level_put(ll, line);
    else if (levels_all.several)
        sim_level_refer_as(ll, line, &old, levels_ll_shape(v));
    else
        sim_level_fill_as(ll, sim_level_place_of(ll, line, levels_ll_shape(v)), 0,
                          levels_ll_shape(v));
}

// Returns whether the line was missing.
LEVELS_INLINE bool levels_ll_do(struct thread *t, struct levels *own, const struct ll_task *task,
                                struct levels_shapes v)
{
    u32 kind = task->kind;
    bool missed;

    if (kind == LL_PUT) {
        levels_ll_put(task->line, v);
        return false;
    }
    missed = levels_ll_misses(task->line, v);
    if (kind == LL_LOAD)
        return missed;
    if (missed && !(kind == LL_AND && own->missed))
        calls_count(t, task->counter, 1);
    own->missed = missed || (kind == LL_AND && own->missed);
    return missed;
}

// The n oldest.
LEVELS_INLINE void levels_ll_oldest(struct thread *t, struct levels *own, u32 n,
                                    struct levels_shapes v)
{
    if (own->take)
        own->take();
    for (u32 i = 0; i < n; i++, own->done++)
        levels_ll_do(t, own, &own->task[own->done % LEVELS_WAITING], v);
    if (own->drop)
        own->drop();
}

// now: returns whether the line is missing; else false.
LEVELS_INLINE bool levels_ll_give(const struct levels_reference *f, struct ll_task task,
                                  struct levels_shapes v)
{
    struct levels *own = f->own;

    if (f->now)
        return levels_ll_do(f->t, own, &task, v);
    own->task[own->given++ % LEVELS_WAITING] = task;
    if (v.known)
        sim_level_ahead_as(&levels_all.ll, task.line, levels_ll_shape(v));
    else
        sim_level_ahead(&levels_all.ll, task.line);
    if (UNLIKELY(own->given - own->done >= LEVELS_WAITING))
        f->half(f->t, own);
    return false;
}

// ---- A reference ----

// One word: helpers use no string instruction, by which compilers clear more.
struct levels_result {
    u8 l2, ll, tlb, stlb; // 0 or 1; ll is not said if LL does it later
    u8 used, wasted;
};

// old: what L2 has replaced, or 0.
LEVELS_INLINE void levels_l2_replaced(const struct levels_reference *f, u64 old,
                                      struct levels_result *r, struct levels_shapes v)
{
    if (old & SIM_LEVEL_MARK)
        r->wasted++;
    if (levels_all.victim && old)
        levels_ll_give(f, (struct ll_task){ sim_level_line(old), 0, LL_PUT }, v);
}

static inline void levels_note_ahead(struct levels *own, u64 addr, bool missed)
{
    struct levels_found *f = &own->found;

    if (f->n == LEVELS_AHEAD)
        return;
    f->ahead[f->n].addr = addr;
    f->ahead[f->n++].level = missed ? CORE_AT_MEMORY : CORE_AT_LL;
}

LEVELS_INLINE struct sim_shape levels_l2_shape(const struct levels *own, struct levels_shapes v)
{
    return sim_shape_of(&own->l2, v.l2, true, true, v.power);
}

// What streams have named, in 9 bits: how many, up to 3; whether downwards, or, of none, whether
// the page begins; the first.
LEVELS_INLINE u32 levels_stream_bits(struct sim_ahead a)
{
    return a.n | ((a.n ? a.direction < 0 : a.begins) ? 4u : 0) | (u32)(a.first & 63) << 3;
}

LEVELS_INLINE struct sim_ahead levels_stream(u32 asked, u32 regions)
{
    u32 bits = asked >> LL_STREAM_BIT;

    return (struct sim_ahead){ .n = bits & 3,
                               .first = bits >> 3 & 63,
                               .direction = bits & 4 ? -1 : 1,
                               .begins = (bits & 7) == 4,
                               .region = regions & LL_REGION_MASK };
}

// The lines of L2 that a reference to addr loads ahead: by the program's addresses. They are no
// misses.
LEVELS_INLINE void levels_load_ahead(const struct levels_reference *f, u64 addr, u64 place,
                                     bool missed, struct levels_result *r, struct levels_shapes v)
{
    struct levels *own = f->own;
    u32 shift = own->l2.line_shift, n;
    u64 lines[SIM_AHEAD_MAX];

    if (f->asked & LL_STREAMS_ASKED)
        n = sim_prefetch_lines(&own->prefetch, addr >> shift, missed,
                               levels_stream(f->asked, f->regions), lines);
    else
        n = sim_prefetch(&own->prefetch, addr >> shift, f->code, missed, lines);
    for (u32 i = 0; i < n; i++) {
        u64 at = lines[i] << shift, there = levels_place_near(at, addr, place), old;
        struct ll_task task = { there >> levels_all.line_shift, 0, LL_LOAD };
        bool absent;

        if (v.known ? !sim_level_load_as(&own->l2, there >> shift, &old, levels_l2_shape(own, v))
                    : !sim_level_load(&own->l2, there >> shift, &old))
            continue;
        absent = levels_ll_give(f, task, v);
        if (f->now)
            levels_note_ahead(own, at, absent);
        levels_l2_replaced(f, old, r, v);
    }
}

LEVELS_INLINE void levels_l2_ref(const struct levels_reference *f, u64 addr, u64 place,
                                 struct levels_result *r, struct levels_shapes v)
{
    u64 line = place >> f->own->l2.line_shift, old;
    enum sim_use use = v.known
                           ? sim_level_refer_as(&f->own->l2, line, &old, levels_l2_shape(f->own, v))
                           : sim_level_refer(&f->own->l2, line, &old);

    if (use == SIM_ABSENT) {
        struct ll_task task = { place >> levels_all.line_shift, f->ll_counter,
                                r->l2 ? LL_AND : LL_USE };

        r->l2 = 1;
        if (levels_ll_give(f, task, v))
            r->ll = 1;
        levels_l2_replaced(f, old, r, v);
    }
    r->used += use == SIM_FIRST_USE;
    if (levels_all.loads_ahead && !f->fetch)
        levels_load_ahead(f, addr, place, use == SIM_ABSENT, r, v);
}

LEVELS_INLINE bool levels_tlb_misses(struct sim_level *tlb, u64 page, struct levels_shapes v)
{
    u64 old;

    if (v.known && tlb->kind == SIM_LEVEL_TABLE)
        return !sim_level_refer_as(tlb, page, &old,
                                   sim_shape_of(tlb, SIM_LEVEL_TABLE, false, false, true));
    if (v.known && tlb->kind == SIM_LEVEL_ORDER_16)
        return !sim_level_refer_as(tlb, page, &old,
                                   sim_shape_of(tlb, SIM_LEVEL_ORDER_16, false, true, false));
    if (v.known && tlb->kind == SIM_LEVEL_ORDER_8)
        return !sim_level_refer_as(tlb, page, &old,
                                   sim_shape_of(tlb, SIM_LEVEL_ORDER_8, false, true, false));
    return !sim_level_refer(tlb, page, &old);
}

LEVELS_INLINE void levels_tlb_ref(struct levels *own, u64 page, u64 fetch, struct levels_result *r,
                                  struct levels_shapes v)
{
    if (page + 1 == own->page[fetch]) // it is the one used last
        return;
    own->page[fetch] = page + 1;
    if (!levels_tlb_misses(fetch ? &own->itlb : &own->dtlb, page, v))
        return;
    r->tlb = 1;
    if (levels_tlb_misses(&own->stlb, page, v))
        r->stlb = 1;
}

LEVELS_INLINE void levels_line_ref(const struct levels_reference *f, u64 addr,
                                   struct levels_result *r, struct levels_shapes v)
{
    u64 page = levels_page_of(addr), place = levels_place_of(page, addr);

    if (levels_all.has_tlb && !(f->asked & LL_TLB_ASKED))
        levels_tlb_ref(f->own, page, f->fetch, r, v);
    if (levels_all.has_l2)
        levels_l2_ref(f, addr, place, r, v);
    else if (levels_ll_misses(place >> levels_all.line_shift, v))
        r->ll = 1;
}

static inline void levels_note_found(struct levels *own, const struct levels_result *r)
{
    own->found.level = r->ll ? CORE_AT_MEMORY : r->l2 ? CORE_AT_LL : CORE_AT_L2;
    own->found.translation = r->stlb ? CORE_TLB_WALK : r->tlb ? CORE_TLB_SECOND : CORE_TLB_HIT;
}

LEVELS_INLINE void levels_add(struct thread *t, u32 counter, u32 n)
{
    if (n)
        calls_count(t, counter, n);
}

// size: with LL_FETCH and what has been asked beforehand; regions: the rest of that.
LEVELS_INLINE void levels_reference(struct thread *t, u64 addr, u32 size, u32 counter, bool now,
                                    u32 regions, void (*half)(struct thread *, struct levels *),
                                    struct levels_shapes v)
{
    u64 fetch = (size & LL_FETCH) != 0;
    const struct levels_places *p = fetch ? &levels_all.fetch : &levels_all.data;
    struct levels_reference f = { .t = t,
                                  .own = t->levels,
                                  .fetch = fetch,
                                  .ll_counter = counter + p->ll,
                                  .now = now,
                                  .asked = size,
                                  .regions = regions,
                                  .half = half };
    u32 shift = levels_all.has_l2 ? t->levels->l2.line_shift : levels_all.line_shift;
    u64 end = addr + (size & ~LL_FLAGS) - 1;
    struct levels_result r = { .tlb = (size & LL_TLB_MISSED) != 0,
                               .stlb = (size & LL_TLB_WALKED) != 0 };

    if (levels_all.regions && !fetch && !(size & LL_STREAMS_ASKED))
        f.code = insnids_first(counter);
    levels_line_ref(&f, addr, &r, v);
    if (UNLIKELY(addr >> shift != end >> shift)) {
        f.asked = (size & (LL_TLB_ASKED | LL_STREAMS_ASKED)) |
                  (size & LL_FLAGS & ~(LL_TLB_ASKED | LL_STREAMS_ASKED)) >> LL_STREAM_BITS;
        f.regions >>= LL_REGION_BITS;
        levels_line_ref(&f, end, &r, v);
    }
    if (now && t->levels)
        levels_note_found(t->levels, &r);
    calls_count(t, counter, 1);
    levels_add(t, counter + p->l2, r.l2);
    if (!levels_all.has_l2)
        levels_add(t, counter + p->ll, r.ll);
    levels_add(t, counter + p->tlb, r.tlb);
    levels_add(t, counter + p->stlb, r.stlb);
    levels_add(t, counter + p->used, r.used);
    levels_add(t, counter + p->wasted, r.wasted);
    if (now)
        objects_missed(t, addr, counter, r.l2, r.ll);
}

// What of a reference does not depend on L2, for levels_reference(): TLBs, streams and regions.
LEVELS_INLINE u32 levels_ask(struct levels *own, u64 addr, u32 size, u32 counter, u32 *regions,
                             struct levels_shapes v)
{
    bool streams =
        levels_all.loads_ahead && sim_prefetch_pages(&own->prefetch) && own->prefetch.batch <= 3;
    u32 code = 0;
    u32 shift = own->l2.line_shift, asked = streams ? LL_STREAMS_ASKED : 0, bits = LL_STREAM_BIT;
    u64 last = addr + (size & ~LL_FLAGS) - 1;
    bool two = addr >> shift != last >> shift;
    struct levels_result r = { 0 };

    *regions = 0;
    if (levels_all.regions && !(size & LL_FETCH))
        code = insnids_first(counter);
    for (u32 i = 0; i <= two; i++, addr = last, bits += LL_STREAM_BITS) {
        u64 page = levels_page_of(addr);

        if (levels_all.has_tlb)
            levels_tlb_ref(own, page, (size & LL_FETCH) != 0, &r, v);
        if (streams && !(size & LL_FETCH)) {
            struct sim_ahead named = sim_page_ahead(&own->prefetch, addr >> shift, code);

            asked |= levels_stream_bits(named) << bits;
            *regions |= (u32)named.region << i * LL_REGION_BITS;
        }
    }
    if (levels_all.has_tlb)
        asked |= LL_TLB_ASKED;
    return asked | (r.tlb ? LL_TLB_MISSED : 0) | (r.stlb ? LL_TLB_WALKED : 0);
}

#endif
