// SPDX-License-Identifier: MIT
// Pages that are in one object (pages.h).
#include "engine/objects/pages.h"

#include "engine/base/heap.h"

#define MANY 64u // pages of a change that are forgotten one by one

struct pages pages;

void pages_init(void)
{
    pages.entry = heap_pages(PAGES_ENTRIES * sizeof(*pages.entry));
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
        struct pages_entry *e = pages_entry(page);

        e->state = PAGES_UNKNOWN;
        if (e->since < now)
            e->since = now;
    }
}

void pages_ahead(u64 addr)
{
    __builtin_prefetch(pages_entry(addr / PAGE_SIZE));
}

bool pages_find(u64 addr, u64 at, struct found *out, bool *block)
{
    const struct pages_entry *e = pages_of(addr, at);

    if (!e)
        return false;
    *block = e->state == PAGES_BLOCK;
    *out =
        (struct found){ e->object, e->from, e->end, e->born, NULL, *block && pages_seen(e, addr) };
    return true;
}

bool pages_wants(u64 addr, u64 at)
{
    const struct pages_entry *e = pages_entry(addr / PAGE_SIZE);

    return at >= e->since && at >= pages.since && !pages_is_known(e, addr / PAGE_SIZE);
}

void pages_keep(u64 addr, u64 start, u64 end, const struct found *found, bool block)
{
    u64 page = addr / PAGE_SIZE;
    struct pages_entry *e = pages_entry(page);
    bool whole = start <= page * PAGE_SIZE && end >= (page + 1) * PAGE_SIZE;

    e->page = page;
    e->changes = pages.changes;
    e->object = found->object;
    e->from = found->start;
    e->end = found->end;
    e->born = found->born;
    e->lines = block ? 0 : ~0ul;
    e->state = !whole ? PAGES_SEVERAL : block ? PAGES_BLOCK : PAGES_OBJECT;
}

void pages_missed(u64 addr, u64 born, u64 lines)
{
    struct pages_entry *e = pages_entry(addr / PAGE_SIZE);

    if (pages_is_known(e, addr / PAGE_SIZE) && e->state == PAGES_BLOCK && e->born == born)
        e->lines = lines;
}
