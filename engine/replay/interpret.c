// SPDX-License-Identifier: MIT
// Interprets records (interpret.h).
#include "engine/replay/interpret.h"

#include "engine/callgraph/calls.h"
#include "engine/count/ahead.h"
#include "engine/count/caches.h"
#include "engine/count/cores.h"
#include "engine/count/helpers.h"
#include "engine/count/ll.h"
#include "engine/count/reftrace.h"
#include "engine/count/rep.h"
#include "engine/replay/arena.h"
#include "engine/spool/config.h"
#include "sim/cache.h"

u64 interpret_value(u64 sp, u32 slot, const u64 *record)
{
    if (slot == RECORD_NO_SLOT)
        return 0;
    return slot == RECORD_STACK_SLOT ? sp : record[slot];
}

static void ref(struct thread *t, const struct record_op *o, const u64 *slot, bool undone)
{
    u64 addr = o->add + interpret_value(t->replay_sp, o->base, slot) +
               (interpret_value(t->replay_sp, o->index, slot) << o->scale);

    reftrace_ref((enum reftrace_item)o->way, addr, o->size, undone);
    caches_dref(t, addr,
                sim_clip(o->size, tb_config.min_line) |
                    caches_way(o->way != REFTRACE_WRITE, o->way != REFTRACE_READ),
                o->counter);
}

static void learn_branch(struct thread *t, u64 pc)
{
    if (tb_config.sampled && t->core_phase == CORES_LEARN)
        cores_learn_branch(t, (u32)pc);
}

static void conditional(struct thread *t, u64 pc, bool taken, u32 counter)
{
    bool missed;

    reftrace_cond(pc, taken, false);
    missed = caches_branch(t, pc, taken, counter);
    if (tb_config.core)
        cores_branch(t, taken, missed);
    if (taken)
        learn_branch(t, pc);
}

void interpret_indirect(struct thread *t, u64 branch, u64 target, u32 counter)
{
    bool missed;

    if (!(branch & CACHES_RETURN))
        reftrace_indirect(target);
    missed = caches_indirect(t, branch, target);
    if (missed)
        ll_counts(t);
    cores_count_branch(t, counter, branch & CACHES_RETURN ? CORES_BRM : CORES_BIM, missed);
    if (tb_config.core)
        cores_branch(t, true, missed);
    learn_branch(t, branch);
}

void interpret_joint(struct thread *t, const struct record_op *o, bool taken, u64 target)
{
    if (!tb_config.branch || o->way == RECORD_JOINT_UNPREDICTED)
        return;
    if (o->way == RECORD_JOINT_INDIRECT) {
        interpret_indirect(t, o->add, target, o->counter);
    } else {
        conditional(t, o->add, taken, o->counter);
    }
}

static void learn_fetch(struct thread *t, const struct record_op *o)
{
    if (tb_config.sampled && t->core_phase == CORES_LEARN)
        cores_learn_fetch(t, o->add, o->bytes);
}

static void fetch(struct thread *t, const struct record_op *o)
{
    bool missed;

    if (t->is_ahead && o->first != o->last) {
        ahead_fetch(t, o->add, o->bytes, o->first, o->last, o->counter);
        return;
    }
    missed = caches_iref(t, o->add, o->bytes, o->first, o->last);
    if (missed)
        caches_i1_missed(t, o->add, o->bytes, o->counter, o->last);
    if (tb_config.core)
        cores_fetch(t, missed);
    learn_fetch(t, o);
}

void interpret_learn_fetch(struct thread *t, const struct record_op *o)
{
    cores_learn_fetch(t, o->add, o->bytes);
}

void interpret_frame(struct thread *t, enum frames_late what, u32 frame, u32 counter)
{
    if (t->is_ahead) {
        ahead_frame(t, what, frame, counter);
        return;
    }
    ll_drain_batch(t); // what comes next belongs to another call
    if (tb_config.core)
        cores_end(t);
    frames_replay(t, what, frame, counter);
}

void interpret_op(struct thread *t, const struct record_op *o, const u64 *slot, bool undone)
{
    switch ((enum record_kind)o->kind) {
    case RECORD_FETCH:
        reftrace_fetch(o->add, o->bytes, undone);
        fetch(t, o);
        break;
    case RECORD_REF: ref(t, o, slot, undone); break;
    case RECORD_REP: rep_replay(t, slot + o->base, o->add, o->what, o->counter); break;
    case RECORD_VEC: helpers_replay_vec(t, slot + o->base, o->what, o->counter); break;
    case RECORD_LOCKED:
        // Cachegrind reads twice, too (translate/blockrecord.c).
        if (!undone)
            reftrace_count_read();
        reftrace_cond(o->add, false, undone);
        caches_branch(t, o->add, false, o->counter);
        break;
    case RECORD_JOINT:
        if (!undone) // no operand of the branch was read
            interpret_joint(t, o, o->way == RECORD_JOINT_TAKEN, o->first | (u64)o->last << 32);
        break;
    case RECORD_CALL:
        if (undone)
            break;
        caches_indirect(t, o->add, 0);
        learn_branch(t, o->add);
        break;
    case RECORD_ENTERED:
        if (!undone)
            interpret_frame(t, FRAMES_ENTER, (u32)slot[o->base], 0);
        break;
    case RECORD_LEFT:
        if (undone)
            break;
        interpret_frame(t, FRAMES_LEAVE, (u32)slot[o->base], (u32)slot[o->index]);
        if (!tb_config.calls_lazy) // as make_left() of routine.c
            frames_replay(t, FRAMES_ENTER, (u32)slot[o->base], 0);
        break;
    case RECORD_SAME:
        reftrace_fetch(o->add, o->bytes, undone);
        learn_fetch(t, o);
        break;
    }
}

