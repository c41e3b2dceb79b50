// SPDX-License-Identifier: MIT
//
// References to levels of processors of today, by vectors (vectorlevels.h). L2 and LL are of known
// shapes, so that a reference is one piece of code, without a call for each step and without what a
// step would have to ask of a level.
#include "engine/count/vectorlevels.h"

#include "engine/count/levels_priv.h"

#define SHAPES(name, l2, ll, power)                                                               \
    static const struct levels_shapes name = { true, l2, ll, power };                             \
    static __attribute__((noinline)) void vectorlevels_half_##name(struct thread *t,              \
                                                                   struct levels *own)            \
    {                                                                                             \
        levels_ll_oldest(t, own, LEVELS_WAITING / 2, name);                                       \
    }                                                                                             \
    static void vectorlevels_##name(struct thread *t, u64 addr, u32 size, u32 counter,            \
                                    u32 regions)                                                  \
    {                                                                                             \
        levels_reference(t, addr, size, counter, false, regions, vectorlevels_half_##name, name); \
    }

SHAPES(tree_8_16, SIM_LEVEL_TREE_8, SIM_LEVEL_TREE_16, true)
SHAPES(tree_16_16, SIM_LEVEL_TREE_16, SIM_LEVEL_TREE_16, true)
SHAPES(predictions_16_16, SIM_LEVEL_PREDICTIONS_16, SIM_LEVEL_PREDICTIONS_16, false)

vectorlevels_one *vectorlevels_for(const struct thread *t)
{
    const struct sim_level *l2, *ll = &levels_all.ll;
    static const struct {
        enum sim_level_kind l2, ll;
        bool power;
        vectorlevels_one *one;
    } known[] = {
        { SIM_LEVEL_TREE_8, SIM_LEVEL_TREE_16, true, vectorlevels_tree_8_16 },
        { SIM_LEVEL_TREE_16, SIM_LEVEL_TREE_16, true, vectorlevels_tree_16_16 },
        { SIM_LEVEL_PREDICTIONS_16, SIM_LEVEL_PREDICTIONS_16, false,
          vectorlevels_predictions_16_16 },
    };

    if (!tb_config.vectors || !levels_can_wait())
        return NULL;
    l2 = &t->levels->l2;
    for (u32 i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (l2->kind == known[i].l2 && ll->kind == known[i].ll &&
            (!known[i].power || (l2->odd == 1 && ll->odd == 1)))
            return known[i].one;
    return NULL;
}

u32 vectorlevels_ask(const struct thread *t, u64 addr, u32 size, u32 counter, u32 *regions)
{
    return levels_ask(t->levels, addr, size, counter, regions, tree_8_16);
}

u32 *vectorlevels_regions(const struct thread *t)
{
    return t->levels->asked_regions;
}

bool vectorlevels_ask_first(const struct thread *t)
{
    return vectorlevels_for(t) != NULL;
}
