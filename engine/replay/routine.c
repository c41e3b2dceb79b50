// SPDX-License-Identifier: MIT
// Generated routines (routine.h). All registers and flags are free and every constant is in the
// code; routine.S describes the registers. The caches keep recency by stamps (sim/stamps.h): a
// reference whose hint is right is a compare and a store. Everything else is done in C.
//
// The clock ticks before a data reference, unless the previous one used the same value and is so
// near that both cannot be in different lines of one set. It also ticks after the last fetch of a
// routine, so that the first fetch of the next one gets another stamp (the lines that one block
// fetches are adjacent).
#include "engine/replay/routine.h"

#include "engine/base/cpu.h"
#include "engine/base/lock.h"
#include "engine/base/nolibc.h"
#include "engine/count/caches.h"
#include "engine/count/cores.h"
#include "engine/count/curve.h"
#include "engine/count/levels.h"
#include "engine/count/ll.h"
#include "engine/count/vector.h"
#include "engine/objects/many.h"
#include "engine/replay/arena.h"
#include "engine/replay/interpret.h"
#include "engine/replay/routinecalls.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/x86/asm.h"
#include "share/reftrace.h"
#include "sim/stamps.h"

#define COLD_MAX  (3 * RECORD_OPS_MAX + 4 + 4 * RECORD_SIDES_MAX) // also for groups and sides
#define NEAR_SETS 64u                                             // more than the lines of a block
#define PREFETCH  1024 // bytes of records that are prefetched from another processor's cache

// routine.S
extern const char routine_exit[], routine_to_d1[], routine_to_op[], routine_to_next[];
extern const char routine_drain[], routine_late_drain[], routine_avx2_drain[];
extern const char routine_ahead_note[], routine_ahead_left[], routine_ahead_back[];
extern const char routine_begin_frame[], routine_end_frame[], routine_renew_frame[];
extern const char routine_to_ll[], routine_to_cold[], routine_to_cond[], routine_to_indirect[];
extern const char routine_to_learn[];
extern const char routine_sampled[], routineseen_any[], routineseen_other[];
extern const char routine_miss_d1[], routine_miss_d1_used[], routine_objects_at[];
extern const char routine_used_d1_8[], routine_used_d1_16[], routine_waits_drain[];
extern const char routine_late_used_d1_8[], routine_late_used_d1_16[];
extern const char routine_miss_i1[], routine_miss_i1_two[];
extern const char routine_miss_d1_8[], routine_miss_d1_16[];
extern const char routine_miss_i1_8[], routine_miss_i1_16[];
extern const char routine_late_d1_8[], routine_late_d1_16[];
extern const char routine_late_i1_8[], routine_late_i1_16[];
extern const char routine_avx2_d1_8[], routine_avx2_d1_12[], routine_avx2_d1_16[];
extern const char routine_avx2_i1_4[], routine_avx2_i1_8[], routine_avx2_i1_16[];

enum part_kind {
    PART_REF,
    PART_GROUP,
    PART_OP,
    PART_BRANCH,
    PART_INDIRECT,
    PART_LEARN,
    PART_LEARN_FETCH,
    PART_LEARN_TARGET,
    PART_PHASE,
    PART_SIDE,
    PART_LEFT,
    PART_SETTLED
};

// A cold part, after the main path.
struct part {
    enum part_kind kind;
    struct x86_label from[2];
    u64 back;
    const struct record_op *op;
    u32 n; // ops of a group
    bool taken;
    u64 branch; // its address, and the counter of its mispredictions
    u32 counter;
    u32 line; // PART_SIDE: as in struct maker, where the joint is
    bool ticked;
    struct routine_tail *tail;
};

// How a routine continues; the argument of routine_to_next.
struct routine_tail {
    u32 block; // by its offset, as all below
    u32 line;  // id of the line fetched last
    u8 nlinks;
    bool conditional; // it ends in a branch of unknown outcome
    bool settled;     // no further link can be made
    struct {
        u32 id;    // compared with the next record's id
        u32 rel32; // the end of the jump's displacement
        u32 to;    // the target; 0: not linked
    } link[];      // of a conditional branch: taken, not taken
};

// A routine of routine.S, and the register for the counter.
struct way_out {
    const char *to;
    u32 counter;
};

struct maker {
    struct x86 code;
    struct record_block *block;
    struct arena_space *room; // has its tails
    struct routine_tail *tail;
    struct part part[COLD_MAX];
    u32 nparts;
    u32 line;    // id of the line fetched last
    bool ticked; // since it was
    struct {
        bool valid;
        u16 root;
        s64 low, high;
    } group;                                            // references since the clock ticked
    struct x86_label look_up[2 + 2 * RECORD_SIDES_MAX]; // jumps to the look-up of the next routine
    u32 nlook_up;
    struct way_out d1, i1; // of a miss in one line
};

static void objects_make(void)
{
    struct x86 a;

    if (!tb_config.data)
        return;
    a = routinecalls_between(RECORD_OBJECTS, RECORD_FIRST);
    routinecalls_drain(&a, many_wait ? routine_waits_drain : routine_to_ll);
    x86_fix(&a, x86_call(&a), (u64)routine_objects_at);
    routinecalls_skip(&a, 2);
    routinecalls_look_up(&a);
    if (a.full || a.p > (u8 *)arena_head(RECORD_FIRST))
        engine_die("no space for the replay of times");
}

u32 routine_mask; // for routine.S

