// SPDX-License-Identifier: MIT
// Sets of LL gathered for a forked child (llfork.h).
//
// Children list the sets that they miss in memory shared with the parent. The list is only a hint:
// a child that is killed may leave anything in it.
#include "engine/count/llfork.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/count/vector.h"
#include "engine/spool/spooler.h"

#define SETS      1024u // gathered, at most
#define SLOT_BITS 11
#define LISTED    2048u
#define REFS      8192u // after these a child is not short-lived

bool llfork_on;

static struct {
    u32 *tags; // of all sets
    u32 stride, sets;
} ll;

static struct list {
    u32 n; // may exceed LISTED
    u32 set[LISTED];
} * list;

// Contiguous, because a fork's child copies all of it.
static struct gathered_sets {
    u32 n;
    u32 refs_left;            // references until the child is not short-lived
    u16 slot[1 << SLOT_BITS]; // by a hash of the set: its index + 1
    u32 set[SETS];
    bool used[SETS];
    u32 *tags; // ll.stride for each set, and one vector more
} * gathered;

void llfork_init(u32 *tags, u32 stride, u32 sets)
{
    ll.tags = tags;
    ll.stride = stride;
    ll.sets = sets;
}

// Routines call this: no string instructions.
static void copy_tags(u32 *to, const u32 *from)
{
    for (u32 i = 0; i < ll.stride; i++)
        to[i] = from[i];
}

static u32 *home(u32 set)
{
    return ll.tags + (u64)set * ll.stride;
}

static u32 *copy_of(u32 k)
{
    return gathered->tags + k * ll.stride;
}

// The hash slot that has the set, or would.
static u16 *slot_of(u32 set)
{
    u32 k = set * 0x9e3779b1u >> (32 - SLOT_BITS);

    while (gathered->slot[k] && gathered->set[gathered->slot[k] - 1] != set)
        k = (k + 1) & ((1u << SLOT_BITS) - 1);
    return &gathered->slot[k];
}

static bool has_memory(void)
{
    static bool tried;
    u64 tags = (SETS * ll.stride + 16) * sizeof(u32);

    if (!tried && ll.tags && !(spool->flags & SPOOL_F_NO_PRETRANSLATE) &&
        (list = heap_shared(sizeof(*list)))) {
        gathered = heap_pages(sizeof(*gathered) + 64 + tags);
        gathered->tags = (u32 *)(((u64)(gathered + 1) + 63) & ~63ul);
    }
    tried = true;
    return gathered != NULL;
}

// Adds the sets that children have asked for. A full buffer starts anew with these.
static void take_list(void)
{
    u32 n = __atomic_exchange_n(&list->n, 0, __ATOMIC_ACQUIRE);

    for (u32 i = 0; i < n && i < LISTED; i++) {
        u32 set = __atomic_load_n(&list->set[i], __ATOMIC_RELAXED);
        u16 *slot;

        if (set >= ll.sets)
            continue;
        slot = slot_of(set);
        if (*slot)
            continue;
        if (gathered->n == SETS) {
            memset(gathered->slot, 0, sizeof(gathered->slot));
            gathered->n = 0;
            slot = slot_of(set);
        }
        gathered->set[gathered->n] = set;
        *slot = (u16)++gathered->n;
    }
}

void llfork_before_fork(void)
{
    if (llfork_on)
        llfork_end(true);
    if (!has_memory() || !ll.tags)
        return;
    take_list();
    for (u32 k = 0; k < gathered->n; k++) {
        copy_tags(copy_of(k), home(gathered->set[k]));
        gathered->used[k] = false;
    }
    gathered->refs_left = REFS;
}

void llfork_fork_child(void)
{
    if (!gathered || !ll.tags)
        return;
    llfork_on = true;
    vector_sets.ll_tags = NULL;
}

u32 *llfork_set(u32 set)
{
    u32 k = *slot_of(set), i;

    if (!--gathered->refs_left) {
        llfork_end(true);
        return home(set);
    }
    if (k) {
        gathered->used[k - 1] = true;
        return copy_of(k - 1);
    }
    i = __atomic_fetch_add(&list->n, 1, __ATOMIC_RELAXED);
    if (i < LISTED)
        __atomic_store_n(&list->set[i], set, __ATOMIC_RELAXED);
    return home(set);
}

void llfork_end(bool write_back)
{
    llfork_on = false;
    for (u32 k = 0; write_back && k < gathered->n; k++) {
        if (gathered->used[k])
            copy_tags(home(gathered->set[k]), copy_of(k));
    }
    vector_sets.ll_tags = ll.tags;
}
