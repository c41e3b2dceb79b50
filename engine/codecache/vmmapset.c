// SPDX-License-Identifier: MIT
// The map of client memory as a set (vmmapset.h). The tree is libbsd's <bsd/sys/tree.h>, macros
// without dependencies. A sorted array, used before, is faster up to some thousands of entries, but
// takes 1.4 to 8 ms for a pair of calls with 64,530. No locks, no system calls; the unit test
// compiles this file unchanged.

#include "engine/codecache/vmmapset.h"

#include "engine/base/heap.h"

enum { VMMAP_PROT_WRITE = 2 }; // PROT_WRITE, without sys.h: this file is hosted in its test

// Ordered by ends: look-ups ask for the first entry that ends above an address, and for disjoint
// ranges the order by starts is the same.
static int by_end(const struct vmmap_entry *a, const struct vmmap_entry *b)
{
    return a->end < b->end ? -1 : a->end > b->end;
}

// Not the static forms: they use a macro that libbsd 0.11 no longer defines. The linker drops what
// is not called.
RB_PROTOTYPE(vmmapset, vmmap_entry, node, by_end)
RB_GENERATE(vmmapset, vmmap_entry, node, by_end)

struct vmmap_entry *vmmapset_above(struct vmmapset *s, u64 addr)
{
    struct vmmap_entry key = { .end = addr + 1 };

    return key.end ? RB_NFIND(vmmapset, s, &key) : NULL;
}

struct vmmap_entry *vmmapset_next(struct vmmap_entry *e)
{
    return RB_NEXT(vmmapset, , e);
}

u64 vmmapset_gap(struct vmmapset *s, u64 len, u64 top)
{
    struct vmmap_entry *e = vmmapset_above(s, top);

    if (e && e->start < top) // e holds top
        top = e->start;
    e = e ? RB_PREV(vmmapset, , e) : RB_MAX(vmmapset, s);
    for (; e; e = RB_PREV(vmmapset, , e)) {
        if (e->end < top && top - e->end >= len)
            return top - len;
        if (e->start < top)
            top = e->start;
    }
    return top > len ? top - len : 0;
}

struct vmmap_entry *vmmapset_find(struct vmmapset *s, u64 addr)
{
    struct vmmap_entry *e = vmmapset_above(s, addr);

    return e && e->start <= addr ? e : NULL;
}

static void insert(struct vmmapset *s, const struct vmmap_entry *e)
{
    struct vmmap_entry *copy = heap_alloc(sizeof(*copy));

    *copy = *e;
    RB_INSERT(vmmapset, s, copy);
}

static void drop(struct vmmapset *s, struct vmmap_entry *e)
{
    RB_REMOVE(vmmapset, s, e);
    heap_free(e, sizeof(*e));
}

// Splits the entry that crosses addr, if any. The lower half keeps its node: the order holds.
static void split(struct vmmapset *s, u64 addr)
{
    struct vmmap_entry *e = vmmapset_above(s, addr), upper;

    if (!e || e->start >= addr)
        return;
    upper = *e;
    upper.start = addr;
    e->end = addr;
    insert(s, &upper);
}

static bool joins(const struct vmmap_entry *a, const struct vmmap_entry *b)
{
    return a->end == b->start && a->prot == b->prot && a->flags == b->flags &&
           a->map_plus_one == b->map_plus_one;
}

// Joins what can be joined among the entries that touch [start, end].
static void join(struct vmmapset *s, u64 start, u64 end)
{
    struct vmmap_entry *e = vmmapset_above(s, start ? start - 1 : 0), *next;

    for (; e && e->start <= end && (next = vmmapset_next(e)); e = next) {
        if (!joins(e, next))
            continue;
        // The upper one replaces both: its start may change, as the order is by ends.
        next->start = e->start;
        drop(s, e);
    }
}

void vmmapset_remove(struct vmmapset *s, u64 start, u64 end)
{
    struct vmmap_entry *e, *next;

    if (start >= end)
        return;
    split(s, start);
    split(s, end);
    for (e = vmmapset_above(s, start); e && e->start < end; e = next) {
        next = vmmapset_next(e);
        drop(s, e);
    }
}

void vmmapset_add(struct vmmapset *s, struct vmmap_entry e)
{
    if (e.start >= e.end)
        return;
    vmmapset_remove(s, e.start, e.end);
    if (e.prot & VMMAP_PROT_WRITE)
        e.flags |= VMMAP_WRITTEN;
    insert(s, &e);
    join(s, e.start, e.end);
}

void vmmapset_protect(struct vmmapset *s, u64 start, u64 end, u32 prot)
{
    struct vmmap_entry *e;

    if (start >= end)
        return;
    split(s, start);
    split(s, end);
    for (e = vmmapset_above(s, start); e && e->start < end; e = vmmapset_next(e)) {
        e->prot = prot;
        if (prot & VMMAP_PROT_WRITE)
            e->flags |= VMMAP_WRITTEN;
    }
    join(s, start, end);
}
