// SPDX-License-Identifier: MIT
// The branch predictor in translated code (predict.h). A conditional branch has a two-bit counter,
// indexed by its address and the history; while it is saturated and right, only the history
// changes. An indirect branch is predicted to have its last target. All other cases are in cold
// parts.
#include "engine/translate/predict.h"

#include "engine/codecache/stubs.h"
#include "engine/count/caches.h"
#include "engine/emit/helpercall.h"
#include "engine/emit/state.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/translate/branch.h"
#include "engine/translate/calls.h"

// Without this a helper predicts each branch.
static bool is_inline(void)
{
    return tb_config.fast_tags && !tb_config.predictor;
}

// The counter of the branch; `history`: the register with the history.
static struct x86_mem counter_of(const struct insn *in, u32 history)
{
    return GS_X(TA_BRANCH + (in->pc & 127), history, 0);
}

void predict_edge(struct tb *b, u32 i, bool taken)
{
    struct x86 *a = &b->code;
    struct cold_bc c = { .taken = taken };

    if (!tb_config.branch)
        return;
    c.counter = b->first[i] + b->cnt[i].bcm;
    state_flags_free(b, FLAGS_ARITH);
    c.history = (u8)state_scratch(b, 0);
    if (!is_inline()) {
        tb_cold(b, COLD_BC, x86_jmp(a))->bc = c;
        return;
    }
    x86_mov(a, c.history, GS(TH_HIST));
    x86_cmp8_mi(a, counter_of(&b->insn[i], c.history), taken ? 3 : 0);
    tb_cold(b, COLD_BC, x86_jcc(a, CC_NE))->bc = c;
    // shift the outcome in
    x86_lea(a, c.history, MEM_X(c.history, c.history, 0, taken ? 128 : 0));
    x86_and32_ri(a, c.history, 0x3f80);
    x86_mov(a, GS(TH_HIST), c.history);
}

// The counter changes; its upper bit is the prediction.
static void cold_bc(struct tb *b, const struct cold_bc *c, u64 back)
{
    const struct insn *in = &b->insn[b->cur];
    struct helperdesc_bc d = { { (u32)in->pc, (u32)(in->pc >> 32) }, c->counter, c->taken };
    struct x86_mem counter = counter_of(in, c->history);
    struct x86 *a = &b->code;
    struct x86_label predicted;

    if (!is_inline()) {
        helpercall_emit(b, stubs_at(STUB_BC));
        helpercall_back(b, back, &d, sizeof(d));
        return;
    }
    x86_cmp8_mi(a, counter, 2);
    predicted = x86_jcc8(a, c->taken ? CC_AE : CC_B);
    if (tb_config.calls)
        calls_emit_miss(b, c->counter);
    else
        x86_inc_m(a, GS(TA_COUNTERS + c->counter * 8));
    x86_land(a, predicted);
    if (c->taken)
        x86_inc8_m(a, counter);
    else
        x86_dec8_m(a, counter);
    x86_fix(a, x86_jmp(a), back);
}

// Its word and its counter, for STUB_BI.
static struct cold_bi described(const struct insn *in, u32 counter)
{
    return (struct cold_bi){ .counter = caches_branch_low(branch_word(in), counter),
                             .pc = (u32)in->pc };
}

void predict_call(struct tb *b, u32 i)
{
    if (!tb_config.predictor)
        return;
    state_spill(b, R_RDX);
    tb_cold(b, COLD_BI, x86_jmp(&b->code))->bi = described(&b->insn[i], 0);
}

// Changes no flags.
void predict_indirect(struct tb *b, u32 i)
{
    struct x86 *a = &b->code;
    struct x86_label over;
    struct cold_bi c;

    if (!branch_is_indirect(&b->insn[i]))
        return;
    c = described(&b->insn[i], branch_counter(b, i));
    state_spill(b, R_RDX);
    if (!is_inline()) {
        x86_mov(a, R_RDX, R_RCX);
        tb_cold(b, COLD_BI, x86_jmp(a))->bi = c;
        return;
    }
    x86_mov(a, R_RDX, GS(TA_BTAC + (c.pc & 511) * 8));
    x86_not_r(a, R_RDX);
    x86_lea(a, R_RDX, MEM_X(R_RDX, R_RCX, 0, 1)); // target - last
    x86_xchg_rr(a, R_RCX, R_RDX);
    over = x86_jrcxz(a);
    tb_cold(b, COLD_BI, x86_jmp(a))->bi = c;
    x86_land(a, over);
    x86_mov(a, R_RCX, R_RDX);
}

// The target is in rdx, and goes to rcx at `back`; the flags are not free.
static void cold_bi(struct tb *b, const struct cold_bi *c, u64 back)
{
    struct x86 *a = &b->code;

    if (!is_inline() || tb_config.calls) {
        x86_mov(a, GS(TH_H_ADDR), R_RDX);
        helpercall_describe(b, c->counter, c->pc);
        helpercall_emit(b, stubs_at(STUB_BI));
        if (is_inline())
            x86_mov(a, R_RCX, R_RDX);
        helpercall_back(b, back, NULL, 0);
        return;
    }
    x86_mov(a, GS(TA_BTAC + (c->pc & 511) * 8), R_RDX);
    x86_mov(a, R_RCX, GS(TA_COUNTERS + c->counter * 8));
    x86_lea(a, R_RCX, MEM(R_RCX, 1));
    x86_mov(a, GS(TA_COUNTERS + c->counter * 8), R_RCX);
    x86_fix(a, x86_jmp(a), back);
}

void predict_cold(struct tb *b, const struct cold *c)
{
    tb_cold_begin(b, c);
    if (c->kind == COLD_BC)
        cold_bc(b, &c->bc, c->back);
    else
        cold_bi(b, &c->bi, c->back);
}
