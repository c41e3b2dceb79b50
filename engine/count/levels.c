// SPDX-License-Identifier: MIT
//
// L2, LL and TLBs of a machine (levels.h).
#include "engine/count/levels.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/objects/objects.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "sim/core.h"
#include "sim/level.h"
#include "sim/prefetch.h"

_Static_assert((int)SPOOL_LRU == (int)SIM_LRU && (int)SPOOL_PLRU == (int)SIM_PLRU &&
                   (int)SPOOL_SRRIP == (int)SIM_SRRIP,
               "the same numbers");

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

// So many are on their way: LL's sets are in the host's memory, and the lines of many of them can
// be loaded at the same time.
#define WAITING 32u

// Each thread's.
struct levels {
    struct sim_level l2, itlb, dtlb, stlb;
    struct sim_prefetch prefetch;
    struct levels_found found;
    // What LL has not done yet, in order, at the remainders by WAITING: what L2 does next does not
    // depend on it. A reference's misses of LL count once: `missed`. In the heap, so that whoever
    // replays the references of a thread that was killed goes on with it.
    struct ll_task task[WAITING];
    u32 given, done;
    bool missed;
    u64 page[2]; // of the last reference to data, and of the last fetch, plus one; 0: none
    // Another DTLB, for levels_translation(); the last two different pages that it was asked for,
    // plus one, the latest first; and the one of these that it holds as used last.
    struct sim_level timed;
    u64 timed_page[2], timed_last;
};

// Where a reference's counters are, from that of its L1 miss on.
struct places {
    u32 l2, ll, tlb, stlb, used, wasted;
};

static struct {
    bool on, has_l2, has_tlb, loads_ahead;
    bool victim;    // LL is filled with the lines that L2 replaces
    bool physical;  // L2 and LL find lines by physical() addresses
    u32 line_shift; // of LL
    struct sim_geometry g2, gl, gi, gd, gs;
    enum sim_replacement r2, rl;
    struct sim_level ll;
    struct levels *serial; // --serialize-threads: those of all threads
    struct places fetch, data;
} all;

static struct sim_geometry geometry(const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    return s;
}

bool levels_are_on(void)
{
    return all.on;
}

static void make(struct sim_level *l, const struct sim_geometry *g, enum sim_replacement r)
{
    sim_level_init_zeroed(l, g, r, heap_large(sim_level_bytes(g, r)));
}

static void empty(const struct sim_level *l, const struct sim_geometry *g)
{
    sys_madvise((u64)l->tags, PAGE_UP(sim_level_bytes(g, l->replacement)), MADV_DONTNEED);
}

static struct places places_of(enum spool_ref kind)
{
    bool fetch = kind == SPOOL_REF_FETCH;
    struct places p = {
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

