// SPDX-License-Identifier: MIT
// How a block ends, and where control continues (exits.h).
#include "engine/translate/exits.h"

#include "engine/base/cpu.h"
#include "engine/codecache/stubs.h"
#include "engine/emit/state.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/translate/block.h"
#include "engine/translate/blockrecord.h"
#include "engine/translate/calls.h"
#include "engine/translate/predict.h"
#include "engine/translate/recording.h"
#include "engine/translate/relocate.h"

// An exit's displacement is patched while other threads run: it must not cross a cache line of the
// host. `opcode`: bytes before it.
static void align_exit(struct tb *b, u32 opcode)
{
    u64 at = x86_here(&b->code) + opcode;

    if ((at & 63) > 60)
        x86_nops(&b->code, 64 - (u32)(at & 63));
}

static void note_exit(struct tb *b, struct x86_label l, u64 target)
{
    struct fragment_exit *x = &b->draft.exit[b->draft.nexits++];

    x->rel32 = (u16)l.at;
    x->target = target;
    x->side = false;
}

void exits_exit(struct tb *b, u64 target)
{
    align_exit(b, 1);
    note_exit(b, x86_jmp(&b->code), target);
}

static void jcc_exit(struct tb *b, u32 cond, u64 target)
{
    align_exit(b, 2);
    note_exit(b, x86_jcc(&b->code, cond), target);
}

// IBL: looks the client address in rcx (spilled) up in the thread's table and jumps to its
// fragment. Changes no flags.
static void look_up(struct tb *b)
{
    struct x86 *a = &b->code;
    struct x86_label hit;

    x86_mov(a, GS(TH_IBL_TARGET), R_RCX);
    if (!tb_config.ibl) {
        state_clean(b);
        tb_jmp_out(b, stubs_at(STUB_IBL_MISS));
        return;
    }
    state_spill(b, R_RDX);
    state_spill(b, R_RAX);
    if (cpu.bmi2) { // ibl_index(), flag-free
        x86_rorx32_rri(a, R_RDX, R_RCX, 13);
        x86_lea32(a, R_RDX, MEM_X(R_RDX, R_RCX, 0, 0));
        x86_movzx16_rr(a, R_RDX, R_RDX);
    } else {
        x86_movzx16_rr(a, R_RDX, R_RCX);
    }
    x86_lea32(a, R_RDX, MEM_X(R_RDX, R_RDX, 0, 0)); // entries have 16 bytes
    x86_mov(a, R_RAX, GS_X(TA_IBL + 8, R_RDX, 3));
    x86_mov(a, GS(TH_IBL_HOST), R_RAX);
    x86_mov(a, R_RDX, GS_X(TA_IBL, R_RDX, 3)); // minus the entry's client address
    x86_lea(a, R_RCX, MEM_X(R_RCX, R_RDX, 0, 0));
    state_unspill_mask(b, 0xffffu & ~(1u << R_RCX | b->given));
    hit = x86_jrcxz(a);
    x86_mov(a, R_RCX, GS(TH_REGS + R_RCX * 8));
    tb_jmp_out(b, stubs_at(STUB_IBL_MISS));
    x86_land(a, hit);
    state_unspill(b, R_RCX);
    b->draft.ibl_jmp[b->draft.ibl_jmp[0] != 0] = tb_off(b);
    x86_jmp_m(a, GS(TH_IBL_HOST));
}

// rcx (spilled) := the target of an indirect branch; also does the push or pop.
static void take_target(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    state_clean_but(b, block_takes(in));
    state_spill(b, R_RCX);
    if (in->kind == INSN_RET) {
        tb_mark(b);
        x86_pop_r(&b->code, R_RCX);
        if (in->imm)
            x86_lea(&b->code, R_RSP, MEM(R_RSP, in->imm));
        return;
    }
    state_unspill_mask(b, in->regs & b->given);
    relocate_target(b, in, R_RCX);
    if (b->given)
        state_spill(b, (u32)__builtin_ctz(b->given));
    if (in->kind == INSN_CALL_IND)
        relocate_push(b, in->pc + in->len);
}

void exits_indirect(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    take_target(b, i);
    if (b->given)
        recording_target(b);
    else
        predict_indirect(b, i);
    if (in->kind == INSN_RET)
        calls_emit_return(b, i);
    else if (in->kind == INSN_CALL_IND)
        calls_emit_call_to(b, i);
    else
        calls_emit_jump_to(b, i);
    look_up(b);
}

