// SPDX-License-Identifier: MIT
// What the other layers call of engine/objects, for tests of runs without --data=yes.
#ifndef QUERN_TESTS_OBJECTS_NONE_H
#define QUERN_TESTS_OBJECTS_NONE_H

#include "engine/objects/alloc.h"
#include "engine/objects/many.h"
#include "engine/objects/mappings.h"
#include "engine/objects/objects.h"
#include "engine/objects/objtable.h"
#include "engine/objects/pools.h"
#include "tests/unit/objects/lineuse_none.h"
#include "tests/unit/objects/sharing_none.h"

void (*objtable_record)(struct thread *t, u64 now);

void objtable_forget_lock(void) {}

void objtable_zero(void)
{
    fail();
}

void objtable_buffer_begins(struct thread *t, u64 at)
{
    (void)t, (void)at;
}

void objtable_buffer_replays(struct thread *t, u64 at)
{
    (void)t, (void)at;
}

void objects_init(void) {}

void objects_thread_init(struct thread *t)
{
    (void)t;
}

void objects_miss(const struct thread *t, u64 addr, u32 counter, u32 l2, u32 ll)
{
    (void)t, (void)addr, (void)counter, (void)l2, (void)ll;
    fail();
}

bool many_wait;
u32 many_fetch;

void many_init(bool levels)
{
    (void)levels;
}

void many_time(struct thread *t, u64 at)
{
    t->objects_at = at;
}

u32 many_event(struct thread *t, const u64 *record)
{
    t->objects_at = record[1];
    return alloc_words((u32)(record[0] >> 32));
}

bool alloc_in_order;
u64 *(*alloc_record)(struct thread *t, const u64 *words, u32 n);
void (*alloc_drain)(struct thread *t);

void alloc_second_thread(struct thread *t)
{
    (void)t;
}

void many_thread_init(struct thread *t)
{
    (void)t;
}

void many_buffer_replays(struct thread *t, u64 at)
{
    (void)t, (void)at;
}

void many_settle(struct thread *t)
{
    if (many_wait)
        many_queue(t)->end = (u64)t->self + TA_MANY;
}

void many_full(struct thread *t)
{
    many_settle(t);
}

#ifndef OBJECTS_POINTS // else the test has them

u32 alloc_point(u64 pc)
{
    (void)pc;
    fail();
    return 0;
}

void alloc_reached(struct thread *t, u32 point)
{
    (void)t, (void)point;
    fail();
}

#endif

void alloc_block(struct thread *t, u64 at, u64 start, u64 bytes)
{
    (void)t, (void)at, (void)start, (void)bytes;
}

void alloc_resized(struct thread *t, u64 start, u64 bytes)
{
    (void)t, (void)start, (void)bytes;
}

void alloc_freed(struct thread *t, u64 start)
{
    (void)t, (void)start;
}

void pools_create(u64 pool)
{
    (void)pool;
}

void pools_destroy(struct thread *t, u64 pool)
{
    (void)t, (void)pool;
}

void pools_alloc(struct thread *t, u64 at, u64 pool, u64 start, u64 bytes)
{
    (void)t, (void)at, (void)pool, (void)start, (void)bytes;
}

void pools_free(struct thread *t, u64 pool, u64 start)
{
    (void)t, (void)pool, (void)start;
}

void pools_trim(struct thread *t, u64 pool, u64 start, u64 bytes)
{
    (void)t, (void)pool, (void)start, (void)bytes;
}

void pools_move(u64 pool, u64 to)
{
    (void)pool, (void)to;
}

void pools_change(struct thread *t, u64 at, u64 pool, u64 from, u64 to, u64 bytes)
{
    (void)t, (void)at, (void)pool, (void)from, (void)to, (void)bytes;
}

void mappings_program(int fd, const char *path, u64 start, u64 bytes)
{
    (void)fd, (void)path, (void)start, (void)bytes;
}

void mappings_stack(u64 low, u64 sp, u64 end)
{
    (void)low, (void)sp, (void)end;
}

void mappings_thread_stack(struct thread *t, u64 sp)
{
    (void)t, (void)sp;
}

void mappings_tls(struct thread *t, u64 fs)
{
    (void)t, (void)fs;
}

void mappings_vdso(u64 start, u64 end)
{
    (void)start, (void)end;
}

void mappings_file(struct thread *t, u64 start, u64 end, int fd, u64 offset)
{
    (void)t, (void)start, (void)end, (void)fd, (void)offset;
}

void mappings_anonymous(struct thread *t, u64 start, u64 end)
{
    (void)t, (void)start, (void)end;
}

void mappings_shared(struct thread *t, u64 start, u64 end)
{
    (void)t, (void)start, (void)end;
}

void mappings_break(struct thread *t, u64 start, u64 end)
{
    (void)t, (void)start, (void)end;
}

void mappings_removed(struct thread *t, u64 start, u64 end)
{
    (void)t, (void)start, (void)end;
}

void mappings_moved(struct thread *t, u64 old, u64 old_end, u64 to, u64 to_end, bool keeps)
{
    (void)t, (void)old, (void)old_end, (void)to, (void)to_end, (void)keeps;
}

#endif