static void tail(struct thread *t, const struct record_block *b, const u64 *slot)
{
    if (b->tail == RECORD_COND) {
        t->record_tail = b;
    } else if (b->tail == RECORD_INDIRECT) {
        interpret_indirect(t, b->branch, slot[b->slots - 1], b->counter);
    }
}

// One more than the number of the last instruction of a record with so many ops: of all, or, at a
// joint where the superblock is left, of its branch.
static u32 record_end(const struct record_block *b, u32 nops)
{
    return nops == b->nops ? FRAGMENT_INSNS_MAX : record_ops(b)[nops].insn + 1u;
}

static void begin(struct thread *t, const struct cores_insn *i)
{
    u32 begun = cores_begin(t, i);

    if (begun & 1u << CORES_LEARN)
        caches_branches_begin(t);
    if (begun & 1u << CORES_RUN_IN) // from here on it is known at once where a reference is found
        ll_drain(t);
}

u32 interpret_insns(const struct record_block *b, u32 nops)
{
    const struct cores_insn *c = record_cores(b);
    u32 n = 0, end = record_end(b, nops);

    while (n < b->ncores && c[n].insn < end)
        n++;
    return n;
}

void interpret_timed(struct thread *t, const struct record_block *b, u32 nops, u32 end,
                     const u64 *record)
{
    const struct cores_insn *c = record_cores(b), *last = c + b->ncores;
    u32 i = 0;

    for (; c < last && c->insn < end; c++) {
        begin(t, c);
        for (; i < nops && record_ops(b)[i].insn <= c->insn; i++)
            interpret_op(t, &record_ops(b)[i], record, false);
    }
}

const u64 *interpret_record(struct thread *t, const u64 *record)
{
    const struct record_block *b;
    struct record_side e;
    bool timed;

    arena_check(*(const u32 *)record);
    b = arena_block(*(const u32 *)record);
    if (UNLIKELY(b->nsides && *record >> 32 > b->nsides))
        arena_refuse((u32)*record);
    e = arena_extent(b, record);

    timed = tb_config.core && cores_interpreted(t);
    reftrace_code(b->map, b->pc);
    if (timed)
        interpret_timed(t, b, e.nops, record_end(b, e.nops), record);
    else
        for (u32 i = 0; i < e.nops; i++)
            interpret_op(t, &record_ops(b)[i], record, false);
    if (tb_config.sampled && !timed)
        cores_skip(t, interpret_insns(b, e.nops));
    if (e.nops == b->nops)
        tail(t, b, record);
    else
        interpret_joint(t, &record_ops(b)[e.nops],
                        record_ops(b)[e.nops].way == RECORD_JOINT_NOT_TAKEN, record[e.slots - 1]);
    t->replay_sp = interpret_value(t->replay_sp, e.sp, record) + (u64)e.sp_add;
    return record + e.slots;
}

void interpret_d1(struct thread *t, u32 counter, u32 size, u64 addr)
{
    caches_dref(t, addr, size, counter);
}

void interpret_i1(struct thread *t, u32 counter, u32 id, u64 pc)
{
    if (caches_iref(t, pc, 1, id, id))
        caches_i1_missed(t, pc, 1, counter, id);
}

void interpret_cond(struct thread *t, u32 counter, u32 taken, u64 pc)
{
    caches_branch(t, pc, taken != 0, counter);
    if (taken)
        learn_branch(t, pc);
}

void interpret_target(struct thread *t, u32 counter, u64 pc, u64 target)
{
    interpret_indirect(t, pc, target, counter);
}

static void branch(struct thread *t, const struct record_block *b, bool taken)
{
    reftrace_code(b->map, b->branch);
    conditional(t, b->branch, taken, b->counter);
}

void interpret_came(struct thread *t, u64 pc)
{
    const struct record_block *b = t->record_tail;

    t->record_tail = NULL;
    if (!b)
        return;
    reftrace_begin(t);
    branch(t, b, pc == b->taken);
    reftrace_end(t);
}

const u64 *interpret_branch(struct thread *t, const u64 *record)
{
    const struct record_block *b = t->record_tail;
    u32 id = *(const u32 *)record;
    bool said = id == RECORD_TAKEN || id == RECORD_NOT_TAKEN;

    if (!b)
        return record + said; // a replay was killed after it
    if (!said)
        arena_check(id);
    t->record_tail = NULL;
    branch(t, b, said ? id == RECORD_TAKEN : arena_block(id)->pc == b->taken);
    return record + said;
}