void routine_init(void)
{
    struct x86 a = routinecalls_between(ROUTINE_COLD, RECORD_END);

    routine_mask = (SIM_STAMPS_HINTS - 1) << tb_config.d1_shift;
    x86_fix(&a, x86_jmp(&a), (u64)routine_to_cold);
    a = routinecalls_between(RECORD_END, RECORD_STACK);
    x86_fix(&a, x86_jmp(&a), (u64)routine_exit);
    a = routinecalls_between(RECORD_STACK, RECORD_ENTER);
    x86_mov(&a, R15, MEM(R_RBX, 8));
    x86_mov32(&a, R_RAX, MEM(R_RBX, 16));
    x86_lea(&a, R_RBX, MEM(R_RBX, 16));
    routinecalls_look_up(&a);
    routinecalls_make(&(struct routinecalls_asm){
        .to_ll = many_wait ? routine_waits_drain : routine_to_ll,
        .drain = many_wait                 ? routine_waits_drain
                 : !tb_config.calls_lazy   ? routine_drain
                 : tb_config.vectors == 64 ? routine_late_drain
                                           : routine_avx2_drain,
        .begin_frame = routine_begin_frame,
        .end_frame = routine_end_frame,
        .renew_frame = routine_renew_frame,
        .ahead_note = routine_ahead_note,
        .ahead_left = routine_ahead_left,
        .ahead_back = routine_ahead_back,
    });
    objects_make();
}

static struct part *new_part(struct maker *m, enum part_kind kind, struct x86_label from)
{
    struct part *p = &m->part[m->nparts++];

    *p = (struct part){ .kind = kind, .from = { from, { 0, 0 } } };
    return p;
}

static u32 offset_of(const void *in_area)
{
    return (u32)((u64)in_area - REPLAY_BASE);
}

static void tick(struct maker *m)
{
    x86_lea(&m->code, R_RBP, MEM(R_RBP, CACHES_TICK));
    m->ticked = true;
}

static void call_op(struct maker *m, const struct record_op *o)
{
    x86_mov_imm(&m->code, R_RSI, offset_of(o));
    x86_fix(&m->code, x86_call(&m->code), (u64)routine_to_op);
}

// -- fetches --

static struct x86_label check_line(struct maker *m, u32 reg, u32 id)
{
    x86_movzx16_rm(&m->code, reg, MEM(R12, TA_I1_HINTS + 2 * (s64)id));
    x86_test32_rr(&m->code, reg, reg);
    return x86_jcc(&m->code, CC_E);
}

static void stamp_line(struct maker *m, u32 reg)
{
    x86_mov(&m->code, MEM_X(R12, reg, 3, TA_I1_STAMPS - 8), R_RBP);
}

// What a phase of learning does instead of going on at the label.
static struct part *learn(struct maker *m, enum part_kind kind)
{
    struct part *p;

    x86_cmp8_mi(&m->code, MEM(R12, TH_CORE_PHASE), CORES_OFF);
    p = new_part(m, kind, x86_jcc(&m->code, CC_NE));
    p->back = x86_here(&m->code);
    return p;
}

static void learn_fetch(struct maker *m, const struct record_op *o)
{
    if (tb_config.sampled && tb_config.predictor)
        learn(m, PART_LEARN_FETCH)->op = o;
}

static void fetch(struct maker *m, const struct record_op *o)
{
    bool begins = m->line == 0, both = o->first != m->line && o->last != o->first;
    struct part *p;

    learn_fetch(m, o);
    if (!begins && (tb_config.i1_sets < NEAR_SETS || (o->way && !m->ticked)))
        tick(m);
    m->line = o->last;
    m->ticked = false;
    if (o->first >= TA_I1_IDS || o->last >= TA_I1_IDS || (both && tb_config.i1_sets < 2)) {
        call_op(m, o);
        return;
    }
    p = new_part(m, PART_OP, check_line(m, R_RCX, both ? o->first : o->last));
    if (both) {
        p->from[1] = check_line(m, R_RDX, o->last);
        stamp_line(m, R_RDX);
    }
    stamp_line(m, R_RCX);
    p->op = o;
    p->back = x86_here(&m->code);
    if (o == record_ops(m->block) && !both)
        m->block->after = (u8)(p->back - (u64)m->code.start);
}

// -- data references --

static void tick_for(struct maker *m, const struct record_op *o)
{
    s64 low = (s64)o->add, high = low + o->size;
    s64 span = (s64)(tb_config.d1_sets - 1) << tb_config.d1_shift;

    if (m->group.valid && o->index == RECORD_NO_SLOT && o->base == m->group.root) {
        if (m->group.low < low)
            low = m->group.low;
        if (m->group.high > high)
            high = m->group.high;
        if ((u64)high - (u64)low <= (u64)span && high > low) {
            m->group.low = low;
            m->group.high = high;
            return;
        }
        low = (s64)o->add;
        high = low + o->size;
    }
    tick(m);
    m->group.valid = o->index == RECORD_NO_SLOT;
    m->group.root = o->base;
    m->group.low = low;
    m->group.high = high;
}

// rax := the address, with `add` in place of o's own.
static void address(struct maker *m, const struct record_op *o, u64 add)
{
    struct x86 *a = &m->code;
    u32 base = REG_NONE, index = REG_NONE;

    if (o->base == RECORD_STACK_SLOT) {
        base = R15;
    } else if (o->base != RECORD_NO_SLOT) {
        x86_mov(a, R_RAX, MEM(R_RBX, o->base * 8));
        base = R_RAX;
    }
    if (o->index == RECORD_STACK_SLOT) {
        index = R15;
    } else if (o->index != RECORD_NO_SLOT) {
        x86_mov(a, R_RDX, MEM(R_RBX, o->index * 8));
        index = R_RDX;
    }
    if (base == REG_NONE && index == REG_NONE) {
        x86_mov_imm(a, R_RAX, add);
    } else if ((s64)add == (s32)add) {
        if (base != R_RAX || index != REG_NONE || add)
            x86_lea(a, R_RAX, MEM_X(base, index, o->scale, (s64)add));
    } else {
        x86_mov_imm(a, R_RCX, add);
        if (base != REG_NONE)
            x86_lea(a, R_RAX, MEM_X(base, R_RCX, 0, 0));
        else
            x86_mov(a, R_RAX, R_RCX);
        if (index != REG_NONE)
            x86_lea(a, R_RAX, MEM_X(R_RAX, index, o->scale, 0));
    }
}

