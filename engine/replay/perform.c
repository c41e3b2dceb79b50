// SPDX-License-Identifier: MIT
// Single references of a record (perform.h).
#include "engine/replay/perform.h"

#include "engine/count/caches.h"
#include "engine/count/prof.h"
#include "engine/count/strings.h"
#include "engine/replay/area.h"

u64 perform_value(u64 sp, u32 slot, const u64 *record)
{
    if (slot == LOG_NO_SLOT)
        return 0;
    return slot == LOG_STACK_SLOT ? sp : record[slot];
}

static void ref(struct thread *t, const struct log_op *o, const u64 *slot)
{
    u64 addr = o->add + perform_value(t->replay_sp, o->base, slot) +
               (perform_value(t->replay_sp, o->index, slot) << o->scale);

    caches_dref(t, addr, o->size, o->counter);
}

void perform_op(struct thread *t, const struct log_op *o, const u64 *slot)
{
    switch ((enum log_kind)o->kind) {
    case LOG_FETCH:
        if (caches_iref(t, o->add, o->size, o->first, o->last))
            caches_l1_missed(t, o->add, o->size, o->counter);
        break;
    case LOG_REF: ref(t, o, slot); break;
    case LOG_REP: strings_replay(t, slot + o->base, o->add, o->what, o->counter); break;
    case LOG_VEC: prof_replay_vec(t, slot + o->base, o->what, o->counter); break;
    case LOG_LOCKED: caches_branch(t, o->add, false, o->counter); break;
    }
}

void perform_d1(struct thread *t, u32 counter, u32 size, u64 addr)
{
    caches_dref(t, addr, size, counter);
}

void perform_i1(struct thread *t, u32 counter, u32 id, u64 pc)
{
    if (caches_iref(t, pc, 1, id, id))
        caches_l1_missed(t, pc, 1, counter);
}

void perform_came(struct thread *t, u64 pc)
{
    const struct log_block *b = t->log_tail;

    t->log_tail = NULL;
    if (b)
        caches_branch(t, b->branch, pc == b->taken, b->counter);
}

const u64 *perform_branch(struct thread *t, const u64 *record)
{
    const struct log_block *b = t->log_tail;
    u32 id = *(const u32 *)record;
    bool said = id == LOG_TAKEN || id == LOG_NOT_TAKEN;

    if (!b)
        return record;
    t->log_tail = NULL;
    caches_branch(t, b->branch, said ? id == LOG_TAKEN : area_block(id)->pc == b->taken,
                  b->counter);
    return record + said;
}