void exits_syscall(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    struct x86_label behind;

    state_clean(b);
    if (b->given) // the call takes r11
        x86_mov(a, GS(TH_RECORD_AT), 11);
    state_spill(b, R_RCX);
    x86_mov_imm(a, R_RCX, in->pc + in->len);
    x86_mov(a, GS(TH_SC_NEXT), R_RCX);
    behind = x86_lea_rip(a, R_RCX);
    x86_mov(a, GS(TH_SC_CONT), R_RCX);
    x86_mov_mi(a, GS(TH_SC_BLOCK), tb_config.counts ? b->record + 1 : 0);
    b->draft.sc_jmp = tb_off(b) + 1;
    tb_jmp_out(b, stubs_at(STUB_GATE));
    x86_land(a, behind);
    b->spilled = 0;
    b->given_dirty = true;
    state_clean(b);
    exits_exit(b, in->pc + in->len);
}

static void edge_exit(struct tb *b, u32 i, bool taken)
{
    const struct insn *in = &b->insn[i];

    if (!b->given)
        predict_edge(b, i, taken);
    if (b->given && tb_config.calls && b->log.block.tail == RECORD_COND) {
        b->log.block.said = true; // what follows may be no fragment's record
        recording_word(b, taken ? RECORD_TAKEN : RECORD_NOT_TAKEN);
    }
    if (taken)
        calls_emit_followed(b, i);
    calls_emit_jump(b, i, taken ? in->target : in->pc + in->len);
    state_clean(b);
    exits_exit(b, taken ? in->target : in->pc + in->len);
}

void exits_conditional(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;

    state_clean(b);
    if (in->kind == INSN_LOOP) {
        // loop and jrcxz have only a short form: it jumps over the jump to the other edge
        struct x86_label over = relocate_loop(b, in);

        tb_cold(b, COLD_EDGE, x86_jmp(a))->edge.taken = false;
        x86_land(a, over);
        edge_exit(b, i, true);
    } else if ((tb_config.branch && !b->given) || tb_config.jumps || b->stack_set ||
               calls_emit_leaves(b, in->target) || calls_emit_leaves(b, in->pc + in->len)) {
        tb_cold(b, COLD_EDGE, x86_jcc(a, in->cond))->edge.taken = true;
        edge_exit(b, i, false);
    } else {
        jcc_exit(b, in->cond, in->target);
        exits_exit(b, in->pc + in->len);
    }
}

void exits_cold(struct tb *b, const struct cold *c)
{
    tb_cold_begin(b, c);
    edge_exit(b, b->cur, c->edge.taken);
}

// rcx := rcx - next: 0 if control stays in the superblock. Changes no flags.
static void compare_target(struct tb *b, u64 next)
{
    struct x86 *a = &b->code;
    u32 r;

    if (next < 1u << 31) {
        x86_lea(a, R_RCX, MEM(R_RCX, -(s64)next));
        return;
    }
    r = state_scratch(b, 1u << R_RCX);
    x86_mov_imm(a, r, -next);
    x86_lea(a, R_RCX, MEM_X(R_RCX, r, 0, 0));
}

static void indirect_joint(struct tb *b, u32 i, u64 next)
{
    struct cold_side side = { .number = recording_joint(b, i, true, next),
                              .blocks = b->at + 1,
                              .target = next,
                              .indirect = true };
    struct x86_label same;
    u64 leave;

    take_target(b, i);
    calls_emit_totals(b, b->at + 1, false, 1u << R_RCX);
    side.summed = b->summed;
    calls_begin_joint(b, i);
    compare_target(b, next);
    same = x86_jrcxz(&b->code);
    leave = x86_here(&b->code);
    tb_cold(b, COLD_SIDE, x86_jmp(&b->code))->side = side;
    x86_land(&b->code, same);
    calls_emit_joint(b, i, next, leave);
}

static void conditional_joint(struct tb *b, u32 i, u64 next)
{
    const struct insn *in = &b->insn[i];
    bool taken = next == in->target;
    struct cold_side side = { .blocks = b->at + 1,
                              .summed = b->summed,
                              .target = taken ? in->pc + in->len : in->target };
    struct x86_label way;

    state_clean(b);
    side.number = recording_joint(b, i, taken, next);
    way = x86_jcc(&b->code, taken ? in->cond ^ 1u : in->cond);
    tb_cold(b, COLD_SIDE, way)->side = side;
}

