// SPDX-License-Identifier: MIT
// What translated code records (recording.h). An address is a sum of registers and a constant. A
// register is stored once; the effect of mov, lea, push, pop and additions of constants on it is
// known at translation. Only other addresses (segments, bit offsets, 32 bits) are computed at run
// time.
#include "engine/translate/recording.h"

#include "engine/base/nolibc.h"
#include "engine/codecache/stubs.h"
#include "engine/count/helpers.h"
#include "engine/count/lineids.h"
#include "engine/count/reftrace.h"
#include "engine/count/rep.h"
#include "engine/emit/address.h"
#include "engine/emit/helpercall.h"
#include "engine/emit/state.h"
#include "engine/replay/recordbuf.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/thread.h"
#include "engine/translate/block.h"
#include "engine/translate/branch.h"
#include "engine/translate/refs.h"
#include "engine/x86/coreop.h"
#include "sim/core.h"

#define R11 11u

void recording_begin(struct tb *b)
{
    struct record_block *l = &b->log.block;

    b->given = 0;
    b->log_state = 0;
    if (!tb_config.recording || !tb_config.counts)
        return;
    b->given = 1u << R11;
    b->spilled = b->given;
    b->given_dirty = b->log_stored = false;
    l->pc = b->pc;
    l->map = spooler_block_at(b->block[0].record)->map;
    l->slots = 1; // the id
    l->nops = 0;
    l->tail = RECORD_NEXT;
    l->nexts = 1;
    l->said = false;
    l->call = 0;
    l->blocks = (u8)b->nblocks;
    l->nsides = l->ncores = 0;
    for (u32 r = 0; r < 16; r++)
        b->value[r].known = false;
    b->value[R_RSP] = (struct value){ RECORD_STACK_SLOT, true, 0 };
}

// Asks for the lines that are AHEAD of the words recorded so far: at least one word of each.
// PREFETCHW never faults; each 64-bit processor takes it, some as NOP.
static void ask_ahead(struct tb *b)
{
    if (!tb_config.record_ahead)
        return;
    for (; b->log_asked < b->log.block.slots; b->log_asked += 8)
        x86_prefetchw_m(&b->code, MEM(R11, (s32)(b->log_asked * 8 + RECORDBUF_AHEAD)));
}

void recording_open(struct tb *b)
{
    b->log_state = RECIPE_OPEN;
    tb_mark(b);
    state_spill(b, R11);
    // The next record's id is cleared before this one is stored: a reader of the buffer after
    // SIGKILL sees where it ends. The displacement, this record's length, is patched at the end.
    x86_mov32_mi(&b->code, MEM(R11, RECORD_WORDS_MAX * 8), 0);
    b->log_ends = tb_off(b) - 8;
    if (b->nblocks > 1)
        x86_mov_mi(&b->code, MEM(R11, 0), recordbuf_next_id());
    else
        x86_mov32_mi(&b->code, MEM(R11, 0), recordbuf_next_id());
    b->log_asked = 0;
}

static struct record_op *new_op(struct tb *b, u32 i, enum record_kind kind)
{
    struct record_op *o;

    if (b->log.block.nops == RECORD_OPS_MAX) {
        b->overflow = true;
        b->log.block.nops--;
    }
    o = &b->log.op[b->log.block.nops++];
    *o = (struct record_op){
        .kind = (u8)kind, .insn = (u8)i, .base = RECORD_NO_SLOT, .index = RECORD_NO_SLOT
    };
    return o;
}

static u16 new_slots(struct tb *b, u32 n)
{
    u32 first = b->log.block.slots;

    if (first + n > RECORD_WORDS_MAX) {
        b->overflow = true;
        return 0;
    }
    b->log.block.slots = (u16)(first + n);
    return (u16)first;
}

static u16 record(struct tb *b, u32 reg)
{
    u16 slot = new_slots(b, 1);

    state_spill(b, R11);
    x86_mov(&b->code, MEM(R11, slot * 8), reg);
    ask_ahead(b);
    return slot;
}