// rcx := the way in which its line was last.
static void hint(struct maker *m, const struct record_op *o)
{
    struct x86 *a = &m->code;

    if (o->base == RECORD_NO_SLOT && o->index == RECORD_NO_SLOT) {
        u32 line = (u32)(o->add >> tb_config.d1_shift) % SIM_STAMPS_HINTS;

        x86_movzx16_rm(a, R_RCX, MEM(R_RDI, 2 * (s64)line));
        return;
    }
    if (cpu.pext && !(spool->flags & SPOOL_F_NO_VECTORS)) {
        x86_pext32_rrr(a, R_RCX, R_RAX, R9);
        x86_movzx16_rm(a, R_RCX, MEM_X(R_RDI, R_RCX, 1, 0));
        return;
    }
    if (cpu.bmi2) {
        x86_rorx32_rri(a, R_RCX, R_RAX, tb_config.d1_shift - 1);
    } else {
        x86_mov(a, R_RCX, R_RAX);
        x86_shr32_ri8(a, R_RCX, tb_config.d1_shift - 1);
    }
    x86_and32_ri(a, R_RCX, (SIM_STAMPS_HINTS - 1) * 2);
    x86_movzx16_rm(a, R_RCX, MEM_X(R_RDI, R_RCX, 0, 0));
}

// One check of `size` bytes at `add` in place of o's own. If they are not in one line, or not where
// the hint says, the part handles them: o, unless another is set.
static struct part *check(struct maker *m, const struct record_op *o, u64 add, u32 size)
{
    u32 room = spool->d1.line - size;
    struct x86 *a = &m->code;
    struct part *p;

    address(m, o, add);
    hint(m, o);
    x86_sub_rm(a, R_RAX, MEM_X(R_RSI, R_RCX, 3, 0));
    if (room < 128)
        x86_cmp_ri8(a, R_RAX, room);
    else
        x86_cmp_ri(a, R_RAX, room);
    p = new_part(m, PART_REF, x86_jcc(a, CC_A));
    x86_mov(a, MEM_X(R8, R_RCX, 3, 0), R_RBP);
    p->op = o;
    p->back = x86_here(a);
    return p;
}

static void ref(struct maker *m, const struct record_op *o)
{
    tick_for(m, o);
    check(m, o, o->add, o->size);
}

// How many references from o on use one value and fit into a line: if they are in one line, and its
// hint is right, one check serves all. Else they are in two lines of two sets, which may have the
// same stamp.
static u32 group(const struct maker *m, const struct record_op *o, s64 *low, s64 *high)
{
    const struct record_op *end = record_ops(m->block) + m->block->nops;
    u32 n = 1;

    *low = (s64)o->add;
    *high = *low + o->size;
    if (o->index != RECORD_NO_SLOT || o->base == RECORD_NO_SLOT || tb_config.d1_sets < 2)
        return n;
    for (; o + n < end; n++) {
        const struct record_op *next = o + n;
        s64 from = (s64)next->add, to = from + next->size;

        if (next->kind != RECORD_REF || next->index != RECORD_NO_SLOT || next->base != o->base)
            break;
        from = from < *low ? from : *low;
        to = to > *high ? to : *high;
        if ((u64)(to - from) > spool->d1.line / 2) // a longer one is in two lines too often
            break;
        *low = from;
        *high = to;
    }
    return n;
}

static u32 refs(struct maker *m, const struct record_op *o)
{
    s64 low, high;
    u32 n = group(m, o, &low, &high);
    struct part *p;

    if (n == 1) {
        ref(m, o);
        return n;
    }
    for (u32 i = 0; i < n; i++)
        tick_for(m, o + i);
    p = check(m, o, (u64)low, (u32)(high - low));
    p->kind = PART_GROUP;
    p->n = n;
    return n;
}

// -- the end of a record --

static void call_target(struct maker *m, u64 branch, u32 counter)
{
    struct x86 *a = &m->code;

    x86_mov_imm(a, R_RDX, branch);
    x86_mov_imm(a, R_RSI, counter);
    x86_fix(a, x86_call(a), (u64)routine_to_indirect);
}

static void call_cond(struct maker *m, u64 branch, u32 counter, bool taken)
{
    struct x86 *a = &m->code;

    x86_mov_imm(a, R_RAX, branch);
    x86_mov_imm(a, R_RDX, taken);
    x86_mov_imm(a, R_RSI, counter);
    x86_fix(a, x86_call(a), (u64)routine_to_cond);
    x86_mov32(a, R_RAX, MEM(R_RBX, 0)); // after a record: the next id
}

// With samples the predictor sees a branch only in CORES_LEARN.
static void learn_branch(struct maker *m, enum part_kind kind, u64 branch, u32 counter, bool taken)
{
    struct part *p;

    if (!tb_config.predictor)
        return;
    p = learn(m, kind);
    p->branch = branch;
    p->counter = counter;
    p->taken = taken;
}

// The target is in rax.
static void predict_target(struct maker *m, u64 branch, u32 counter)
{
    struct x86 *a = &m->code;
    struct part *p;

    if (tb_config.learns) {
        learn_branch(m, PART_LEARN_TARGET, branch, counter, true);
        return;
    }
    if (tb_config.predictor) {
        call_target(m, branch, counter);
        return;
    }
    x86_cmp(a, R_RAX, MEM(R12, TA_BTAC + (s64)(branch & 511) * 8));
    p = new_part(m, PART_INDIRECT, x86_jcc(a, CC_NE));
    p->back = x86_here(a);
    p->branch = branch;
    p->counter = counter;
}

// Whether branches that leave a record are predicted without a jump.
static bool is_even(void)
{
    return !tb_config.calls && !tb_config.predictor && !tb_config.learns &&
           !(spool->flags & SPOOL_F_NO_HINTS);
}

// As predict_evenly().
static void predict_target_evenly(struct maker *m, u64 branch, u32 counter)
{
    struct x86_mem last = MEM(R12, TA_BTAC + (s64)(branch & 511) * 8);
    struct x86 *a = &m->code;

    if (!is_even()) {
        predict_target(m, branch, counter);
        return;
    }
    x86_mov(a, R_RCX, MEM(R12, TH_MISSES));
    x86_mov(a, R_RDX, last);
    x86_mov(a, last, R_RAX);
    x86_sub_rr(a, R_RDX, R_RAX);
    x86_neg_r(a, R_RDX); // carry: it was another one
    x86_adc_mi8(a, MEM(R_RCX, (s64)counter * 8), 0);
}

