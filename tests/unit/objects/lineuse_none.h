// SPDX-License-Identifier: MIT
// What the other layers call of engine/objects/lineuse, for tests in which no line is followed.
#ifndef QUERN_TESTS_LINEUSE_NONE_H
#define QUERN_TESTS_LINEUSE_NONE_H

#include "engine/objects/lineuse.h"

u32 (*lineuse_find)(const struct thread *t, u64 addr, bool *waits);
bool (*lineuse_in_d1)(const struct thread *t, u64 line);

void lineuse_thread_init(struct thread *t)
{
    (void)t;
}

void lineuse_missed(struct thread *t, u64 addr)
{
    (void)t, (void)addr;
    fail();
}

void lineuse_touched(struct thread *t, u64 addr, u32 size, u32 refs)
{
    (void)t, (void)addr, (void)size, (void)refs;
    fail();
}

void lineuse_settle(const struct thread *t, u64 start, u64 end, u32 object)
{
    (void)t, (void)start, (void)end, (void)object;
}

void lineuse_zero(void) {}

u64 *(*lineuse_queue)(struct thread *t, u64 addr);
bool lineuse_may_wait;

void lineuse_found(u64 *word, u32 object)
{
    (void)word, (void)object;
    fail();
}

void lineuse_found_open(const struct thread *t, u64 *word, u64 addr, u32 object)
{
    (void)t, (void)word, (void)addr, (void)object;
    fail();
}

void lineuse_collect(struct thread *t, u64 from, u64 end)
{
    (void)t, (void)from, (void)end;
}

#endif