    memset(&all, 0, sizeof(all));
    all.has_l2 = (spool->flags & SPOOL_F_L2) != 0;
    all.has_tlb = (spool->flags & SPOOL_F_TLB) != 0;
    all.loads_ahead = all.has_l2 && (spool->flags & SPOOL_F_PREFETCH);
    all.on = all.has_l2 || all.has_tlb || m->ll_replacement != SPOOL_LRU;
    if (!all.on)
        return;
    all.victim = all.has_l2 && m->ll_filling == SPOOL_FILL_VICTIM;
    all.physical = m->index == SPOOL_INDEX_PHYSICAL;
    all.fetch = places_of(SPOOL_REF_FETCH);
    all.data = places_of(SPOOL_REF_READ); // those of a write have the same places
    all.gl = geometry(&spool->ll);
    all.rl = (enum sim_replacement)m->ll_replacement;
    all.line_shift = (u32)__builtin_ctz(spool->ll.line);
    make(&all.ll, &all.gl, all.rl);
    all.g2 = geometry(&m->l2);
    all.r2 = (enum sim_replacement)m->l2_replacement;
    all.gi = geometry(&m->itlb);
    all.gd = geometry(&m->dtlb);
    all.gs = geometry(&m->stlb);
}

static void prefetch_init(struct sim_prefetch *p)
{
    const struct spool_machine *m = &spool->machine;

    memset(p, 0, sizeof(*p));
    p->distance = m->stream_distance;
    p->batch = m->stream_batch;
    p->pairs = m->pairs != 0;
}

static void own_init(struct levels *own)
{
    prefetch_init(&own->prefetch);
    own->given = own->done = 0;
    own->page[0] = own->page[1] = 0;
    own->timed_page[0] = own->timed_page[1] = own->timed_last = 0;
}

static void own_make(struct levels *own)
{
    own_init(own);
    if (all.has_l2)
        make(&own->l2, &all.g2, all.r2);
    if (!all.has_tlb)
        return;
    make(&own->itlb, &all.gi, SIM_LRU);
    make(&own->dtlb, &all.gd, SIM_LRU);
    make(&own->stlb, &all.gs, SIM_LRU);
    if (tb_config.core)
        make(&own->timed, &all.gd, SIM_LRU);
}

static void own_empty(struct levels *own)
{
    own_init(own);
    if (all.has_l2)
        empty(&own->l2, &all.g2);
    if (!all.has_tlb)
        return;
    empty(&own->itlb, &all.gi);
    empty(&own->dtlb, &all.gd);
    empty(&own->stlb, &all.gs);
    if (tb_config.core)
        empty(&own->timed, &all.gd);
}

void levels_thread_init(struct thread *t)
{
    if (!all.has_l2 && !all.has_tlb)
        return;
    if (t->levels) {
        if (!all.serial)
            own_empty(t->levels);
        return;
    }
    if (all.serial) {
        t->levels = all.serial;
        return;
    }
    t->levels = heap_alloc(sizeof(*t->levels));
    own_make(t->levels);
    if (spool->flags & SPOOL_F_SERIALIZE)
        all.serial = t->levels;
}

void levels_clear(void)
{
    if (!all.on)
        return;
    empty(&all.ll, &all.gl);
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->levels)
            own_empty(t->levels);
}

#define PAGE_BITS 45u // of a page's number: 57 bits of address
#define PAGE_MASK ((1ul << PAGE_BITS) - 1)

// Where an address is in memory: a page lies anywhere, each at a place of its own and always at the
// same. Each step can be undone, so no two pages share a place.
static u64 physical(u64 addr)
{
    u64 page = addr / PAGE_SIZE & PAGE_MASK;

    if (!all.physical)
        return addr;
    page ^= page >> 23;
    page = page * 0x9e3779b97f4a7c15ul & PAGE_MASK;
    page ^= page >> 23;
    return page * PAGE_SIZE | (addr & (PAGE_SIZE - 1));
}

bool levels_can_wait(void)
{
    return all.has_l2 && !tb_config.data;
}

// Where LL does not wait its sets are loaded, too, though L2 may have the line: they are as far
// away as memory is.
void levels_ahead(const struct thread *t, u64 addr, u32 counter)
{
    u64 place = physical(addr), line = place >> all.line_shift;

    __builtin_prefetch(t->misses + counter, 1);
    if (!levels_can_wait())
        sim_level_ahead(&all.ll, line, false);
    if (!all.has_l2)
        return;
    line = place >> t->levels->l2.line_shift;
    sim_level_ahead(&t->levels->l2, line, false);
    if (t->levels->prefetch.pairs)
        sim_level_ahead(&t->levels->l2, line ^ 1, false);
}

// ---- LL ----

// Whether a line misses LL; fills it unless L2's victims do.
static bool ll_misses(u64 line)
{
    u64 old;

    if (all.victim)
        return !sim_level_take(&all.ll, line);
    return !sim_level_refer(&all.ll, line, &old);
}

