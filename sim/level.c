// SPDX-License-Identifier: MIT
//
// Levels of caches with a choice of replacement (level.h).
#include "sim/level.h"

#define RRIP_LONG 2u                           // the prediction of a line that was put in
#define RRIP_LOW  UINT64_C(0x5555555555555555) // the low bit of each prediction

bool sim_level_can(const struct sim_geometry *g, enum sim_replacement r)
{
    if (r == SIM_LRU)
        return true;
    return g->assoc <= SIM_LEVEL_WAYS && (r != SIM_PLRU || (g->assoc & (g->assoc - 1)) == 0);
}

static bool by_table(const struct sim_geometry *g, enum sim_replacement r)
{
    return r == SIM_LRU && g->assoc > SIM_LEVEL_SEARCHED && g->assoc <= SIM_RECENT_MAX &&
           g->size / g->line == g->assoc;
}

size_t sim_level_bytes(const struct sim_geometry *g, enum sim_replacement r)
{
    size_t lines = g->size / g->line;

    if (by_table(g, r))
        return lines * sizeof(uint64_t) + sim_recent_bytes(g->assoc);
    return (lines + (r == SIM_LRU ? 0 : lines / g->assoc)) * sizeof(uint64_t);
}

void sim_level_init_zeroed(struct sim_level *l, const struct sim_geometry *g,
                           enum sim_replacement r, void *storage)
{
    l->sets = g->size / g->line / g->assoc;
    l->set_mask = (l->sets & (l->sets - 1)) == 0 ? l->sets - 1 : 0;
    l->assoc = g->assoc;
    l->line_shift = (uint32_t)__builtin_ctz(g->line);
    l->replacement = r;
    l->tags = storage;
    l->state = l->tags + (size_t)l->sets * l->assoc;
    l->by_table = by_table(g, r);
    if (l->by_table)
        sim_recent_init_zeroed(&l->recent, l->assoc, l->state);
}

// The way of the tag, marked or not, or assoc.
static uint32_t find(const uint64_t *ways, uint32_t assoc, uint64_t tag)
{
    uint32_t w = 0;

    while (w < assoc && (ways[w] & ~SIM_LEVEL_MARK) != tag)
        w++;
    return w;
}

// Moves ways 0..to-1 up by one and puts the tag into way 0.
static void put_first(uint64_t *ways, uint32_t to, uint64_t tag)
{
    for (; to > 0; to--)
        ways[to] = ways[to - 1];
    ways[0] = tag;
}

// ---- The tree ----

static void plru_use(const struct sim_level *l, uint64_t *bits, uint32_t way)
{
    for (uint32_t node = way + l->assoc; node > 1; node /= 2) {
        uint64_t bit = UINT64_C(1) << node / 2;

        // 1: the second child is next
        *bits = node % 2 ? *bits & ~bit : *bits | bit;
    }
}

static uint32_t plru_victim(const struct sim_level *l, uint64_t bits)
{
    uint32_t node = 1;

    while (node < l->assoc)
        node = 2 * node + (uint32_t)(bits >> node & 1);
    return node - l->assoc;
}

// ---- Predictions ----

static void rrip_set(uint64_t *bits, uint32_t way, uint64_t prediction)
{
    *bits = (*bits & ~(UINT64_C(3) << 2 * way)) | prediction << 2 * way;
}

// All ways are in use.
static uint32_t rrip_victim(const struct sim_level *l, uint64_t *bits)
{
    uint64_t ways = l->assoc == 32 ? RRIP_LOW : RRIP_LOW & ((UINT64_C(1) << 2 * l->assoc) - 1);

    for (;;) {
        uint64_t last = *bits & *bits >> 1 & ways;

        if (last)
            return (uint32_t)__builtin_ctzll(last) / 2;
        *bits += ways; // none is 3: no prediction overflows into the next
    }
}

// ---- One set by a table ----

static enum sim_use table_use(struct sim_level *l, uint64_t line)
{
    uint32_t slot = sim_recent_find(&l->recent, line + 1);
    uint64_t mark;

    if (slot == l->assoc)
        return SIM_ABSENT;
    sim_recent_touch(&l->recent, slot);
    mark = l->tags[slot];
    l->tags[slot] = 0;
    return mark ? SIM_FIRST_USE : SIM_PRESENT;
}

static uint64_t table_fill(struct sim_level *l, uint64_t line, uint64_t mark)
{
    uint64_t old;
    uint32_t slot = sim_recent_put(&l->recent, line + 1, &old);

    if (old)
        old |= l->tags[slot];
    l->tags[slot] = mark;
    return old;
}

static bool table_take(struct sim_level *l, uint64_t line)
{
    uint32_t slot = sim_recent_find(&l->recent, line + 1);

    if (slot == l->assoc)
        return false;
    sim_recent_take(&l->recent, slot);
    return true;
}

// ---- A level ----

static void used(struct sim_level *l, uint64_t set, uint32_t way, uint64_t prediction)
{
    if (l->replacement == SIM_PLRU)
        plru_use(l, &l->state[set], way);
    else
        rrip_set(&l->state[set], way, prediction);
}

enum sim_use sim_level_use(struct sim_level *l, uint64_t line)
{
    uint64_t set = sim_level_set(l, line), *ways = l->tags + set * l->assoc;
    enum sim_use use;
    uint32_t way;

    if (l->by_table)
        return table_use(l, line);
    way = find(ways, l->assoc, line + 1);
    if (way == l->assoc)
        return SIM_ABSENT;
    use = ways[way] & SIM_LEVEL_MARK ? SIM_FIRST_USE : SIM_PRESENT;
    ways[way] = line + 1;
    if (l->replacement == SIM_LRU)
        put_first(ways, way, line + 1);
    else
        used(l, set, way, 0);
    return use;
}

bool sim_level_has(const struct sim_level *l, uint64_t line)
{
    if (l->by_table)
        return sim_recent_find(&l->recent, line + 1) != l->assoc;
    return find(l->tags + sim_level_set(l, line) * l->assoc, l->assoc, line + 1) != l->assoc;
}

uint64_t sim_level_fill(struct sim_level *l, uint64_t line, uint64_t mark)
{
    uint64_t set = sim_level_set(l, line), *ways = l->tags + set * l->assoc, old;
    uint32_t way;

    if (l->by_table)
        return table_fill(l, line, mark);
    if (l->replacement == SIM_LRU) {
        old = ways[l->assoc - 1];
        put_first(ways, l->assoc - 1, (line + 1) | mark);
        return old;
    }
    way = find(ways, l->assoc, 0);
    if (way == l->assoc)
        way = l->replacement == SIM_PLRU ? plru_victim(l, l->state[set])
                                         : rrip_victim(l, &l->state[set]);
    old = ways[way];
    ways[way] = (line + 1) | mark;
    used(l, set, way, RRIP_LONG);
    return old;
}

bool sim_level_take(struct sim_level *l, uint64_t line)
{
    uint64_t set = sim_level_set(l, line), *ways = l->tags + set * l->assoc;
    uint32_t way;

    if (l->by_table)
        return table_take(l, line);
    way = find(ways, l->assoc, line + 1);
    if (way == l->assoc)
        return false;
    if (l->replacement != SIM_LRU) {
        ways[way] = 0;
        return true;
    }
    for (; way + 1 < l->assoc; way++)
        ways[way] = ways[way + 1];
    ways[way] = 0;
    return true;
}