static struct x86_mem branch_counter(u64 branch)
{
    return MEM_X(R12, R13, 0, TA_BRANCH + (s64)(branch & 127));
}

static void note_outcome(struct x86 *a, bool taken)
{
    x86_lea(a, R13, MEM_X(R13, R13, 0, taken ? 128 : 0));
    x86_and32_ri(a, R13, 0x3f80);
}

static void predict(struct maker *m, u64 branch, u32 counter, bool taken)
{
    struct x86 *a = &m->code;
    struct part *p;

    if (tb_config.learns) {
        learn_branch(m, PART_LEARN, branch, counter, taken);
        return;
    }
    if (tb_config.predictor) {
        call_cond(m, branch, counter, taken);
        return;
    }
    x86_cmp8_mi(a, branch_counter(branch), taken ? 3 : 0);
    p = new_part(m, PART_BRANCH, x86_jcc(a, CC_NE));
    p->taken = taken;
    p->branch = branch;
    p->counter = counter;
    p->back = x86_here(a);
    note_outcome(a, taken);
}

// The same for a branch that leaves its record, without a jump. Superblocks go on where outcomes
// are foreseen, so these are the others: the simulated predictor is often wrong, and so was the
// host's about that jump (docs/design/030).
static void predict_evenly(struct maker *m, u64 branch, u32 counter, bool taken)
{
    struct x86_mem misses = MEM(R_RCX, (s64)counter * 8), c = branch_counter(branch);
    struct x86 *a = &m->code;

    if (!is_even()) {
        predict(m, branch, counter, taken);
        return;
    }
    x86_mov(a, R_RCX, MEM(R12, TH_MISSES));
    x86_cmp8_mi(a, c, 2); // carry: not taken is predicted
    if (taken) {
        x86_adc_mi8(a, misses, 0);
        x86_cmp8_mi(a, c, 3);
        x86_adc8_mi8(a, c, 0); // one more, up to 3
    } else {
        x86_sbb_mi8(a, misses, 0xff); // one more without carry
        x86_cmp8_mi(a, c, 1);
        x86_adc8_mi8(a, c, 0xff); // one less, down to 0
    }
    note_outcome(a, taken);
}

// The branch at the record's end.
static void predict_tail(struct maker *m, bool taken)
{
    predict_evenly(m, m->block->branch, m->block->counter, taken);
}

// Code words that are changed while other threads run must not cross a line of the host's cache.
static void avoid_line_crossing(struct x86 *a, u32 ahead)
{
    u64 at = x86_here(a) + ahead;

    if ((at & 63) > 60)
        x86_nops(a, 64 - (u32)(at & 63));
}

static struct x86_label compare_id(struct maker *m, u32 k)
{
    struct x86 *a = &m->code;

    avoid_line_crossing(a, 2);
    x86_cmp32_ri(a, R_RAX, ~0u);
    m->tail->link[k].id = offset_of(a->p - 4);
    avoid_line_crossing(a, 2);
    return x86_jcc(a, CC_E);
}

// The jump leads to the look-up until the link is made.
static void link_at(struct maker *m, u32 k, struct x86_label jump)
{
    m->tail->link[k].rel32 = offset_of(m->code.start + jump.at + 4);
    m->look_up[m->nlook_up++] = jump;
}

// No link matches the next record.
static void go_on(struct maker *m)
{
    struct x86 *a = &m->code;
    struct part *p;

    x86_cmp8_mi(a, MEM(R14, offset_of(&m->tail->settled)), 0);
    p = new_part(m, PART_SETTLED, x86_jcc(a, CC_NE));
    p->tail = m->tail;
    p->back = x86_here(a);
    x86_mov_imm(a, R_RSI, offset_of(m->tail));
    x86_fix(a, x86_jmp(a), (u64)routine_to_next);
}

// No link can be made: does what routine_next() would, except for entries between records.
static void settled(struct maker *m, const struct part *p)
{
    struct x86 *a = &m->code;
    struct x86_label taken;

    if (!p->tail->conditional) {
        routinecalls_look_up(&m->code);
        return;
    }
    x86_cmp32_ri(a, R_RAX, RECORD_FIRST);
    x86_fix(a, x86_jcc(a, CC_B), p->back);
    x86_mov32(a, R_RCX, MEM_X(R14, R_RAX, 0, -(s64)sizeof(struct arena_head)));
    x86_mov_imm(a, R_RDX, m->block->taken);
    x86_cmp(a, R_RDX, MEM_X(R14, R_RCX, 0, offsetof(struct record_block, pc)));
    taken = x86_jcc(a, CC_E);
    predict_tail(m, false);
    routinecalls_look_up(&m->code);
    x86_land(a, taken);
    predict_tail(m, true);
    routinecalls_look_up(&m->code);
}

// The next word has the branch's outcome.
static void conditional_said(struct maker *m)
{
    struct x86 *a = &m->code;
    struct x86_label way[2], over;

    x86_cmp32_ri(a, R_RAX, RECORD_TAKEN);
    way[0] = x86_jcc(a, CC_E);
    x86_cmp32_ri(a, R_RAX, RECORD_NOT_TAKEN);
    way[1] = x86_jcc(a, CC_E);
    go_on(m);
    x86_land(a, way[0]);
    predict_tail(m, true);
    over = x86_jmp(a);
    x86_land(a, way[1]);
    predict_tail(m, false);
    x86_land(a, over);
    routinecalls_skip(a, 1);
    routinecalls_look_up(&m->code);
}

static void call_expected(struct maker *m)
{
    struct x86 *a = &m->code;
    struct x86_label other;

    x86_cmp32_ri(a, R_RAX, m->block->call);
    other = x86_jcc8(a, CC_NE);
    x86_fix(a, x86_call(a),
            (u64)(m->block->call == RECORD_ENTER ? routinecalls.enter : routinecalls.leave));
    x86_land(a, other);
}

