// SPDX-License-Identifier: MIT
// Sets of LL that lie together for a forked child (near.h).
//
// Children put the sets that they miss into a list in memory that is shared with their parent. It
// is a hint and nothing else: whoever is killed may leave anything there.
#include "engine/count/llfork.h"

#include "engine/base/heap.h"
#include "engine/base/nolibc.h"
#include "engine/count/vector.h"
#include "engine/spool/spooler.h"

#define SETS      1024u // that lie together, at most
#define SLOT_BITS 11
#define LISTED    2048u
#define REFS      8192u // of a child, after which it is no short one

bool llfork_on;

static struct {
    u32 *tags; // of all sets
    u32 stride, sets;
} ll;

static struct list {
    u32 n; // may be more than are listed
    u32 set[LISTED];
} * list;

// In one piece, for all of it is copied for a child.
static struct together {
    u32 n;
    u32 left;                 // references until the child is no short one
    u16 slot[1 << SLOT_BITS]; // by a hash of the set: its place + 1
    u32 set[SETS];
    bool used[SETS];
    u32 *tags; // ll.stride for each place, and one vector more
} * near;

void llfork_init(u32 *tags, u32 stride, u32 sets)
{
    ll.tags = tags;
    ll.stride = stride;
    ll.sets = sets;
}

// No string instruction may be in what routines call.
static void copy_tags(u32 *to, const u32 *from)
{
    for (u32 i = 0; i < ll.stride; i++)
        to[i] = from[i];
}

static u32 *home(u32 set)
{
    return ll.tags + (u64)set * ll.stride;
}

static u32 *place(u32 k)
{
    return near->tags + k * ll.stride;
}

// Where the set's place is noted, or would be.
static u16 *slot_of(u32 set)
{
    u32 k = set * 0x9e3779b1u >> (32 - SLOT_BITS);

    while (near->slot[k] && near->set[near->slot[k] - 1] != set)
        k = (k + 1) & ((1u << SLOT_BITS) - 1);
    return &near->slot[k];
}

static bool has_memory(void)
{
    static bool tried;
    u64 tags = (SETS * ll.stride + 16) * sizeof(u32);

    if (!tried && ll.tags && !(spool->flags & SPOOL_F_NO_AHEAD) &&
        (list = heap_shared(sizeof(*list)))) {
        near = heap_pages(sizeof(*near) + 64 + tags);
        near->tags = (u32 *)(((u64)(near + 1) + 63) & ~63ul);
    }
    tried = true;
    return near != NULL;
}

// What children have asked for. Where there is no more room it begins anew, with these.
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
        if (near->n == SETS) {
            memset(near->slot, 0, sizeof(near->slot));
            near->n = 0;
            slot = slot_of(set);
        }
        near->set[near->n] = set;
        *slot = (u16)++near->n;
    }
}

void llfork_before_fork(void)
{
    if (llfork_on)
        llfork_end(true);
    if (!has_memory() || !ll.tags)
        return;
    take_list();
    for (u32 k = 0; k < near->n; k++) {
        copy_tags(place(k), home(near->set[k]));
        near->used[k] = false;
    }
    near->left = REFS;
}

void llfork_fork_child(void)
{
    if (!near || !ll.tags)
        return;
    llfork_on = true;
    vector_sets.ll_tags = NULL;
}

u32 *llfork_set(u32 set)
{
    u32 k = *slot_of(set), i;

    if (!--near->left) {
        llfork_end(true);
        return home(set);
    }
    if (k) {
        near->used[k - 1] = true;
        return place(k - 1);
    }
    i = __atomic_fetch_add(&list->n, 1, __ATOMIC_RELAXED);
    if (i < LISTED)
        __atomic_store_n(&list->set[i], set, __ATOMIC_RELAXED);
    return home(set);
}

void llfork_end(bool keep)
{
    llfork_on = false;
    for (u32 k = 0; keep && k < near->n; k++) {
        if (near->used[k])
            copy_tags(home(near->set[k]), place(k));
    }
    vector_sets.ll_tags = ll.tags;
}
