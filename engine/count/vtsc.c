// SPDX-License-Identifier: MIT
// The number of instructions that a thread has executed (vtsc.h): the sum over blocks of executions
// times instructions. Translated code does nothing for it; the reader pays, in proportion to the
// number of blocks.
//
// The list has every block that has a record in the spool, and grows with these.
#include "engine/count/vtsc.h"

#include "engine/base/heap.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/spool/spooler.h"

struct counted {
    u32 counter, insns;
};

static struct lock list_lock;
static struct counted *list;
static u64 used, size, seen; // seen: bytes of the spool's blocks

// @holds(list_lock)
static void grow(void)
{
    u64 more = size ? size * 2 : 4096;
    struct counted *l = heap_alloc(more * sizeof(*l));

    memcpy(l, list, used * sizeof(*l));
    if (list)
        heap_free(list, size * sizeof(*l));
    list = l;
    size = more;
}

// @holds(list_lock)
static void catch_up(void)
{
    u64 end = __atomic_load_n(&spool->blocks_used, __ATOMIC_ACQUIRE);

    while (seen < end) {
        const struct spool_block *b = spooler_block_at((u32)(seen / 8));

        if (used == size)
            grow();
        list[used++] = (struct counted){ b->counter, b->flags & SPOOL_B_SUM ? b->map : b->insns };
        seen += (sizeof(*b) + b->insns * sizeof(struct spool_insn) + 7) & ~7ul;
    }
}

static u64 executed(const struct thread *t)
{
    u64 sum = t->partial_insns;

    lock_take(&list_lock);
    catch_up();
    for (u64 i = 0; i < used; i++)
        sum += t->counters[list[i].counter] * list[i].insns;
    lock_drop(&list_lock);
    return sum;
}

u64 vtsc_now(struct thread *t)
{
    return executed(t) + t->vtsc_base;
}

void vtsc_before_clear(struct thread *t)
{
    if (spool->flags & SPOOL_F_COUNTED)
        t->vtsc_base = vtsc_now(t) - t->partial_insns;
}

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
u64 vtsc_random(struct thread *t)
{
    u64 z = t->random += 0x9e3779b97f4a7c15ul;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    return z ^ z >> 31;
}

// The slot's counters include those of earlier threads.
void vtsc_thread_init(struct thread *t, struct thread *parent)
{
    if (spool->flags & (SPOOL_F_COUNTED | SPOOL_F_REPRODUCIBLE))
        t->random = vtsc_random(parent);
    if (spool->flags & SPOOL_F_COUNTED)
        t->vtsc_base = vtsc_now(parent) - executed(t);
}