static void conditional(struct maker *m)
{
    struct x86 *a = &m->code;
    struct x86_label edge[2] = { compare_id(m, 0), compare_id(m, 1) };

    go_on(m);
    for (u32 k = 0; k < 2; k++) {
        x86_land(a, edge[k]);
        predict_tail(m, k == 0);
        avoid_line_crossing(a, 1);
        link_at(m, k, x86_jmp(a));
    }
}

static void stack_behind(struct maker *m, const struct record_side *e)
{
    struct x86 *a = &m->code;

    if (e->sp == RECORD_NO_SLOT) {
        x86_mov_imm(a, R15, (u64)e->sp_add);
        return;
    }
    if (e->sp != RECORD_STACK_SLOT)
        x86_mov(a, R15, MEM(R_RBX, e->sp * 8));
    if (e->sp_add != (s32)e->sp_add) {
        x86_mov_imm(a, R_RAX, (u64)e->sp_add);
        x86_add_rr(a, R15, R_RAX);
    } else if (e->sp_add) {
        x86_lea(a, R15, MEM(R15, e->sp_add));
    }
}

// Near the end of a phase the records that follow are interpreted.
static void count_insns(struct maker *m, const struct record_side *e)
{
    bool whole = e->nops == m->block->nops;
    struct x86_label ended;

    x86_add_mi(&m->code, MEM(R12, TH_CORE_LEFT), 0u - interpret_insns(m->block, e->nops));
    ended = x86_jcc(&m->code, CC_S);
    if (whole && m->block->tail == RECORD_COND)
        new_part(m, PART_PHASE, ended);
    else
        x86_fix(&m->code, ended, (u64)routine_exit);
}

// The branch at the record's end has not been predicted.
static void part_phase(struct maker *m)
{
    struct x86 *a = &m->code;

    x86_mov_imm(a, R_RCX, (u64)m->block);
    x86_mov(a, MEM(R12, offsetof(struct thread, record_tail)), R_RCX);
    x86_fix(a, x86_jmp(a), (u64)routine_exit);
}

// Skips the record; eax := the next id.
static void skip_record(struct maker *m, const struct record_side *e)
{
    struct x86 *a = &m->code;

    stack_behind(m, e);
    x86_mov32(a, R_RAX, MEM(R_RBX, e->slots * 8));
    if (tb_config.replayer)
        x86_prefetcht0_m(a, MEM(R_RBX, e->slots * 8 + PREFETCH));
    x86_lea(a, R_RBX, MEM(R_RBX, e->slots * 8));
    x86_mov(a, MEM(R12, TH_RECORD), R_RBX);
    if (tb_config.sampled)
        count_insns(m, e);
}

static void begin_tail(struct maker *m, u32 links)
{
    u64 bytes = links * sizeof(m->tail->link[0]);

    m->tail = arena_take(m->room, sizeof(*m->tail) + bytes);
    *m->tail =
        (struct routine_tail){ .block = offset_of(m->block), .line = m->line, .nlinks = (u8)links };
    memset(m->tail->link, 0, bytes);
}

static void links_to(struct maker *m)
{
    for (u32 k = 0; k < m->tail->nlinks; k++)
        link_at(m, k, compare_id(m, k));
    go_on(m);
}

static void tail(struct maker *m)
{
    const struct record_block *b = m->block;
    struct record_side whole = {
        .slots = b->slots, .nops = b->nops, .sp = b->sp, .sp_add = b->sp_add
    };

    if (!m->ticked)
        tick(m);
    if (b->tail == RECORD_INDIRECT) {
        x86_mov(&m->code, R_RAX, MEM(R_RBX, (b->slots - 1) * 8));
        predict_target_evenly(m, b->branch, b->counter);
    }
    skip_record(m, &whole);
    begin_tail(m, b->tail == RECORD_COND ? 2 : b->nexts);
    m->tail->conditional = b->tail == RECORD_COND;
    if (b->call)
        call_expected(m);
    if (b->tail == RECORD_COND && b->said) {
        conditional_said(m);
    } else if (b->tail == RECORD_COND) {
        conditional(m);
    } else if (b->nexts) {
        links_to(m);
    } else {
        routinecalls_look_up(&m->code);
    }
}

// -- joints --

static void joint(struct maker *m, const struct record_op *o)
{
    struct x86 *a = &m->code;
    struct part *p;

    x86_cmp8_mi(a, MEM(R_RBX, 4), o->side);
    p = new_part(m, PART_SIDE, x86_jcc(a, CC_E));
    p->op = o;
    p->line = m->line;
    p->ticked = m->ticked;
    if (!tb_config.branch || o->way == RECORD_JOINT_UNPREDICTED)
        return;
    if (o->way == RECORD_JOINT_INDIRECT) {
        x86_mov_imm(a, R_RAX, o->first | (u64)o->last << 32);
        predict_target(m, o->add, o->counter);
    } else {
        predict(m, o->add, o->counter, o->way == RECORD_JOINT_TAKEN);
    }
}

static void part_side(struct maker *m, const struct part *p)
{
    const struct record_op *o = p->op;
    const struct record_side *e = &record_sides(m->block)[o->side - 1];

    m->line = p->line;
    m->ticked = p->ticked;
    if (!m->ticked)
        tick(m);
    if (e->indirect) {
        x86_mov(&m->code, R_RAX, MEM(R_RBX, (e->slots - 1) * 8));
        predict_target_evenly(m, o->add, o->counter);
    } else if (tb_config.branch && e->nexts) {
        predict_evenly(m, o->add, o->counter, o->way == RECORD_JOINT_NOT_TAKEN);
    }
    skip_record(m, e);
    if (e->nexts) {
        begin_tail(m, e->nexts);
        links_to(m);
    } else {
        routinecalls_look_up(&m->code);
    }
}

static void frame_lazily(struct maker *m, const struct record_op *o, bool left)
{
    struct x86 *a = &m->code;
    struct part *p;

    x86_mov(a, R_RCX, MEM(R_RBX, o->base * 8));
    if (!left) {
        x86_mov(a, MEM(R12, TH_LATE_TOP), R_RCX);
        return;
    }
    x86_cmp(a, R_RCX, MEM(R12, TH_LATE_LAST));
    p = new_part(m, PART_LEFT, x86_jcc(a, CC_BE));
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)tb_config.calls_frame));
    x86_mov(a, MEM(R12, TH_LATE_TOP), R_RCX);
    p->op = o;
    p->back = x86_here(a);
}