// Returns whether the line was missing.
static bool ll_do(struct thread *t, struct levels *own, const struct ll_task *task)
{
    bool missed;

    if (task->kind == LL_PUT) {
        sim_level_put(&all.ll, task->line);
        return false;
    }
    missed = ll_misses(task->line);
    if (task->kind == LL_LOAD)
        return missed;
    if (missed && !(task->kind == LL_AND && own->missed))
        calls_count(t, task->counter, 1);
    own->missed = missed || (task->kind == LL_AND && own->missed);
    return missed;
}

static void do_oldest(struct thread *t, struct levels *own)
{
    ll_do(t, own, &own->task[own->done % WAITING]);
    own->done++;
}

// now: returns whether the line is missing; else false.
static bool ll_give(struct thread *t, struct levels *own, bool now, struct ll_task task)
{
    if (now)
        return ll_do(t, own, &task);
    if (own->given - own->done >= WAITING)
        do_oldest(t, own);
    own->task[own->given % WAITING] = task;
    own->given++;
    sim_level_ahead(&all.ll, task.line, task.kind == LL_PUT);
    return false;
}

// No more than there can be, should the program have written there.
static void ll_do_all(struct thread *t, struct levels *own)
{
    for (u32 i = 0; i < WAITING && own->given != own->done; i++)
        do_oldest(t, own);
    own->done = own->given;
}

// ---- A reference ----

// One word: helpers use no string instruction, by which compilers clear more.
struct result {
    u8 l2, ll, tlb, stlb; // 0 or 1; ll is not said if LL does it later
    u8 used, wasted;
};

// What is the same for all lines of a reference.
struct reference {
    struct thread *t;
    struct levels *own;
    u32 ll_counter;
    bool fetch, now;
};

// old: what L2 has replaced, or 0.
static void l2_replaced(const struct reference *f, u64 old, struct result *r)
{
    if (old & SIM_LEVEL_MARK)
        r->wasted++;
    if (all.victim && old)
        ll_give(f->t, f->own, f->now, (struct ll_task){ sim_level_line(old), 0, LL_PUT });
}

// place: in the page of addr.
static void note_ahead(struct levels *own, u64 addr, u64 place, bool missed)
{
    struct levels_found *f = &own->found;

    if (f->n == LEVELS_AHEAD)
        return;
    f->ahead[f->n].addr = PAGE_DOWN(addr) | (place & (PAGE_SIZE - 1));
    f->ahead[f->n++].level = missed ? CORE_AT_MEMORY : CORE_AT_LL;
}

// The lines of L2 that a reference to addr, in `line`, loads ahead. They are no misses, and in the
// page of addr.
static void load_ahead(const struct reference *f, u64 addr, u64 line, bool missed, struct result *r)
{
    struct levels *own = f->own;
    u64 lines[SIM_BATCH_MAX + 1];
    u32 n = sim_prefetch(&own->prefetch, line, missed, lines);

    for (u32 i = 0; i < n; i++) {
        u64 place = lines[i] << own->l2.line_shift, old;
        bool absent;

        if (!sim_level_load(&own->l2, lines[i], &old))
            continue;
        absent =
            ll_give(f->t, own, f->now, (struct ll_task){ place >> all.line_shift, 0, LL_LOAD });
        if (f->now)
            note_ahead(own, addr, place, absent);
        l2_replaced(f, old, r);
    }
}

static void l2_ref(const struct reference *f, u64 addr, struct result *r)
{
    u64 place = physical(addr), line = place >> f->own->l2.line_shift;
    u64 old;
    enum sim_use use = sim_level_refer(&f->own->l2, line, &old);

    if (use == SIM_ABSENT) {
        struct ll_task task = { place >> all.line_shift, f->ll_counter, r->l2 ? LL_AND : LL_USE };

        r->l2 = 1;
        if (ll_give(f->t, f->own, f->now, task))
            r->ll = 1;
        l2_replaced(f, old, r);
    }
    r->used += use == SIM_FIRST_USE;
    if (all.loads_ahead && !f->fetch)
        load_ahead(f, addr, line, use == SIM_ABSENT, r);
}

static bool tlb_misses(struct sim_level *tlb, u64 page)
{
    u64 old;

    return !sim_level_refer(tlb, page, &old);
}

