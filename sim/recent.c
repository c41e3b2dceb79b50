// SPDX-License-Identifier: MIT
//
// The last keys used (recent.h). A list in order of use, from the one used last to the empty slots;
// chains of slots whose keys have the same bucket.
#include "sim/recent.h"

// The parts of `link`: the ends of the list and how many slots are in it, then arrays. A slot that
// was never used is in no list.
enum { FIRST, LAST, COUNT, HEAD = 4 };

static uint16_t *older(const struct sim_recent *r)
{
    return r->link + HEAD;
}

static uint16_t *newer(const struct sim_recent *r)
{
    return older(r) + r->slots + 1;
}

static uint16_t *chain(const struct sim_recent *r)
{
    return newer(r) + r->slots + 1;
}

static uint16_t *bucket(const struct sim_recent *r, uint64_t key)
{
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    return chain(r) + r->slots + 1 + (h & (r->buckets - 1));
}

static uint32_t buckets_of(uint32_t slots)
{
    uint32_t n = 4;

    while (n < 2 * slots)
        n *= 2;
    return n;
}

size_t sim_recent_bytes(uint32_t slots)
{
    size_t links = HEAD + 3 * ((size_t)slots + 1) + buckets_of(slots);

    return slots * sizeof(uint64_t) + (links * sizeof(uint16_t) + 7) / 8 * 8;
}

void sim_recent_init_zeroed(struct sim_recent *r, uint32_t slots, void *storage)
{
    r->slots = slots;
    r->buckets = buckets_of(slots);
    r->key = storage;
    r->link = (uint16_t *)(r->key + slots);
}

uint32_t sim_recent_find(const struct sim_recent *r, uint64_t key)
{
    uint32_t at = r->link[FIRST];

    if (at && r->key[at - 1] == key)
        return at - 1;
    at = *bucket(r, key);
    while (at && r->key[at - 1] != key)
        at = chain(r)[at];
    return at ? at - 1 : r->slots;
}

// at: a slot plus one.
static void unlink_slot(struct sim_recent *r, uint32_t at)
{
    uint16_t old = older(r)[at], young = newer(r)[at];

    *(young ? &older(r)[young] : &r->link[FIRST]) = old;
    *(old ? &newer(r)[old] : &r->link[LAST]) = young;
}

static void link_first(struct sim_recent *r, uint32_t at)
{
    uint16_t first = r->link[FIRST];

    older(r)[at] = first;
    newer(r)[at] = 0;
    *(first ? &newer(r)[first] : &r->link[LAST]) = (uint16_t)at;
    r->link[FIRST] = (uint16_t)at;
}

static void link_last(struct sim_recent *r, uint32_t at)
{
    uint16_t last = r->link[LAST];

    newer(r)[at] = last;
    older(r)[at] = 0;
    *(last ? &older(r)[last] : &r->link[FIRST]) = (uint16_t)at;
    r->link[LAST] = (uint16_t)at;
}

static void unchain(struct sim_recent *r, uint32_t at)
{
    uint16_t *link = bucket(r, r->key[at - 1]);

    while (*link != at)
        link = &chain(r)[*link];
    *link = chain(r)[at];
}

void sim_recent_touch(struct sim_recent *r, uint32_t slot)
{
    if (r->link[FIRST] == slot + 1)
        return;
    unlink_slot(r, slot + 1);
    link_first(r, slot + 1);
}

uint32_t sim_recent_put(struct sim_recent *r, uint64_t key, uint64_t *old)
{
    uint32_t at = r->link[LAST];
    uint16_t *head = bucket(r, key);

    if ((!at || r->key[at - 1]) && r->link[COUNT] < r->slots) {
        at = ++r->link[COUNT];
        *old = 0;
    } else {
        *old = r->key[at - 1];
        if (*old)
            unchain(r, at);
        unlink_slot(r, at);
    }
    r->key[at - 1] = key;
    chain(r)[at] = *head;
    *head = (uint16_t)at;
    link_first(r, at);
    return at - 1;
}

void sim_recent_take(struct sim_recent *r, uint32_t slot)
{
    unchain(r, slot + 1);
    r->key[slot] = 0;
    unlink_slot(r, slot + 1);
    link_last(r, slot + 1);
}