// Its frame has changed within the record.
static void frame(struct maker *m, const struct record_op *o)
{
    bool left = o->kind == RECORD_LEFT;
    struct x86 *a = &m->code;

    if (tb_config.calls_lazy) {
        frame_lazily(m, o, left);
        return;
    }
    x86_mov32(a, R_RCX, MEM(R_RBX, o->base * 8));
    if (left)
        x86_mov(a, R10, MEM(R_RBX, o->index * 8));
    x86_fix(a, x86_call(a), (u64)(left ? routinecalls.left : routinecalls.entered));
}

// -- cold parts --

static void count(struct maker *m, u32 n, enum spool_event e)
{
    if (tb_config.calls_lazy)
        x86_fix(&m->code, x86_call(&m->code), (u64)routinecalls.note);
    x86_mov(&m->code, R_RCX, MEM(R12, TH_MISSES));
    x86_inc_m(&m->code, MEM(R_RCX, (s64)n * 8));
    if (tb_config.calls)
        x86_inc_m(&m->code, routinecalls_total(R_RCX, spool_event_index(e, tb_config.flags)));
}

static void part_branch(struct maker *m, const struct part *p)
{
    struct x86 *a = &m->code;
    struct x86_label predicted;

    x86_cmp8_mi(a, branch_counter(p->branch), 2);
    predicted = x86_jcc8(a, p->taken ? CC_AE : CC_B);
    count(m, p->counter, SPOOL_E_BCM);
    x86_land(a, predicted);
    if (p->taken)
        x86_inc8_m(a, branch_counter(p->branch));
    else
        x86_dec8_m(a, branch_counter(p->branch));
}

// By vectors of 32 bytes, if sets are whole vectors.
static void miss_routines_avx2(struct maker *m)
{
    u32 d1 = caches_d1_stride(), i1 = spool->i1.assoc;

    if (!caches_by_whole_vectors())
        return;
    if (d1 == 8)
        m->d1 = (struct way_out){ routine_avx2_d1_8, R10 };
    else if (d1 == 16)
        m->d1 = (struct way_out){ spool->d1.assoc <= 12 ? routine_avx2_d1_12 : routine_avx2_d1_16,
                                  R10 };
    if (i1 == 4)
        m->i1.to = routine_avx2_i1_4;
    else if (i1 == 8)
        m->i1.to = routine_avx2_i1_8;
    else if (i1 == 16)
        m->i1.to = routine_avx2_i1_16;
}

static struct way_out way_out(const char *by_c, const char *by_vectors, const char *by_8,
                              const char *by_16, u32 ways)
{
    struct way_out w = { by_c, R_RSI };

    if (!caches_by_vectors())
        return w;
    w.to = by_vectors;
    if (caches_by_whole_vectors() && (ways == 8 || ways == 16))
        w = (struct way_out){ ways == 8 ? by_8 : by_16, R10 };
    return w;
}

static void miss_routines(struct maker *m)
{
    bool late = tb_config.calls_lazy;

    if (tb_config.vectors != 64) {
        m->d1 = (struct way_out){ routine_to_d1, R_RSI };
        m->i1 = (struct way_out){ NULL, R10 };
        miss_routines_avx2(m);
        return;
    }
    m->d1 = way_out(routine_to_d1, routine_miss_d1, late ? routine_late_d1_8 : routine_miss_d1_8,
                    late ? routine_late_d1_16 : routine_miss_d1_16, caches_d1_stride());
    m->i1 = way_out(NULL, routine_miss_i1, late ? routine_late_i1_8 : routine_miss_i1_8,
                    late ? routine_late_i1_16 : routine_miss_i1_16, spool->i1.assoc);
}

static struct way_out way_out_waits(void)
{
    bool used = tb_config.lineuse, eight = caches_d1_stride() == 8, late = tb_config.calls_lazy;
    struct way_out w = { used ? routine_miss_d1_used : routine_miss_d1, R_RSI };

    if (!many_wait || !caches_d1_by_whole_vectors() || (!eight && caches_d1_stride() != 16))
        return w;
    w.counter = R10;
    if (used && late)
        w.to = eight ? routine_late_used_d1_8 : routine_late_used_d1_16;
    else if (used)
        w.to = eight ? routine_used_d1_8 : routine_used_d1_16;
    else if (late)
        w.to = eight ? routine_late_d1_8 : routine_late_d1_16;
    else
        w.to = eight ? routine_miss_d1_8 : routine_miss_d1_16;
    return w;
}

static void ways_out(struct maker *m)
{
    miss_routines(m);
    if (tb_config.data) { // the others keep no more of an address than its line
        m->d1 = (struct way_out){ routine_to_d1, R_RSI };
        if (tb_config.vectors == 64 && caches_by_vectors())
            m->d1 = way_out_waits();
    }
    if (tb_config.curve && tb_config.data) // the test is for lines of the sample alone
        m->d1 = (struct way_out){ routine_to_d1, R_RSI };
    if (tb_config.curve && !curve_lines_agree()) {
        m->d1 = (struct way_out){ routine_to_d1, R_RSI };
        m->i1.to = NULL;
    }
}

// Arguments of the AVX2 code of routine.S for a fetch whose last line misses.
static void miss_by_avx2(struct maker *m, const struct record_op *o)
{
    struct x86 *a = &m->code;
    u64 end = o->add + o->bytes - 1;
    u64 size = (o->first == o->last ? 0u : o->bytes) | caches_fetch_bits(o->last);
    u32 set = (u32)(end >> tb_config.i1_shift) & (tb_config.i1_sets - 1);

    x86_mov_imm(a, R_RAX, o->add);
    x86_mov_imm(a, R_RCX, set * spool->i1.assoc);
    x86_mov_imm(a, R_RDX, o->last);
    x86_mov_imm(a, R10, o->counter | size << 32);
    x86_fix(a, x86_call(a), (u64)m->i1.to);
}