static void tlb_ref(struct levels *own, u64 addr, bool fetch, struct result *r)
{
    u64 page = addr >> own->stlb.line_shift;

    if (page + 1 == own->page[fetch]) // it is the one used last
        return;
    own->page[fetch] = page + 1;
    if (!tlb_misses(fetch ? &own->itlb : &own->dtlb, page))
        return;
    r->tlb = 1;
    if (tlb_misses(&own->stlb, page))
        r->stlb = 1;
}

// Programs refer to two pages in turn, their stack's and another one: these are in a TLB of two
// ways or more, which learns their order when a third one comes.
static bool is_recent(struct levels *own, u64 page)
{
    u64 *last = own->timed_page;

    if (page + 1 == last[0])
        return true;
    if (page + 1 == last[1] && all.gd.assoc > 1) {
        last[1] = last[0];
        last[0] = page + 1;
        return true;
    }
    if (last[0] != own->timed_last)
        tlb_misses(&own->timed, last[0] - 1);
    last[1] = last[0];
    last[0] = own->timed_last = page + 1;
    return false;
}

static u8 translation(struct levels *own, u64 page, bool missed)
{
    if (is_recent(own, page) || !tlb_misses(&own->timed, page))
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

    if (!all.has_tlb)
        return CORE_TLB_HIT;
    first = addr >> own->stlb.line_shift;
    last = (addr + size - 1) >> own->stlb.line_shift;
    one = translation(own, first, missed);
    two = first == last ? one : translation(own, last, missed);
    return one > two ? one : two;
}

static void line_ref(const struct reference *f, u64 addr, struct result *r)
{
    if (all.has_tlb)
        tlb_ref(f->own, addr, f->fetch, r);
    if (all.has_l2)
        l2_ref(f, addr, r);
    else if (ll_misses(addr >> all.line_shift))
        r->ll = 1;
}

static void note_found(struct levels *own, const struct result *r)
{
    own->found.level = r->ll ? CORE_AT_MEMORY : r->l2 ? CORE_AT_LL : CORE_AT_L2;
    own->found.translation = r->stlb ? CORE_TLB_WALK : r->tlb ? CORE_TLB_SECOND : CORE_TLB_HIT;
}

const struct levels_found *levels_found(const struct thread *t)
{
    return &t->levels->found;
}

static void add(struct thread *t, u32 counter, u32 n)
{
    if (n)
        calls_count(t, counter, n);
}

static inline __attribute__((always_inline)) void reference(struct thread *t, u64 addr, u32 size,
                                                            bool fetch, u32 counter, bool now)
{
    const struct places *p = fetch ? &all.fetch : &all.data;
    struct reference f = { t, t->levels, counter + p->ll, fetch, now };
    u32 shift = all.has_l2 ? t->levels->l2.line_shift : all.line_shift;
    u64 end = addr + size - 1;
    struct result r = { 0 };

    line_ref(&f, addr, &r);
    if (addr >> shift != end >> shift)
        line_ref(&f, end, &r);
    if (now && t->levels)
        note_found(t->levels, &r);
    calls_count(t, counter, 1);
    add(t, counter + p->l2, r.l2);
    if (!all.has_l2)
        add(t, counter + p->ll, r.ll);
    add(t, counter + p->tlb, r.tlb);
    add(t, counter + p->stlb, r.stlb);
    add(t, counter + p->used, r.used);
    add(t, counter + p->wasted, r.wasted);
    if (now)
        objects_missed(t, addr, counter, r.l2, r.ll);
}

void levels_finish(struct thread *t)
{
    if (t->levels)
        ll_do_all(t, t->levels);
}

void levels_ref(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter)
{
    levels_finish(t);
    if (t->levels)
        t->levels->found.n = 0;
    reference(t, addr, size, fetch, counter, true);
}

void levels_ref_later(struct thread *t, u64 addr, u32 size, bool fetch, u32 counter)
{
    reference(t, addr, size, fetch, counter, false);
}