void exits_joint(struct tb *b, u32 i, u64 next)
{
    const struct insn *in = &b->insn[i];

    switch (in->kind) {
    case INSN_CALL:
        relocate_push(b, in->pc + in->len);
        calls_emit_totals(b, b->at + 1, !b->live[i] || b->flags_saved, 0);
        calls_emit_call(b, i);
        break;
    case INSN_JCC: conditional_joint(b, i, next); break;
    case INSN_RET:
    case INSN_JMP_IND:
    case INSN_CALL_IND: indirect_joint(b, i, next); break;
    default: break;
    }
}

// Looks the target of a side up. The record is complete except for the target.
static void look_up_side(struct tb *b)
{
    struct x86 *a = &b->code;

    state_unspill_mask(b, b->spilled & ~(1u << R_RCX | b->given));
    if (b->side_look_up) {
        x86_fix(a, x86_jmp(a), b->side_look_up);
        return;
    }
    b->side_look_up = x86_here(a);
    look_up(b);
}

// Counts an execution of the blocks before the side; uses r, not those of `avoid`. Changes no
// flags.
static void count_side(struct tb *b, u32 r, const struct cold_side *side, u32 avoid)
{
    struct x86_mem counter = GS(TA_COUNTERS + blockrecord_sum(b, side->blocks) * 8);
    struct x86 *a = &b->code;

    x86_mov(a, r, counter);
    x86_lea(a, r, MEM(r, 1));
    x86_mov(a, counter, r);
    b->summed = side->summed;
    calls_emit_totals(b, side->blocks, false, avoid);
}

void exits_side(struct tb *b, const struct cold *c)
{
    struct x86 *a = &b->code;
    u32 r, last;

    tb_cold_begin(b, c);
    b->at = c->side.blocks - 1;
    last = b->block[b->at].first + b->block[b->at].n - 1;
    if (!c->side.indirect) {
        count_side(b, state_scratch(b, 0), &c->side, 0);
        state_clean(b);
        recording_side(b, c->side.number);
        calls_emit_side(b, last, c->side.target);
        state_clean(b);
        exits_exit(b, c->side.target);
        b->draft.exit[b->draft.nexits - 1].side = true;
        return;
    }
    r = state_scratch(b, 1u << R_RCX);
    count_side(b, r, &c->side, 1u << R_RCX);
    x86_mov_imm(a, r, c->side.target);
    x86_lea(a, R_RCX, MEM_X(R_RCX, r, 0, 0));
    recording_side(b, c->side.number);
    if (c->side.number && b->log.side[c->side.number - 1].indirect)
        recording_target_is(b);
    calls_emit_side(b, last, 0);
    look_up_side(b);
}

void exits_dispatch(struct tb *b, u32 exit_id)
{
    x86_mov_mi(&b->code, GS(TH_EXIT_ID), exit_id);
    tb_jmp_out(b, stubs_at(STUB_EXIT));
}

void exits_watch(struct tb *b, u32 index)
{
    tb_part(b, SPOOL_CODE_HOTBLOCKS, 0);
    b->draft.watch = (u16)tb_off(b);
    x86_mov32_mi(&b->code, GS(TH_WATCH), index * 8);
    tb_jmp_out(b, stubs_at(STUB_WATCH));
}

void exits_point(struct tb *b, u32 index, u32 point)
{
    tb_part(b, SPOOL_CODE_HOTBLOCKS, 0);
    b->draft.watch = (u16)tb_off(b);
    x86_mov32_mi(&b->code, GS(TH_WATCH), index * 8);
    x86_mov32_mi(&b->code, GS(TH_WATCH + 4), point);
    tb_jmp_out(b, stubs_at(STUB_WATCHED));
}

void exits_stubs(struct tb *b, u32 index)
{
    struct draft *d = &b->draft;

    for (u32 i = 0; i < d->nexits; i++) {
        struct x86_label exit = { d->exit[i].rel32, 4 };

        tb_part(b, SPOOL_CODE_EXIT, i);
        d->exit[i].stub = (u16)tb_off(b);
        x86_land(&b->code, exit);
        exits_dispatch(b, b->writable && d->exit[i].side ? (u32)(-2 - (s32)index)
                                                         : fragment_exit_id(index, i));
    }
    // The pushed constants, in an instruction that is never executed: this way they can be
    // disassembled. Aligned, because the client may run with alignment checks on.
    for (u32 i = 0; i < b->npushed; i++) {
        u64 at;

        x86_nops(&b->code, (u32)(6 - x86_here(&b->code)) & 7);
        at = x86_here(&b->code);
        x86_mov64_ri(&b->code, R_RAX, b->pushed_value[i]);
        x86_fix(&b->code, b->pushed[i], at + 2);
    }
}
