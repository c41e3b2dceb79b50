// SPDX-License-Identifier: MIT
// Pools and their blocks (pools.h).
#include "engine/objects/pools.h"

#include "engine/base/heap.h"
#include "engine/objects/alloc.h"
#include "engine/objects/objtable.h"
#include "engine/objects/ranges.h"
#include "engine/spool/config.h"

// By address: the numbers of pools, one byte each; the blocks of all pools, with their numbers.
static struct ranges names = { .set = 3, .forgets = true };
static struct ranges members = { .set = 4, .forgets = true };

// By number: where the blocks of a pool are at most.
static struct pool {
    u64 low, high;
    u32 next; // of a free number: the next one
} * pools;
static u64 capacity;     // bytes
static u32 used, unused; // the first number is 1

static struct pool *pool_at(u32 number)
{
    return &pools[number - 1];
}

// The number of a pool; 0: it is none. @holds(objtable's lock)
static u32 number_of(u64 pool)
{
    struct ranges_range in;

    return ranges_now(&names, pool, &in) ? in.object : 0;
}

void pools_create(u64 pool)
{
    u32 number;

    if (!tb_config.data)
        return;
    objtable_lock();
    number = number_of(pool);
    if (!number && unused) {
        number = unused;
        unused = pool_at(number)->next;
    } else if (!number) {
        pools = heap_grown(pools, used * sizeof(*pools), sizeof(*pools), &capacity);
        number = ++used;
    }
    *pool_at(number) = (struct pool){ .low = ~0ul };
    ranges_put(&names, pool, pool + 1, number, 0, 0);
    objtable_unlock();
}

// The next block of a pool that ends behind *from, which becomes its end. False: there is none.
static bool next_block(u64 pool, u64 *from, struct ranges_range *block)
{
    bool found = false;
    u32 number;

    objtable_lock();
    number = number_of(pool);
    if (number && *from < pool_at(number)->low)
        *from = pool_at(number)->low;
    while (number && !found && *from < pool_at(number)->high &&
           ranges_next(&members, *from, block)) {
        found = block->object == number && block->start < pool_at(number)->high;
        *from = block->end;
    }
    objtable_unlock();
    return found;
}

static void forget(struct thread *t, u64 start, u64 end)
{
    if (start >= end)
        return;
    objtable_lock();
    ranges_clear(&members, start, end, 0);
    objtable_unlock();
    alloc_cleared(t, start, end);
}

void pools_trim(struct thread *t, u64 pool, u64 start, u64 bytes)
{
    u64 from = 0, end = start + bytes;
    struct ranges_range b;

    if (!tb_config.data)
        return;
    while (next_block(pool, &from, &b)) {
        forget(t, b.start, b.end < start ? b.end : start);
        forget(t, b.start > end ? b.start : end, b.end);
    }
}

void pools_destroy(struct thread *t, u64 pool)
{
    u32 number;

    if (!tb_config.data)
        return;
    pools_trim(t, pool, 0, 0);
    objtable_lock();
    number = number_of(pool);
    if (number) {
        ranges_clear(&names, pool, pool + 1, 0);
        pool_at(number)->next = unused;
        unused = number;
    }
    objtable_unlock();
}

void pools_alloc(struct thread *t, u64 at, u64 pool, u64 start, u64 bytes)
{
    u64 end = start + (bytes ? bytes : 1);
    u32 number;

    if (!tb_config.data || !start || start >> 47 || bytes >> 47)
        return;
    objtable_lock();
    number = number_of(pool);
    if (number) {
        ranges_put(&members, start, end, number, 0, 0);
        if (pool_at(number)->low > start)
            pool_at(number)->low = start;
        if (pool_at(number)->high < end)
            pool_at(number)->high = end;
    }
    objtable_unlock();
    alloc_block(t, at, start, bytes);
}

void pools_free(struct thread *t, u64 pool, u64 start)
{
    struct ranges_range b;
    bool is;

    if (!tb_config.data)
        return;
    objtable_lock();
    is = ranges_now(&members, start, &b) && b.start == start && b.object == number_of(pool);
    objtable_unlock();
    if (is)
        forget(t, b.start, b.end);
    else
        alloc_freed(t, start); // of a pool that was not created
}

void pools_move(u64 pool, u64 to)
{
    u32 number;

    if (!tb_config.data)
        return;
    objtable_lock();
    number = number_of(pool);
    if (number) {
        ranges_clear(&names, pool, pool + 1, 0);
        ranges_put(&names, to, to + 1, number, 0, 0);
    }
    objtable_unlock();
}

void pools_change(struct thread *t, u64 at, u64 pool, u64 from, u64 to, u64 bytes)
{
    pools_free(t, pool, from);
    pools_alloc(t, at, pool, to, bytes);
}