// Copies the client's r11 to a scratch register.
static u32 copy_of_r11(struct tb *b, u32 avoid)
{
    u32 reg;

    state_spill(b, R11);
    reg = state_scratch(b, avoid);
    x86_mov(&b->code, reg, GS(TH_REGS + R11 * 8));
    return reg;
}

// The value of a register; stores it if it has not been recorded. avoid: registers not to use as
// scratch.
static struct value value_of(struct tb *b, u32 reg, u32 avoid)
{
    struct value *v = &b->value[reg];

    if (!v->known) {
        v->known = true;
        v->add = 0;
        if (reg == R11) {
            v->slot = record(b, copy_of_r11(b, avoid));
        } else {
            state_unspill(b, reg);
            v->slot = record(b, reg);
        }
    }
    return *v;
}

// A reference whose address is computed and recorded.
static void ref_computed(struct tb *b, u32 i, const struct memref *given, struct record_op *o)
{
    struct memref r = *given;
    u32 avoid = address_regs(&r), r1, r2;

    if (r.flags & MEMREF_BITOFF)
        state_flags_free(b, b->live[i]);
    if (avoid & b->given) {
        u32 copy = copy_of_r11(b, avoid);

        avoid = (avoid & ~(u32)b->given) | 1u << copy;
        if (r.base == R11)
            r.base = (u8)copy;
        if (r.index == R11)
            r.index = (u8)copy;
        if (r.bitreg == R11)
            r.bitreg = (u8)copy;
        state_unspill_mask(b, avoid & ~(1u << copy));
    } else {
        state_unspill_mask(b, avoid);
    }
    r1 = state_scratch(b, avoid);
    r2 = state_scratch(b, avoid | 1u << r1);
    address_emit(b, &r, r1, r2);
    o->base = record(b, r1);
}

static bool is_sum(const struct memref *r)
{
    return !(r->flags & (MEMREF_A32 | MEMREF_FS | MEMREF_GS | MEMREF_BITOFF | MEMREF_XLAT));
}

// A reference described by recorded registers.
static void ref_of_values(struct tb *b, const struct memref *r, struct record_op *o)
{
    u32 regs = address_regs(r);

    o->add = (u64)r->disp;
    if (r->base < 16) {
        struct value v = value_of(b, r->base, regs);

        o->base = v.slot;
        o->add += (u64)v.add;
    }
    if (r->index < 16) {
        struct value v = value_of(b, r->index, regs);

        o->index = v.slot;
        o->scale = (u8)address_log2(r->scale);
        o->add += (u64)v.add << o->scale;
    }
}

