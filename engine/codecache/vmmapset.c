// SPDX-License-Identifier: MIT
// A set of ranges (vmmapset.h): a sorted array of disjoint, non-empty ranges. A few hundred entries
// are the rule and 65,530 the kernel's limit, so a memmove for each change is cheaper than any
// tree; lookups are a binary search. No locks, no system calls; the unit test compiles this file as
// it is.

#include "engine/codecache/vmmapset.h"

#include "engine/base/heap.h"
#include "engine/base/mini.h"

enum { VMMAP_PROT_WRITE = 2 }; // PROT_WRITE, without sys.h: this file is hosted in its test

u32 vmmapset_above(const struct vmmapset *s, u64 addr)
{
    u32 lo = 0, hi = s->n;

    while (lo < hi) {
        u32 mid = lo + (hi - lo) / 2;

        if (s->e[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

struct vmmap_entry *vmmapset_find(struct vmmapset *s, u64 addr)
{
    u32 i = vmmapset_above(s, addr);

    return i < s->n && s->e[i].start <= addr ? &s->e[i] : NULL;
}

// Makes room for one entry at index i, or (by < 0) closes the gap of -by entries there.
static void set_shift(struct vmmapset *s, u32 i, s32 by)
{
    if (by > 0 && s->n + (u32)by > s->room) {
        u32 room = s->room ? s->room * 2 : 256;
        struct vmmap_entry *e = heap_alloc((u64)room * sizeof(*e));

        if (s->n)
            memcpy(e, s->e, (u64)s->n * sizeof(*e));
        heap_free(s->e, (u64)s->room * sizeof(*e));
        s->e = e;
        s->room = room;
    }
    if (by > 0)
        memmove(&s->e[i + (u32)by], &s->e[i], (u64)(s->n - i) * sizeof(s->e[0]));
    else
        memmove(&s->e[i], &s->e[i + (u32)-by], (u64)(s->n - i - (u32)-by) * sizeof(s->e[0]));
    s->n = (u32)((s32)s->n + by);
}

// No entry crosses addr afterwards.
static void set_split(struct vmmapset *s, u64 addr)
{
    u32 i = vmmapset_above(s, addr);

    if (i == s->n || s->e[i].start >= addr)
        return;
    set_shift(s, i, 1);
    s->e[i] = s->e[i + 1];
    s->e[i].end = addr;
    s->e[i + 1].start = addr;
}

static bool set_joins(const struct vmmap_entry *a, const struct vmmap_entry *b)
{
    return a->end == b->start && a->prot == b->prot && a->flags == b->flags &&
           a->map_plus_one == b->map_plus_one;
}

// Joins what can be joined among the entries that touch [start, end].
static void set_join(struct vmmapset *s, u64 start, u64 end)
{
    u32 i = vmmapset_above(s, start ? start - 1 : 0);

    while (i + 1 < s->n && s->e[i].start <= end) {
        if (set_joins(&s->e[i], &s->e[i + 1])) {
            s->e[i].end = s->e[i + 1].end;
            set_shift(s, i + 1, -1);
        } else {
            i++;
        }
    }
}

void vmmapset_remove(struct vmmapset *s, u64 start, u64 end)
{
    u32 i, j;

    if (start >= end)
        return;
    set_split(s, start);
    set_split(s, end);
    i = vmmapset_above(s, start);
    for (j = i; j < s->n && s->e[j].start < end; j++)
        ;
    if (j > i)
        set_shift(s, i, -(s32)(j - i));
}

void vmmapset_add(struct vmmapset *s, struct vmmap_entry e)
{
    u32 i;

    if (e.start >= e.end)
        return;
    vmmapset_remove(s, e.start, e.end);
    if (e.prot & VMMAP_PROT_WRITE)
        e.flags |= VMMAP_WRITTEN;
    i = vmmapset_above(s, e.start);
    set_shift(s, i, 1);
    s->e[i] = e;
    set_join(s, e.start, e.end);
}

void vmmapset_protect(struct vmmapset *s, u64 start, u64 end, u32 prot)
{
    if (start >= end)
        return;
    set_split(s, start);
    set_split(s, end);
    for (u32 i = vmmapset_above(s, start); i < s->n && s->e[i].start < end; i++) {
        s->e[i].prot = prot;
        if (prot & VMMAP_PROT_WRITE)
            s->e[i].flags |= VMMAP_WRITTEN;
    }
    set_join(s, start, end);
}
