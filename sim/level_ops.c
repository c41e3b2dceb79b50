// SPDX-License-Identifier: MIT
//
// What of a level is not inline (level_ops.h).
#include "sim/level_ops.h"

const uint8_t sim_level_tree_third[128] = {
    8,  12, 10, 12, 8,  14, 10, 14, 9,  12, 10, 12, 9,  14, 10, 14, 8,  12, 11, 12, 8,  14,
    11, 14, 9,  12, 11, 12, 9,  14, 11, 14, 8,  13, 10, 13, 8,  14, 10, 14, 9,  13, 10, 13,
    9,  14, 10, 14, 8,  13, 11, 13, 8,  14, 11, 14, 9,  13, 11, 13, 9,  14, 11, 14, 8,  12,
    10, 12, 8,  15, 10, 15, 9,  12, 10, 12, 9,  15, 10, 15, 8,  12, 11, 12, 8,  15, 11, 15,
    9,  12, 11, 12, 9,  15, 11, 15, 8,  13, 10, 13, 8,  15, 10, 15, 9,  13, 10, 13, 9,  15,
    10, 15, 8,  13, 11, 13, 8,  15, 11, 15, 9,  13, 11, 13, 9,  15, 11, 15,
};

// Moves ways 0..to-1 up by one and puts the tag into way 0.
static void put_first(uint64_t *ways, uint32_t to, uint64_t tag)
{
    for (; to > 0; to--)
        ways[to] = ways[to - 1];
    ways[0] = tag;
}

static uint32_t list_find(const struct sim_level *l, struct sim_level_place p)
{
    const uint64_t *ways = sim_level_wide(l, p.set, l->room);
    uint32_t way = 0;

    while (way < l->assoc && (ways[way] & ~SIM_LEVEL_MARK) != p.tag)
        way++;
    return way;
}

enum sim_use sim_level_list_use(struct sim_level *l, struct sim_level_place p)
{
    uint64_t *ways = sim_level_wide(l, p.set, l->room);
    uint32_t way = list_find(l, p);
    enum sim_use said;

    if (way == l->assoc)
        return SIM_ABSENT;
    said = ways[way] & SIM_LEVEL_MARK ? SIM_FIRST_USE : SIM_PRESENT;
    put_first(ways, way, p.tag);
    return said;
}

static struct sim_shape shape_of(const struct sim_level *l)
{
    return sim_shape_of(l, SIM_LEVEL_LIST, true, false, false);
}

uint64_t sim_level_list_fill(struct sim_level *l, struct sim_level_place p, uint64_t mark)
{
    uint64_t *ways = sim_level_wide(l, p.set, l->room), old = ways[l->assoc - 1];

    put_first(ways, l->assoc - 1, p.tag | mark);
    if (!old)
        return 0;
    return sim_level_line_at(l, p.set, old & ~SIM_LEVEL_MARK, shape_of(l)) | (old & SIM_LEVEL_MARK);
}

bool sim_level_list_take(struct sim_level *l, struct sim_level_place p)
{
    uint64_t *ways = sim_level_wide(l, p.set, l->room);
    uint32_t way = list_find(l, p);

    if (way == l->assoc)
        return false;
    for (; way + 1 < l->assoc; way++)
        ways[way] = ways[way + 1];
    ways[way] = 0;
    return true;
}

bool sim_level_list_has(const struct sim_level *l, struct sim_level_place p)
{
    return list_find(l, p) != l->assoc;
}
