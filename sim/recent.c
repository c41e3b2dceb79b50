// SPDX-License-Identifier: MIT
//
// The last keys used (recent.h).
#include "sim/recent.h"

// A bucket's number has 16 bits: SIM_RECENT_MAX slots have 65,536 of them.
static uint32_t bits_of(uint32_t slots)
{
    uint32_t bits = 2;

    while ((1u << bits) < 8 * slots)
        bits++;
    return bits;
}

size_t sim_recent_bytes(uint32_t slots)
{
    size_t buckets = (size_t)1 << bits_of(slots);

    return (slots + 1) * sizeof(struct sim_recent_slot) + buckets * sizeof(uint16_t);
}

void sim_recent_init_zeroed(struct sim_recent *r, uint32_t slots, void *storage)
{
    r->slots = slots;
    r->shift = 64 - bits_of(slots);
    r->slot = storage;
    r->bucket = (uint16_t *)(r->slot + slots + 1);
}

static void link_last(struct sim_recent *r, uint32_t at)
{
    uint16_t last = r->slot[0].newer;

    r->slot[at].newer = last;
    r->slot[at].older = 0;
    r->slot[last].older = (uint16_t)at;
    r->slot[0].newer = (uint16_t)at;
}

void sim_recent_take(struct sim_recent *r, uint32_t slot)
{
    sim_recent_unchain(r, slot + 1);
    r->slot[slot + 1].key = 0;
    sim_recent_unlink(r, slot + 1);
    link_last(r, slot + 1);
}
