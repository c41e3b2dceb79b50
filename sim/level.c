// SPDX-License-Identifier: MIT
//
// Levels of caches with a choice of replacement (level.h).
#include "sim/level.h"

#define ROOM_STEP  8u  // tags for which a set has room, of more than 16
#define STATE_WAYS 16u // of a state of one word

bool sim_level_can(const struct sim_geometry *g, enum sim_replacement r)
{
    if (r == SIM_LRU)
        return true;
    return g->assoc <= SIM_LEVEL_WAYS && (r != SIM_PLRU || (g->assoc & (g->assoc - 1)) == 0);
}

// ---- How a level is kept ----

// A power of two up to 16: no set is in more lines of the host's cache than it needs.
static uint32_t room_for(uint32_t assoc)
{
    uint32_t n = 2;

    if (assoc > 16)
        return (assoc + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    while (n < assoc)
        n *= 2;
    return n;
}

static enum sim_level_kind kind_of(const struct sim_level *l)
{
    bool lru = l->replacement == SIM_LRU, narrow = l->tag_bytes == sizeof(uint32_t);
    bool sixteen = narrow && l->room == 16;

    if (lru && l->assoc > SIM_LEVEL_ORDERED)
        return l->sets == 1 && l->assoc <= SIM_RECENT_MAX ? SIM_LEVEL_TABLE : SIM_LEVEL_LIST;
    if (lru && narrow && l->room == 8)
        return SIM_LEVEL_ORDER_8;
    if (lru)
        return sixteen ? SIM_LEVEL_ORDER_16 : SIM_LEVEL_SETS;
    if (l->replacement == SIM_SRRIP)
        return sixteen ? SIM_LEVEL_PREDICTIONS_16 : SIM_LEVEL_SETS;
    if (narrow && l->assoc == 8)
        return SIM_LEVEL_TREE_8;
    return sixteen ? SIM_LEVEL_TREE_16 : SIM_LEVEL_SETS;
}

// Fills in all but pointers.
static void lay_out(struct sim_level *l, const struct sim_geometry *g, enum sim_replacement r,
                    uint64_t lines)
{
    *l = (struct sim_level){ .replacement = r, .assoc = g->assoc };
    l->duels = r == SIM_DRRIP;
    if (l->duels)
        l->replacement = SIM_SRRIP;
    l->sets = g->size / g->line / g->assoc;
    l->line_shift = (uint32_t)__builtin_ctz(g->line);
    l->low_bits = (uint32_t)__builtin_ctz(l->sets);
    l->odd = l->sets >> l->low_bits;
    l->low_mask = (UINT64_C(1) << l->low_bits) - 1;
    l->room = room_for(l->assoc);
    l->words = r == SIM_LRU || l->assoc > STATE_WAYS ? 2 : 1;
    l->tag_bytes = (lines - 1) / l->sets < UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
    l->kind = kind_of(l);
    if (l->kind == SIM_LEVEL_TABLE || l->kind == SIM_LEVEL_LIST) {
        l->room = l->assoc;
        l->words = 0;
        l->tag_bytes = sizeof(uint64_t);
    }
}

static size_t tags_size(const struct sim_level *l)
{
    return (size_t)l->sets * l->room * l->tag_bytes;
}

size_t sim_level_bytes(const struct sim_geometry *g, enum sim_replacement r, uint64_t lines)
{
    struct sim_level l;

    lay_out(&l, g, r, lines);
    if (l.kind == SIM_LEVEL_TABLE)
        return tags_size(&l) + sim_recent_bytes(l.assoc);
    return tags_size(&l) + (size_t)l.sets * l.words * sizeof(uint64_t);
}

void sim_level_init_zeroed(struct sim_level *l, const struct sim_geometry *g,
                           enum sim_replacement r, uint64_t lines, void *storage)
{
    lay_out(l, g, r, lines);
    l->tags = storage;
    l->state = (uint64_t *)((char *)storage + tags_size(l));
    if (l->kind == SIM_LEVEL_TABLE)
        sim_recent_init_zeroed(&l->recent, l->assoc, l->state);
    if (r != SIM_PLRU)
        return;
    for (uint32_t way = 0; way < l->assoc; way++)
        for (uint32_t node = way + l->assoc; node > 1; node /= 2) {
            l->path[way] |= UINT32_C(1) << node / 2;
            if (node % 2 == 0) // 1: the second child is next
                l->away[way] |= UINT32_C(1) << node / 2;
        }
}

// ---- A level ----

// ACTION is an expression of `s`, the level's shape, which the compiler knows of some kinds.
#define RETURN_AS(l, KIND, ACTION)                                            \
    do {                                                                      \
        const struct sim_shape s = sim_shape_of(l, KIND, true, false, false); \
        return ACTION;                                                        \
    } while (0)

#define RETURN_BY_SHAPE(l, ACTION)                                                 \
    switch ((l)->kind) {                                                           \
    case SIM_LEVEL_TREE_8: RETURN_AS(l, SIM_LEVEL_TREE_8, ACTION);                 \
    case SIM_LEVEL_TREE_16: RETURN_AS(l, SIM_LEVEL_TREE_16, ACTION);               \
    case SIM_LEVEL_ORDER_16: RETURN_AS(l, SIM_LEVEL_ORDER_16, ACTION);             \
    case SIM_LEVEL_PREDICTIONS_16: RETURN_AS(l, SIM_LEVEL_PREDICTIONS_16, ACTION); \
    case SIM_LEVEL_ORDER_8:                                                        \
    case SIM_LEVEL_SETS:                                                           \
    case SIM_LEVEL_LIST:                                                           \
    case SIM_LEVEL_TABLE:                                                          \
    default: RETURN_AS(l, (l)->kind, ACTION);                                      \
    }

void sim_level_ahead(const struct sim_level *l, uint64_t line)
{
    const struct sim_shape s = sim_shape_of(l, SIM_LEVEL_SETS, true, false, false);

    sim_level_ahead_as(l, line, s);
}

enum sim_use sim_level_use(struct sim_level *l, uint64_t line)
{
    RETURN_BY_SHAPE(l, sim_level_use_as(l, sim_level_place_of(l, line, s), s));
}

bool sim_level_has(const struct sim_level *l, uint64_t line)
{
    RETURN_BY_SHAPE(l, sim_level_has_as(l, sim_level_place_of(l, line, s), s));
}

uint64_t sim_level_fill(struct sim_level *l, uint64_t line, uint64_t mark)
{
    RETURN_BY_SHAPE(l, sim_level_fill_as(l, sim_level_place_of(l, line, s), mark, s));
}

enum sim_use sim_level_refer(struct sim_level *l, uint64_t line, uint64_t *old)
{
    RETURN_BY_SHAPE(l, sim_level_refer_as(l, line, old, s));
}

void sim_level_put(struct sim_level *l, uint64_t line)
{
    uint64_t old;

    sim_level_refer(l, line, &old);
}

bool sim_level_load(struct sim_level *l, uint64_t line, uint64_t *old)
{
    RETURN_BY_SHAPE(l, sim_level_load_as(l, line, old, s));
}

bool sim_level_take(struct sim_level *l, uint64_t line)
{
    RETURN_BY_SHAPE(l, sim_level_take_as(l, sim_level_place_of(l, line, s), s));
}
