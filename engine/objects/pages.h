// SPDX-License-Identifier: MIT
// A cache of look-ups, for pages that are in one object: a large block, table or mapping. It is
// true for times since the last change of a page. All of it under objtable's lock.
#ifndef QUERN_ENGINE_PAGES_H
#define QUERN_ENGINE_PAGES_H

#include "engine/base/types.h"
#include "engine/objects/found.h"

enum pages_state { PAGES_UNKNOWN, PAGES_SEVERAL, PAGES_OBJECT, PAGES_BLOCK };

// Of all pages with this hash `since` is the time of the last change; of one of them the state.
struct pages_entry {
    u64 page, since;
    u64 changes; // of many pages, when the state was kept
    u64 from, born, end;
    u32 object, state;
    // That have missed (lifetimes.c): all of these have, others may have. Of no block: all.
    u64 lines;
};

_Static_assert(sizeof(struct pages_entry) == 64, "a line of the host's cache");

#define PAGES_ENTRIES 16384u

struct pages {
    struct pages_entry *entry;
    u64 since, changes; // of many pages
};
extern struct pages pages;

// Neighbouring pages have neighbouring entries: a walk over pages is one over lines of the host's
// cache, in few of its pages.
static inline struct pages_entry *pages_entry(u64 page)
{
    u64 far = (page / PAGES_ENTRIES) * 0x9e3779b97f4a7c15ul >> 40;

    return &pages.entry[(page + far) % PAGES_ENTRIES];
}

static inline bool pages_is_known(const struct pages_entry *e, u64 page)
{
    return e->page == page && e->changes == pages.changes && e->state != PAGES_UNKNOWN;
}

// The entry of a page that is in one object, as of a time. NULL: it is not known. @signal-safe
static inline const struct pages_entry *pages_of(u64 addr, u64 at)
{
    const struct pages_entry *e = pages_entry(addr / PAGE_SIZE);

    if (!pages_is_known(e, addr / PAGE_SIZE) || at < e->since || at < pages.since ||
        e->state == PAGES_SEVERAL)
        return NULL;
    return e;
}

// Whether the line of addr is one of those that have missed.
static inline bool pages_seen(const struct pages_entry *e, u64 addr)
{
    return e->lines >> addr % PAGE_SIZE / FOUND_LINE & 1;
}

// Once, before ranges_init().
void pages_init(void);
// What is at [start, end) changes now.
void pages_changed(u64 start, u64 end, u64 now);
// Begins to load what pages_find() needs. @signal-safe
void pages_ahead(u64 addr);
// What is at addr at a time (without `who`), and whether it is a block.
// False: it is not known. @signal-safe
bool pages_find(u64 addr, u64 at, struct found *out, bool *block);
// Whether to tell it what the page of addr is in: a look-up as of that time has shown what is there
// at present. @signal-safe
bool pages_wants(u64 addr, u64 at);
// addr is in what was found, and so is all of [start, end). @signal-safe
void pages_keep(u64 addr, u64 start, u64 end, const struct found *found, bool block);
// The lines of the page of addr that have missed, of the block that was born then: from then on
// pages_find() says that such a line is `seen`. @signal-safe
void pages_missed(u64 addr, u64 born, u64 lines);

#endif
