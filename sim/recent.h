// SPDX-License-Identifier: MIT
//
// The last n keys that were used: a set of keys in order of use, found by a hash table, so that a
// use costs the same whatever n is. A fully associative cache that replaces what was used least
// recently; what belongs to a key is the caller's, by the key's slot, which it keeps while it is
// there.
//
// Pure arithmetic, as cache.h. Inline: a TLB of a processor is such a set, and is asked millions of
// times in a row.
#ifndef QUERN_SIM_RECENT_H
#define QUERN_SIM_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_RECENT_MAX 32767u // slots

// Slots are numbered from 1 here, and 0 is both ends of the list: its `older` is the key used last,
// its `newer` the one used least recently, its `chain` how many slots have ever been used. A slot
// that was never used is in no list. Those without a key are the oldest.
struct sim_recent_slot {
    uint64_t key; // 0: none
    uint16_t older, newer;
    uint16_t chain, bucket; // the next slot whose key has the same bucket
};

struct sim_recent {
    uint32_t slots;
    uint32_t shift; // of a key's hash: the rest is its bucket
    struct sim_recent_slot *slot;
    uint16_t *bucket; // the first slot of each
};

// Bytes of the storage for that many slots; a multiple of 8.
size_t sim_recent_bytes(uint32_t slots);

// Without keys, in storage of sim_recent_bytes() zeroed bytes, aligned to 8, the caller's.
void sim_recent_init_zeroed(struct sim_recent *r, uint32_t slots, void *storage);

static inline uint32_t sim_recent_bucket(const struct sim_recent *r, uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> r->shift);
}

// The slot of a key, which is not 0; `slots` if it is not there. Nothing changes.
static inline uint32_t sim_recent_find(const struct sim_recent *r, uint64_t key)
{
    uint32_t at = r->slot[0].older;

    if (r->slot[at].key == key)
        return at - 1;
    at = r->bucket[sim_recent_bucket(r, key)];
    while (at && r->slot[at].key != key)
        at = r->slot[at].chain;
    return at ? at - 1 : r->slots;
}

static inline void sim_recent_unlink(struct sim_recent *r, uint32_t at)
{
    uint16_t older = r->slot[at].older, newer = r->slot[at].newer;

    r->slot[older].newer = newer;
    r->slot[newer].older = older;
}

static inline void sim_recent_link_first(struct sim_recent *r, uint32_t at)
{
    uint16_t first = r->slot[0].older;

    r->slot[at].older = first;
    r->slot[at].newer = 0;
    r->slot[first].newer = (uint16_t)at;
    r->slot[0].older = (uint16_t)at;
}

// The key in this slot is the one used last.
static inline void sim_recent_touch(struct sim_recent *r, uint32_t slot)
{
    if (r->slot[0].older == slot + 1)
        return;
    sim_recent_unlink(r, slot + 1);
    sim_recent_link_first(r, slot + 1);
}

static inline void sim_recent_unchain(struct sim_recent *r, uint32_t at)
{
    uint16_t *link = &r->bucket[r->slot[at].bucket];

    while (*link != at)
        link = &r->slot[*link].chain;
    *link = r->slot[at].chain;
}

// Puts a key in that is not there, as the one used last: into an empty slot, or in place of the one
// that was used least recently, which goes to *old (0: the slot was empty). Returns the slot.
static inline uint32_t sim_recent_put(struct sim_recent *r, uint64_t key, uint64_t *old)
{
    uint32_t at = r->slot[0].newer, bucket = sim_recent_bucket(r, key);

    if ((!at || r->slot[at].key) && r->slot[0].chain < r->slots) {
        at = ++r->slot[0].chain;
        *old = 0;
    } else {
        *old = r->slot[at].key;
        if (*old)
            sim_recent_unchain(r, at);
        sim_recent_unlink(r, at);
    }
    r->slot[at].key = key;
    r->slot[at].bucket = (uint16_t)bucket;
    r->slot[at].chain = r->bucket[bucket];
    r->bucket[bucket] = (uint16_t)at;
    sim_recent_link_first(r, at);
    return at - 1;
}

// Takes the key in this slot out.
void sim_recent_take(struct sim_recent *r, uint32_t slot);

#endif