// A fetch that misses: in one line, or in a second line after the one fetched last.
static void part_op(struct maker *m, const struct part *p)
{
    const struct record_op *o = p->op;
    struct x86 *a = &m->code;
    bool two = o->first != o->last;
    u64 end = o->add + o->bytes - 1;
    bool sampled =
        curve_samples(o->add >> tb_config.i1_shift) || curve_samples(end >> tb_config.i1_shift);

    if (!m->i1.to || sampled || o->add >> 47 || p->from[1].bytes || (two && levels_are_on())) {
        call_op(m, o);
        return;
    }
    if (tb_config.vectors == 32) {
        miss_by_avx2(m, o);
        return;
    }
    x86_mov_imm(a, R_RAX, o->add);
    x86_mov_imm(a, R_RDX, o->last);
    x86_mov_imm(a, two ? R_RSI : m->i1.counter, o->counter | (u64)caches_fetch_bits(o->last) << 32);
    if (two) {
        x86_mov_imm(a, R_RDI, o->bytes - 1u);
        x86_mov_imm(a, R11, offset_of(o));
    }
    x86_fix(a, x86_call(a), (u64)(two ? routine_miss_i1_two : m->i1.to));
}

static void ref_in_c(struct maker *m, const struct record_op *o)
{
    struct x86 *a = &m->code;

    x86_mov_imm(a, R_RDX, o->size | caches_way(o->way != REFTRACE_WRITE, o->way != REFTRACE_READ));
    x86_mov_imm(a, R_RSI, o->counter);
    x86_fix(a, x86_call(a), (u64)routine_to_d1);
}

static void part_ref(struct maker *m, const struct part *p)
{
    struct x86 *a = &m->code;
    struct x86_label other;

    if (m->d1.to == routine_to_d1) {
        ref_in_c(m, p->op);
        return;
    }
    x86_mov_imm(a, R_RDX, p->op->size);
    if (tb_config.curve) {
        x86_fix(a, x86_call(a), (u64)routine_sampled);
        other = x86_jcc8(a, CC_NE);
        ref_in_c(m, p->op);
        x86_fix(a, x86_jmp(a), p->back);
        x86_land(a, other);
    } else if (tb_config.data) {
        x86_fix(a, x86_call(a),
                (u64)(spool->flags & SPOOL_F_NO_HINTS ? routineseen_any : routineseen_other));
        other = x86_jcc8(a, CC_NE);
        ref_in_c(m, p->op);
        x86_fix(a, x86_jmp(a), p->back);
        x86_land(a, other);
    }
    x86_mov_imm(a, m->d1.counter, p->op->counter);
    x86_fix(a, x86_call(a), (u64)m->d1.to);
}

static void emit_part(struct maker *m, const struct part *p)
{
    struct x86 *a = &m->code;

    x86_land(a, p->from[0]);
    if (p->from[1].bytes)
        x86_land(a, p->from[1]);
    switch (p->kind) {
    case PART_REF: part_ref(m, p); break;
    case PART_GROUP:
        for (u32 i = 0; i < p->n; i++)
            check(m, p->op + i, p->op[i].add, p->op[i].size);
        break;
    case PART_OP: part_op(m, p); break;
    case PART_BRANCH: part_branch(m, p); break;
    case PART_LEARN: call_cond(m, p->branch, p->counter, p->taken); break;
    case PART_LEARN_FETCH:
        x86_mov_imm(a, R_RSI, offset_of(p->op));
        x86_fix(a, x86_call(a), (u64)routine_to_learn);
        break;
    case PART_LEARN_TARGET: call_target(m, p->branch, p->counter); break;
    case PART_LEFT:
        x86_mov(a, R10, MEM(R_RBX, p->op->index * 8));
        x86_fix(a, x86_call(a), (u64)routinecalls.left);
        break;
    case PART_PHASE: part_phase(m); return;
    case PART_SIDE: part_side(m, p); return;
    case PART_SETTLED: settled(m, p); return;
    case PART_INDIRECT:
        x86_mov(a, MEM(R12, TA_BTAC + (s64)(p->branch & 511) * 8), R_RAX);
        count(m, p->counter, SPOOL_E_BIM);
        break;
    }
    x86_fix(a, x86_jmp(a), p->back);
}

// Makes a routine at `at`, with tails in `room`; returns its end.
static u8 *make(struct maker *m, const struct record_block *b, struct arena_space *room, u8 *at)
{
    ways_out(m);
    m->code = (struct x86){ at, at, at + ARENA_CODE_MAX, false };
    m->block = (struct record_block *)b; // which is in the arena
    m->room = room;
    m->nparts = m->nlook_up = m->line = 0;
    m->ticked = m->group.valid = false;
    for (u32 i = 0; i < b->nops; i++) {
        const struct record_op *o = &record_ops(b)[i];

        if (o->kind == RECORD_FETCH) {
            fetch(m, o);
        } else if (o->kind == RECORD_SAME) {
            learn_fetch(m, o);
        } else if (o->kind == RECORD_REF) {
            i += refs(m, o) - 1;
        } else if (o->kind == RECORD_JOINT) {
            joint(m, o);
        } else if (o->kind == RECORD_CALL) {
            predict_target(m, o->add, 0);
        } else if (o->kind == RECORD_ENTERED || o->kind == RECORD_LEFT) {
            frame(m, o);
        } else {
            call_op(m, o);
            m->group.valid = false;
        }
    }
    tail(m);
    for (u32 i = 0; i < m->nparts; i++)
        emit_part(m, &m->part[i]);
    for (u32 i = 0; i < m->nlook_up; i++)
        x86_land(&m->code, m->look_up[i]);
    if (m->nlook_up)
        routinecalls_look_up(&m->code);
    if (m->code.full)
        engine_die("no space for the replay of a block at 0x%lx", b->pc);
    return m->code.p;
}

// Most blocks are executed once or twice, and a routine is larger than everything else about a
// block: the first COLD records are interpreted, as long as only this path leads to them. A
// superblock is known to be hot and has its routine at its id at once. With --stress-flush all
// blocks do: few would live long enough.

#define COLD 6

