// SPDX-License-Identifier: MIT
// Pages that are in one object (pages.h).
#include "engine/objects/pages.h"

#include "engine/base/heap.h"

#define ENTRIES 16384u
#define MANY    64u // pages of a change that are forgotten one by one

enum state { PAGE_UNKNOWN, PAGE_SEVERAL, PAGE_OBJECT, PAGE_BLOCK };

// Of all pages with this hash `since` is the time of the last change; of one of them the state.
struct entry {
    u64 page, since;
    u64 changes; // of many pages, when the state was kept
    u64 from, born, end;
    u32 object, state;
    u64 lines; // that have missed (lifetimes.c): all of these have, others may have
};

_Static_assert(sizeof(struct entry) == 64, "a line of the host's cache");

static struct {
    struct entry *entry;
    u64 since, changes; // of many pages
} pages;

void pages_init(void)
{
    pages.entry = heap_pages(ENTRIES * sizeof(*pages.entry));
}

static struct entry *page_entry(u64 page)
{
    return &pages.entry[(page * 0x9e3779b97f4a7c15ul >> 40) % ENTRIES];
}

void pages_changed(u64 start, u64 end, u64 now)
{
    u64 first = start / PAGE_SIZE, last = (end - 1) / PAGE_SIZE;

    if (last - first >= MANY) {
        pages.changes++;
        if (pages.since < now)
            pages.since = now;
        return;
    }
    for (u64 page = first; page <= last; page++) {
        struct entry *e = page_entry(page);

        e->state = PAGE_UNKNOWN;
        if (e->since < now)
            e->since = now;
    }
}

static bool is_known(const struct entry *e, u64 page)
{
    return e->page == page && e->changes == pages.changes && e->state != PAGE_UNKNOWN;
}

void pages_ahead(u64 addr)
{
    __builtin_prefetch(page_entry(addr / PAGE_SIZE));
}

bool pages_find(u64 addr, u64 at, struct found *out, bool *block)
{
    const struct entry *e = page_entry(addr / PAGE_SIZE);

    if (!is_known(e, addr / PAGE_SIZE) || at < e->since || at < pages.since ||
        e->state == PAGE_SEVERAL)
        return false;
    *out = (struct found){ e->object, e->from, e->end,
                           e->born,   NULL,    e->lines >> addr % PAGE_SIZE / FOUND_LINE & 1 };
    *block = e->state == PAGE_BLOCK;
    return true;
}

bool pages_wants(u64 addr, u64 at)
{
    const struct entry *e = page_entry(addr / PAGE_SIZE);

    return at >= e->since && at >= pages.since && !is_known(e, addr / PAGE_SIZE);
}

void pages_keep(u64 addr, u64 start, u64 end, const struct found *found, bool block)
{
    u64 page = addr / PAGE_SIZE;
    struct entry *e = page_entry(page);
    bool whole = start <= page * PAGE_SIZE && end >= (page + 1) * PAGE_SIZE;

    e->page = page;
    e->changes = pages.changes;
    e->object = found->object;
    e->from = found->start;
    e->end = found->end;
    e->born = found->born;
    e->lines = 0;
    e->state = !whole ? PAGE_SEVERAL : block ? PAGE_BLOCK : PAGE_OBJECT;
}

void pages_missed(u64 addr, u64 born, u64 lines)
{
    struct entry *e = page_entry(addr / PAGE_SIZE);

    if (is_known(e, addr / PAGE_SIZE) && e->state == PAGE_BLOCK && e->born == born)
        e->lines = lines;
}
