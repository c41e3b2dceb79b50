// SPDX-License-Identifier: MIT
// What engine/count calls of engine/objects/sharing, for tests of one thread.
#ifndef QUERN_TESTS_SHARING_NONE_H
#define QUERN_TESTS_SHARING_NONE_H

#include "engine/objects/sharing.h"

u32 sharing_off = 1;
u64 *sharing_lines, *sharing_seen;

void sharing_begin(void) {}
void sharing_fork_child(void) {}
void sharing_zero(void) {}
void sharing_forget_lock(void) {}

u32 sharing_changes(void)
{
    fail();
    return 0;
}

void sharing_ref(struct thread *t, u64 addr, u32 size, bool stores, u32 counter)
{
    (void)t, (void)addr, (void)size, (void)stores, (void)counter;
    fail();
}

#endif
