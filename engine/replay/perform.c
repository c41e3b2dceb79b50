// SPDX-License-Identifier: MIT
// Single references of a record (perform.h).
#include "engine/replay/perform.h"

#include "engine/count/caches.h"
#include "engine/count/calls.h"
#include "engine/count/prof.h"
#include "engine/count/reftrace.h"
#include "engine/count/strings.h"
#include "engine/replay/area.h"
#include "engine/spool/config.h"
#include "sim/cache.h"

u64 perform_value(u64 sp, u32 slot, const u64 *record)
{
    if (slot == LOG_NO_SLOT)
        return 0;
    return slot == LOG_STACK_SLOT ? sp : record[slot];
}

static void ref(struct thread *t, const struct log_op *o, const u64 *slot, bool undone)
{
    u64 addr = o->add + perform_value(t->replay_sp, o->base, slot) +
               (perform_value(t->replay_sp, o->index, slot) << o->scale);

    reftrace_ref((enum reftrace_item)o->way, addr, o->size, undone);
    caches_dref(t, addr, sim_clip(o->size, tb_config.min_line), o->counter);
}

void perform_indirect(struct thread *t, u64 branch, u64 target, u32 counter)
{
    reftrace_indirect(target);
    if (caches_indirect(t, (u32)(branch & 511), target))
        calls_count(t, counter, 1);
}

void perform_joint(struct thread *t, const struct log_op *o, bool taken, u64 target)
{
    if (!tb_config.branch || o->way == LOG_JOINT_RETURN)
        return;
    if (o->way == LOG_JOINT_INDIRECT) {
        perform_indirect(t, o->add, target, o->counter);
    } else {
        reftrace_cond(o->add, taken, false);
        caches_branch(t, o->add, taken, o->counter);
    }
}

void perform_op(struct thread *t, const struct log_op *o, const u64 *slot, bool undone)
{
    switch ((enum log_kind)o->kind) {
    case LOG_FETCH:
        reftrace_fetch(o->add, o->bytes, undone);
        if (caches_iref(t, o->add, o->bytes, o->first, o->last))
            caches_l1_missed(t, o->add, o->bytes, o->counter);
        break;
    case LOG_REF: ref(t, o, slot, undone); break;
    case LOG_REP: strings_replay(t, slot + o->base, o->add, o->what, o->counter); break;
    case LOG_VEC: prof_replay_vec(t, slot + o->base, o->what, o->counter); break;
    case LOG_LOCKED:
        // Cachegrind reads a second time, too (translate/record.c).
        if (!undone)
            reftrace_count_read();
        reftrace_cond(o->add, false, undone);
        caches_branch(t, o->add, false, o->counter);
        break;
    case LOG_JOINT:
        if (!undone) // no operand of the branch could be read
            perform_joint(t, o, o->way == LOG_JOINT_TAKEN, o->first | (u64)o->last << 32);
        break;
    case LOG_SAME: reftrace_fetch(o->add, o->bytes, undone); break;
    }
}

static void tail(struct thread *t, const struct log_block *b, const u64 *slot)
{
    if (b->tail == LOG_COND) {
        t->log_tail = b;
    } else if (b->tail == LOG_INDIRECT) {
        perform_indirect(t, b->branch, slot[b->slots - 1], b->counter);
    }
}

const u64 *perform_record(struct thread *t, const u64 *record)
{
    const struct log_block *b;
    struct log_side e;

    area_check(*(const u32 *)record);
    b = area_block(*(const u32 *)record);
    if (UNLIKELY(b->nsides && *record >> 32 > b->nsides))
        area_refuse((u32)*record);
    e = area_extent(b, record);

    for (u32 i = 0; i < e.nops; i++)
        perform_op(t, &log_ops(b)[i], record, false);
    if (e.nops == b->nops)
        tail(t, b, record);
    else
        perform_joint(t, &log_ops(b)[e.nops], log_ops(b)[e.nops].way == LOG_JOINT_NOT_TAKEN,
                      record[e.slots - 1]);
    t->replay_sp = perform_value(t->replay_sp, e.sp, record) + (u64)e.sp_add;
    return record + e.slots;
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

static void branch(struct thread *t, const struct log_block *b, bool taken)
{
    reftrace_cond(b->branch, taken, false);
    caches_branch(t, b->branch, taken, b->counter);
}

void perform_came(struct thread *t, u64 pc)
{
    const struct log_block *b = t->log_tail;

    t->log_tail = NULL;
    if (!b)
        return;
    reftrace_begin(t);
    branch(t, b, pc == b->taken);
    reftrace_end(t);
}

const u64 *perform_branch(struct thread *t, const u64 *record)
{
    const struct log_block *b = t->log_tail;
    u32 id = *(const u32 *)record;
    bool said = id == LOG_TAKEN || id == LOG_NOT_TAKEN;

    if (!b)
        return record + said; // a replay was killed behind it
    if (!said)
        area_check(id);
    t->log_tail = NULL;
    branch(t, b, said ? id == LOG_TAKEN : area_block(id)->pc == b->taken);
    return record + said;
}
