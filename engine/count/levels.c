// SPDX-License-Identifier: MIT
//
// L2 and LL of a machine (levels.h).
#include "engine/count/levels.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/base/sys.h"
#include "engine/callgraph/calls.h"
#include "engine/spool/spooler.h"
#include "engine/thread/threads.h"
#include "sim/level.h"

_Static_assert((int)SPOOL_LRU == (int)SIM_LRU && (int)SPOOL_PLRU == (int)SIM_PLRU &&
                   (int)SPOOL_SRRIP == (int)SIM_SRRIP,
               "the same numbers");

static struct {
    bool on, victim; // victim: LL is filled with the lines that L2 replaces
    u32 last;        // from an L1 miss's counter to that of LL
    u32 line_shift;  // of LL
    struct sim_geometry g2, gl;
    enum sim_replacement r2, rl;
    struct sim_level ll;
    struct sim_level *serial; // --serialize-threads: the L2 of all threads
} levels;

static struct sim_geometry geometry(const struct spool_geometry *g)
{
    struct sim_geometry s = { g->size, g->assoc, g->line };

    return s;
}

bool levels_are_on(void)
{
    return levels.on;
}

static void make(struct sim_level *l, const struct sim_geometry *g, enum sim_replacement r)
{
    sim_level_init_zeroed(l, g, r, heap_large(sim_level_bytes(g, r)));
}

static void empty(const struct sim_level *l, const struct sim_geometry *g)
{
    sys_madvise((u64)l->tags, PAGE_UP(sim_level_bytes(g, l->replacement)), MADV_DONTNEED);
}

void levels_init(void)
{
    const struct spool_machine *m = &spool->machine;
    bool has_l2 = (spool->flags & SPOOL_F_L2) != 0;

    memset(&levels, 0, sizeof(levels));
    if (!has_l2 && m->ll_replacement == SPOOL_LRU)
        return;
    levels.on = true;
    levels.victim = has_l2 && m->ll_filling == SPOOL_FILL_VICTIM;
    levels.last = spool_levels(spool->flags) - 1;
    levels.gl = geometry(&spool->ll);
    levels.rl = (enum sim_replacement)m->ll_replacement;
    levels.line_shift = (u32)__builtin_ctz(spool->ll.line);
    make(&levels.ll, &levels.gl, levels.rl);
    if (has_l2) {
        levels.g2 = geometry(&m->l2);
        levels.r2 = (enum sim_replacement)m->l2_replacement;
    }
}

void levels_thread_init(struct thread *t)
{
    if (!levels.on || !levels.g2.size)
        return;
    if (t->l2) {
        if (!levels.serial)
            empty(t->l2, &levels.g2);
        return;
    }
    if (levels.serial) {
        t->l2 = levels.serial;
        return;
    }
    t->l2 = heap_alloc(sizeof(*t->l2));
    make(t->l2, &levels.g2, levels.r2);
    if (spool->flags & SPOOL_F_SERIALIZE)
        levels.serial = t->l2;
}

void levels_clear(void)
{
    if (!levels.on)
        return;
    empty(&levels.ll, &levels.gl);
    for (struct thread *t = threads_first(); t; t = t->next)
        if (t->l2)
            empty(t->l2, &levels.g2);
}

void levels_ahead(const struct thread *t, u64 addr)
{
    const struct sim_level *l = t->l2 ? t->l2 : &levels.ll;
    const u64 *ways = l->tags + sim_level_set(l, addr >> l->line_shift) * l->assoc;

    __builtin_prefetch(ways, 1);
    __builtin_prefetch(ways + l->assoc - 1, 1);
}

// Whether a line that missed L2, or L1 where there is no L2, misses LL.
static bool ll_misses(struct sim_level *l2, u64 addr)
{
    struct sim_level *ll = &levels.ll;
    u64 line = addr >> levels.line_shift, old;
    bool miss;

    if (!levels.victim) {
        if (sim_level_use(ll, line))
            return false;
        sim_level_fill(ll, line);
        return true;
    }
    miss = !sim_level_take(ll, line);
    old = sim_level_fill(l2, line);
    if (old && !sim_level_use(ll, old - 1))
        sim_level_fill(ll, old - 1);
    return miss;
}

struct missed {
    bool l2, ll;
};

// The line that has addr.
static void line_ref(struct sim_level *l2, u64 addr, struct missed *m)
{
    if (l2) {
        u64 line = addr >> l2->line_shift;

        if (sim_level_use(l2, line))
            return;
        m->l2 = true;
        if (!levels.victim)
            sim_level_fill(l2, line);
    }
    m->ll |= ll_misses(l2, addr);
}

void levels_ref(struct thread *t, u64 addr, u32 size, u32 counter)
{
    struct missed m = { false, false };
    u64 end = addr + size - 1;
    u32 shift = t->l2 ? t->l2->line_shift : levels.line_shift;

    line_ref(t->l2, addr, &m);
    if (addr >> shift != end >> shift)
        line_ref(t->l2, end, &m);
    calls_count(t, counter, 1);
    if (m.l2)
        calls_count(t, counter + 1, 1);
    if (m.ll)
        calls_count(t, counter + levels.last, 1);
}