static void ref(struct tb *b, u32 i, const struct memref *r)
{
    bool write = (r->flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE;
    u32 size = r->flags & MEMREF_BITOFF ? 1 : r->size;
    struct record_op *o = new_op(b, i, RECORD_REF);

    // A trace is also replayed with other line sizes.
    o->size = (u16)(size > tb_config.min_line && !reftrace_on ? tb_config.min_line : size);
    o->way = write ? REFTRACE_WRITE : (r->flags & MEMREF_WRITE) ? REFTRACE_MODIFY : REFTRACE_READ;
    o->counter = b->first[i] + (write ? b->cnt[i].d1mw : b->cnt[i].d1mr);
    if (is_sum(r) && (tb_config.values || r->base == REG_RIP))
        ref_of_values(b, r, o);
    else
        ref_computed(b, i, r, o);
}

static void touched(struct tb *b, u64 line)
{
    u32 n = 0;

    for (u32 k = 0; k < b->nlines; k++) {
        if (b->lines[k] != line)
            b->lines[n++] = b->lines[k];
    }
    if (n == TB_LINES_MAX)
        n = 0;
    b->lines[n++] = line;
    b->nlines = n;
}

// Whether a line is certainly the most recent of its set in I1: it has been touched, and no other
// line of that set since.
static bool is_latest(const struct tb *b, u64 line)
{
    for (u32 k = b->nlines; k-- > 0;) {
        if (b->lines[k] == line)
            return true;
        if (!((b->lines[k] ^ line) & (tb_config.i1_sets - 1)))
            return false;
    }
    return false;
}

// Whether a core that learns lines of code must be told: another one than that of the instruction
// before it, in whatever fragment that was.
static bool is_learnt(const struct tb *b, const struct insn *in)
{
    u64 last = in->pc + in->len - 1;

    return tb_config.sampled &&
           (in->pc / CORE_LINE != b->core_line || last / CORE_LINE != b->core_line);
}

// Records the lines that refs.c would check, except, in a superblock, those whose check would
// change nothing.
static void fetch(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 first = in->pc >> tb_config.i1_shift, last = (in->pc + in->len - 1) >> tb_config.i1_shift;
    bool same = (first == b->iline && last == b->iline) || (first == last && is_latest(b, first));
    struct record_op *o;

    if (same && !reftrace_on && !is_learnt(b, in))
        return;
    o = new_op(b, i, same ? RECORD_SAME : RECORD_FETCH);
    o->add = in->pc;
    o->bytes = in->len;
    o->first = o->last = 0;
    b->core_line = (in->pc + in->len - 1) / CORE_LINE;
    if (same)
        return;
    o->way = b->joined;
    b->joined = false;
    o->counter = b->first[i] + b->cnt[i].i1mr;
    if (tb_config.i1_fast || tb_config.stamps) {
        o->first = lineids_of(first);
        o->last = lineids_of(last);
    }
    b->iline = last;
    touched(b, first);
    touched(b, last);
}

// Slots that a helper fills in. They are within the buffer: the record's first store is behind
// them, and it would have faulted.
static u16 helper_slots(struct tb *b, u32 n)
{
    u16 first = new_slots(b, n);

    state_spill(b, R11);
    return first;
}

static void vector(struct tb *b, u32 i)
{
    struct record_op *o = new_op(b, i, RECORD_VEC);

    o->counter = b->first[i];
    o->base = helper_slots(b, 1u + b->insn[i].vec_count);
    o->what = refs_vector_before(b, i);
    state_spill(b, R11);
    helpercall_describe(b, o->base, o->what);
    helpercall_emit(b, stubs_at(STUB_RECORD_VEC));
}

void recording_string(struct tb *b, u32 i)
{
    u32 what = refs_string_run(b, i);
    struct record_op *o = new_op(b, i, RECORD_REP);

    o->counter = b->first[i];
    o->add = b->insn[i].pc;
    o->base = helper_slots(b, REP_RECORD_SLOTS);
    o->what = what;
    helpercall_describe(b, o->base, what);
    helpercall_emit(b, stubs_at(STUB_RECORD_REP));
}

// Updates the stack pointer's value for the last instruction of a block.
static void effect_of_end(struct tb *b, const struct insn *in)
{
    struct value *sp = &b->value[R_RSP];

    if (in->kind == INSN_CALL || in->kind == INSN_CALL_IND)
        sp->add -= 8;
    else if (in->kind == INSN_RET)
        sp->add += 8 + in->imm;
}

// Updates the known values of registers for an instruction.
static void effect(struct tb *b, const struct insn *in)
{
    struct value sum = { RECORD_NO_SLOT, false, 0 };

    if (in->sum.to != REG_NONE) {
        if (in->sum.from == REG_NONE)
            sum.known = true;
        else
            sum = b->value[in->sum.from];
        sum.add += in->sum.add;
    }
    for (u32 r = 0; r < 16; r++) {
        if (!in->regs_known || (in->written & 1u << r))
            b->value[r].known = false;
    }
    if (in->sum.to != REG_NONE && in->regs_known)
        b->value[in->sum.to] = sum;
}

// The stack pointer is always known: the replay carries its value from one record to the next.
static void stack_known(struct tb *b)
{
    if (tb_config.values)
        value_of(b, R_RSP, 0);
}

// What a core must know of instruction i.
static void core(struct tb *b, u32 i)
{
    struct cores_insn *c = &b->log.core[b->log.block.ncores++];

    *c = (struct cores_insn){ .pc = b->insn[i].pc, .insn = (u8)i };
    c->counter = b->first[i] + b->cnt[i].cy;
    c->writes = b->cnt[i].d1mw == ~0u ? ~0u : b->first[i] + b->cnt[i].d1mw;
    coreop_make(&c->op, &b->insn[i], (enum core_fusing)spool->machine.core.fuse);
}

void recording_insn(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    stack_known(b);
    if (tb_config.core)
        core(b, i);
    fetch(b, i);
    if (in->vec_kind != VEC_NONE) {
        vector(b, i);
    } else if (in->kind != INSN_STRING || !(in->flags & INSN_F_REP)) {
        for (u32 k = 0; k < in->nrefs; k++)
            ref(b, i, &in->refs[k]);
    }
    if (tb_config.branch && (b->rec[i].flags & SPOOL_I_BC) && in->kind == INSN_PLAIN) {
        struct record_op *o = new_op(b, i, RECORD_LOCKED);

        o->add = in->pc;
        o->counter = b->first[i] + b->cnt[i].bcm;
    }
    if (tb_config.predictor && in->kind == INSN_CALL)
        new_op(b, i, RECORD_CALL)->add = branch_word(in);
    if (block_ends(in))
        effect_of_end(b, in);
    else
        effect(b, in);
}

void recording_close(struct tb *b, u32 i)
{
    struct record_block *l = &b->log.block;
    const struct insn *in = &b->insn[i];
    u32 ends;

    stack_known(b);
    // The first store of a record must also be behind the end of each of its sides.
    for (u32 k = 0; k < l->nsides; k++) {
        if (b->log.side[k].slots > l->slots)
            new_slots(b, b->log.side[k].slots - l->slots);
    }
    l->sp = b->value[R_RSP].slot;
    l->sp_add = b->value[R_RSP].add;
    state_clean_but(b, i < b->n ? block_takes(in) : 0);
    if (i < b->n && tb_config.branch) {
        l->branch = in->pc;
        if (in->kind == INSN_JCC || in->kind == INSN_LOOP) {
            l->tail = RECORD_COND;
            l->counter = b->first[i] + b->cnt[i].bcm;
            l->taken = in->target;
            // If both ways have the same target, only the exit tells them apart.
            b->alone = in->target == in->pc + in->len;
        } else if (branch_is_indirect(in)) {
            l->tail = RECORD_INDIRECT;
            l->branch = branch_word(in);
            l->counter = branch_counter(b, i);
            new_slots(b, 1);
        }
    }
    if (i < b->n) {
        l->nexts = in->kind == INSN_JCC || in->kind == INSN_LOOP ? 2
                   : in->kind == INSN_JMP_IND || in->kind == INSN_CALL_IND || in->kind == INSN_RET
                       ? 0
                       : 1;
    }
    ask_ahead(b);
    x86_lea(&b->code, R11, MEM(R11, l->slots * 8));
    ends = l->slots * 8u;
    if (!b->code.full)
        memcpy(b->code.start + b->log_ends, &ends, sizeof(ends));
    b->log_stored = false;
    b->log_state = RECIPE_CLOSED;
    tb_mark(b);
}

u32 recording_joint(struct tb *b, u32 i, bool taken, u64 next)
{
    struct record_block *l = &b->log.block;
    const struct insn *in = &b->insn[i];
    bool conditional = in->kind == INSN_JCC, predicted = branch_is_indirect(in);
    struct record_op *o;

    if (!b->given)
        return 0;
    stack_known(b);
    b->log.side[l->nsides++] = (struct record_side){
        .slots = (u16)(l->slots + predicted),
        .nops = l->nops,
        .sp = b->value[R_RSP].slot,
        .sp_add = b->value[R_RSP].add,
        .nexts = conditional,
        .blocks = (u8)(b->at + 1),
        .indirect = predicted,
    };
    o = new_op(b, i, RECORD_JOINT);
    o->add = predicted ? branch_word(in) : in->pc;
    o->way = predicted      ? RECORD_JOINT_INDIRECT
             : !conditional ? RECORD_JOINT_UNPREDICTED
             : taken        ? RECORD_JOINT_TAKEN
                            : RECORD_JOINT_NOT_TAKEN;
    o->side = l->nsides;
    o->counter = conditional ? b->first[i] + b->cnt[i].bcm : branch_counter(b, i);
    o->first = (u32)next;
    o->last = (u32)(next >> 32);
    return l->nsides;
}

void recording_side(struct tb *b, u32 side)
{
    struct x86 *a = &b->code;
    u32 slots;

    if (!side)
        return;
    slots = b->log.side[side - 1].slots;
    state_spill(b, R11);
    x86_mov32_mi(a, MEM(R11, slots * 8), 0); // before the record gets shorter: recording_open()
    x86_mov32_mi(a, MEM(R11, 4), side);
    x86_lea(a, R11, MEM(R11, slots * 8));
}

void recording_word(struct tb *b, u32 word)
{
    if (!b->given)
        return;
    state_spill(b, R11);
    tb_mark(b);
    x86_mov_mi(&b->code, MEM(R11, 8), 0);
    x86_mov_mi(&b->code, MEM(R11, 0), word);
    x86_lea(&b->code, R11, MEM(R11, 8));
    b->log_stored = false;
}

u64 recording_lend(struct tb *b, u64 back)
{
    struct x86 *a = &b->code;
    struct x86_label over;
    u64 here;

    if (!b->given)
        return back;
    state_spill(b, R11);
    over = x86_jmp(a);
    here = x86_here(a);
    x86_mov(a, R11, GS(TH_RECORD_AT));
    x86_fix(a, x86_jmp(a), back);
    x86_land(a, over);
    x86_mov(a, GS(TH_RECORD_AT), R11);
    return here;
}

void recording_entered(struct tb *b, u32 frame)
{
    struct x86 *a = &b->code;

    if (!b->given)
        return;
    state_spill(b, R11);
    tb_mark(b); // the buffer may be full
    x86_mov_mi(a, MEM(R11, 8), 0);
    x86_mov32(a, MEM(R11, 4), frame);
    x86_mov32_mi(a, MEM(R11, 0), RECORD_ENTER);
    x86_lea(a, R11, MEM(R11, 8));
    b->log_stored = false;
}

void recording_left(struct tb *b, u32 frame, u32 counter, u32 first)
{
    struct x86 *a = &b->code;

    if (!b->given)
        return;
    state_spill(b, R11);
    x86_lea(a, counter, MEM(counter, first + tb_config.calls_often));
    tb_mark(b);
    x86_mov_mi(a, MEM(R11, 16), 0);
    x86_mov(a, MEM(R11, 8), counter);
    x86_mov32(a, MEM(R11, 4), frame);
    x86_mov32_mi(a, MEM(R11, 0), RECORD_LEAVE);
    x86_lea(a, R11, MEM(R11, 16));
    b->log_stored = false;
}

void recording_entered_within(struct tb *b, u32 i, u32 frame)
{
    struct record_op *o;

    if (!b->given)
        return;
    o = new_op(b, i, RECORD_ENTERED);
    o->base = record(b, frame);
}

void recording_left_within(struct tb *b, u32 i, u32 frame, u32 counter, u32 first)
{
    struct record_op *o;

    if (!b->given)
        return;
    x86_lea(&b->code, counter, MEM(counter, first + tb_config.calls_often));
    o = new_op(b, i, RECORD_LEFT);
    o->base = record(b, frame);
    o->index = record(b, counter);
}

void recording_target(struct tb *b)
{
    if (b->log.block.tail == RECORD_INDIRECT)
        recording_target_is(b);
}

void recording_target_is(struct tb *b)
{
    x86_mov(&b->code, MEM(R11, -8), R_RCX);
}
