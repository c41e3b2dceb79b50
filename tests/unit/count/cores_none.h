// SPDX-License-Identifier: MIT
// In place of engine/count/cores.c, where no core is simulated.
#ifndef QUERN_TESTS_CORES_NONE_H
#define QUERN_TESTS_CORES_NONE_H

#include "engine/count/cores.h"

void cores_thread_init(struct thread *t)
{
    (void)t;
}

u32 cores_begin(struct thread *t, const struct cores_insn *i)
{
    (void)t;
    (void)i;
    return 0;
}

void cores_fetch(struct thread *t, bool missed)
{
    (void)t;
    (void)missed;
}

void cores_ref(struct thread *t, u64 addr, u32 size, u32 counter, bool missed)
{
    (void)t;
    (void)addr;
    (void)size;
    (void)counter;
    (void)missed;
}

void cores_branch(struct thread *t, bool taken, bool mispredicted)
{
    (void)t;
    (void)taken;
    (void)mispredicted;
}

void cores_end(struct thread *t)
{
    (void)t;
}

void cores_weigh_branch(struct thread *t, u32 counter, enum cores_branch_kind kind, bool missed)
{
    (void)t;
    (void)counter;
    (void)kind;
    (void)missed;
}

void cores_learn_fetch(struct thread *t, u64 pc, u32 bytes)
{
    (void)t;
    (void)pc;
    (void)bytes;
}

void cores_learn_branch(struct thread *t, u32 pc)
{
    (void)t;
    (void)pc;
}

static const s64 cores_none_left = 1l << 40;

void cores_ahead_begin(struct thread *a)
{
    a->core_phase = CORES_OFF;
    a->core_left = cores_none_left;
}

u64 cores_ahead_insns(const struct thread *a)
{
    return (u64)(cores_none_left - a->core_left);
}

#endif
