// SPDX-License-Identifier: MIT
// In place of engine/count/curve.c, where there is no --curve.
#ifndef QUERN_TESTS_CURVE_NONE_H
#define QUERN_TESTS_CURVE_NONE_H

#include "engine/count/curve.h"

void curve_init(void) {}

void curve_thread_init(struct thread *t)
{
    (void)t;
}

void curve_forget_lock(void) {}

bool curve_lines_agree(void)
{
    return true;
}

void curve_data(struct thread *t, u64 addr, u32 size, bool write)
{
    (void)t;
    (void)addr;
    (void)size;
    (void)write;
}

void curve_fetch(struct thread *t, u64 pc, u32 len)
{
    (void)t;
    (void)pc;
    (void)len;
}

void curve_data_missed(struct thread *t, u64 addr, u32 size, bool write)
{
    curve_data(t, addr, size, write);
}

void curve_fetch_missed(struct thread *t, u64 pc, u32 len)
{
    curve_fetch(t, pc, len);
}

#endif