// Interpreted records, by id modulo COLD_IDS; two ids that share a count get their routines
// earlier. Not in the block: a forked child counts for forty blocks, and would copy as many pages.
#define COLD_IDS 4096u
static u8 performed[COLD_IDS];

// A child of fork is often short-lived, and has to copy or touch each page that a routine is
// written to, run from, or reached from: it interprets this many records before any gets one.
#define CHILD_COLD 20000u
static u32 child_left;

static struct maker making, making_late;
static struct lock links, late; // leaves; a holder may be killed, so `late` is only tried

u8 *routine_begin(const struct record_block *b, u8 *at)
{
    struct arena_head *h = (struct arena_head *)at - 1;

    h->routine = ROUTINE_COLD;
    if (b->blocks == 1 && !spool->stress_flush)
        return at;
    h->routine = offset_of(at);
    return make(&making, b, &arena_first, at);
}

// It is reachable only once it is complete; until then it is free memory. If another thread is
// making one, or there is no space, this block stays cold.
static void make_late(struct arena_head *h, const struct record_block *b)
{
    u8 *at, *end;

    if (!lock_try(&late))
        return;
    at = (u8 *)REPLAY_BASE + arena_second.low;
    if (h->routine == ROUTINE_COLD && arena_second.high - arena_second.low > 2 * ARENA_CODE_MAX) {
        end = make(&making_late, b, &arena_second, at);
        arena_late_ends(end);
        __atomic_store_n(&h->routine, offset_of(at), __ATOMIC_RELEASE);
    }
    lock_drop(&late);
}

static bool is_cold(u32 id)
{
    return arena_code(id) == REPLAY_BASE + ROUTINE_COLD;
}

// The same, for the record to be replayed now.
static bool stays_cold(u32 id)
{
    u8 *n = &performed[(id >> 4) % COLD_IDS];
    u32 left = child_left; // another thread may decrement it, too

    if (!is_cold(id))
        return false;
    if (*n < COLD || left) {
        if (*n < COLD)
            ++*n;
        if (left)
            child_left = left - 1;
        return true;
    }
    make_late(arena_head(id), arena_block(id));
    if (!is_cold(id))
        *n = 0;
    return is_cold(id);
}

// Checks that an id is a fragment's, or an entry's between records.
static void check_id(u32 id)
{
    if (id == RECORD_END || id == RECORD_STACK ||
        (tb_config.calls && (id == RECORD_ENTER || id == RECORD_LEAVE || id == RECORD_BACK)) ||
        (tb_config.data && id == RECORD_OBJECTS))
        return;
    arena_check(id);
}

struct next {
    u64 to;
    const u64 *record;
};

// Interprets records until one has a routine, or is none. Called by routine.S.
struct next routine_cold(struct thread *t, const u64 *record);

struct next routine_cold(struct thread *t, const u64 *record)
{
    for (;;) {
        u32 id = *(const u32 *)record;

        check_id(id);
        if (!stays_cold(id))
            return (struct next){ arena_code(id), record };
        record = interpret_record(t, record);
        t->clock += CACHES_TICK; // the first fetch of a routine does not tick
        t->record = (u64)record;
        if (tb_config.sampled && cores_interpreted(t))
            return (struct next){ (u64)routine_exit, record };
        if (*(const u32 *)record != RECORD_END)
            record = interpret_branch(t, record);
    }
}

void routine_fork_child(void)
{
    child_left = CHILD_COLD;
}

void routine_forget_locks(void)
{
    links = late = (struct lock){ 0 };
}

// -- links --

// The displacement is stored first: until the id matches, its target does not matter; the look-up
// works for any.
static void lead(struct routine_tail *t, u32 k, u32 id)
{
    const struct record_block *b = arena_block(id);
    u64 to = arena_code(id);
    u8 *rel32_end = (u8 *)REPLAY_BASE + t->link[k].rel32;

    if (b->after && record_ops(b)[0].last == t->line)
        to += b->after;
    __atomic_store_n((u32 *)(rel32_end - 4), (u32)(to - (u64)rel32_end), __ATOMIC_RELEASE);
    __atomic_store_n((u32 *)(REPLAY_BASE + t->link[k].id), id, __ATOMIC_RELEASE);
    t->link[k].to = id;
}

static bool replay_two; // @guarded_by(links)

void routine_replays_two(bool on)
{
    lock_take(&links);
    replay_two = on;
    lock_drop(&links);
}

// A superblock replaces the block that it begins with, but not while another thread may have
// compared with that block's id and not jumped yet.
static void link_make(struct routine_tail *t, u32 k, u32 id)
{
    u32 old = t->link[k].to;

    lock_take(&links);
    if (!old)
        lead(t, k, id);
    else if (arena_block(old)->pc != arena_block(id)->pc || ll_is_shared())
        t->settled = true;
    else if (!replay_two)
        lead(t, k, id);
    lock_drop(&links);
}

// The link that leads, or may lead, to the block at pc.
static u32 link_to(const struct routine_tail *t, u64 pc)
{
    return t->nlinks == 2 && t->link[0].to && arena_block(t->link[0].to)->pc != pc;
}

// The next record is no routine that t links to. Called by routine.S.
struct next routine_next(struct thread *t, struct routine_tail *tail, const u64 *record);

struct next routine_next(struct thread *t, struct routine_tail *tail, const u64 *record)
{
    const struct record_block *b = (const struct record_block *)(REPLAY_BASE + tail->block);
    u32 id = *(const u32 *)record, k = 0;

    if (tail->conditional) {
        t->record_tail = b;
        if (id == RECORD_END)
            return (struct next){ (u64)routine_exit, record };
        record = interpret_branch(t, record);
        if (*(const u32 *)record != id)
            return routine_cold(t, record);
    }
    if (id < RECORD_FIRST || is_cold(id))
        return routine_cold(t, record);
    arena_check(id);
    if (tail->conditional)
        k = arena_block(id)->pc == b->taken ? 0 : 1;
    else
        k = link_to(tail, arena_block(id)->pc);
    link_make(tail, k, id);
    return (struct next){ arena_code(id), record };
}
