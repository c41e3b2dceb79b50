// SPDX-License-Identifier: MIT
// Calls in translated code (calls.h). A frame begins after the call's push and ends after the
// return's pop, when nothing of the client's can fault any more; this code changes no flags. The
// helpers of callgraph/calls.c handle the uncommon cases.
#include "engine/translate/calls.h"

#include "engine/callgraph/calls.h"
#include "engine/callgraph/edges.h"
#include "engine/callgraph/functions.h"
#include "engine/codecache/stubs.h"
#include "engine/emit/helpercall.h"
#include "engine/emit/state.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/translate/recording.h"

#define F_COUNTER 0
#define F_PLT     4
#define F_KEY     8
#define F_SP      16
#define F_BEFORE  24

_Static_assert(offsetof(struct spool_frame, plt) == F_PLT, "emitted");
_Static_assert(offsetof(struct spool_frame, key) == F_KEY, "emitted");
_Static_assert(offsetof(struct spool_frame, sp) == F_SP, "emitted");
_Static_assert(offsetof(struct spool_frame, before) == F_BEFORE, "emitted");
_Static_assert(offsetof(struct spool_edge, target) == 0, "emitted");
_Static_assert(offsetof(struct spool_edge, counter) == 8, "emitted");
_Static_assert(offsetof(struct spool_edge, plt) == 12, "emitted");
_Static_assert(offsetof(struct spool_edge, site) == 16, "emitted");

// The block that is being emitted.
static const struct tb_block *here(const struct tb *b)
{
    return &b->block[b->at];
}

// Whether the superblock goes on after it.
static bool is_joint(const struct tb *b)
{
    return b->at + 1 < b->nblocks;
}

static struct x86_mem top(void)
{
    return GS(TA_COUNTERS + tb_config.calls_top * 8);
}

static struct x86_mem total(u32 place)
{
    return GS(TA_COUNTERS + (tb_config.calls_top + 1 + place) * 8);
}

// Counter n of an edge; `reg` holds the number of its first.
static struct x86_mem counter_of(u32 reg, u32 n)
{
    return GS_X(TA_COUNTERS + n * 8, reg, 3);
}

// r := x - y, from ~y in r. Changes no flags.
static void to_difference(struct x86 *a, u32 r, u32 x)
{
    x86_lea(a, r, MEM_X(r, x, 0, 1));
}

// ---- Totals ----

static void add_total(struct tb *b, enum spool_event e, u32 n, bool free, u32 avoid)
{
    struct x86 *a = &b->code;
    u32 place = spool_event_index(e, tb_config.flags);

    if (!n || !spool_event_counted(e, tb_config.flags))
        return;
    if (free) {
        if (n < 128)
            x86_add_mi8(a, total(place), n);
        else
            x86_add_mi(a, total(place), n);
        return;
    }
    u32 r = state_scratch(b, avoid);

    x86_mov(a, r, total(place));
    x86_lea(a, r, MEM(r, n));
    x86_mov(a, total(place), r);
}

void calls_emit_totals(struct tb *b, u32 blocks, bool free, u32 avoid)
{
    u32 n = 0, reads = 0, writes = 0, bc = 0, bi = 0, bus = 0;

    if (!tb_config.calls)
        return;
    calls_forget_unmapped();
    for (; b->summed < blocks; b->summed++) {
        const struct tb_block *t = &b->block[b->summed];

        n += t->n;
        for (u32 i = t->first; i < t->first + t->n; i++) {
            reads += b->rec[i].reads;
            writes += b->rec[i].writes;
            bc += (b->rec[i].flags & SPOOL_I_BC) != 0;
            bi += (b->rec[i].flags & SPOOL_I_BI) != 0;
            bus += (b->rec[i].flags & SPOOL_I_BUS) != 0;
        }
    }
    add_total(b, SPOOL_E_IR, n, free, avoid);
    add_total(b, SPOOL_E_DR, reads, free, avoid);
    add_total(b, SPOOL_E_DW, writes, free, avoid);
    add_total(b, SPOOL_E_BC, bc, free, avoid);
    add_total(b, SPOOL_E_BI, bi, free, avoid);
    add_total(b, SPOOL_E_GE, bus, free, avoid);
}

// What the record says of a frame that a direct call has made: within a superblock's, or behind it.
static void entered(struct tb *b, u32 i, u32 frame)
{
    if (is_joint(b))
        recording_entered_within(b, i, frame);
    else
        recording_entered(b, frame);
}

// ---- Cold parts ----

static struct cold *cold(struct tb *b, struct x86_label from, enum stub stub, u64 site, u32 len)
{
    struct cold *c = tb_cold(b, COLD_CALLS, from);

    c->calls = (struct cold_calls){ .stub = (u8)stub };
    c->calls.desc.site[0] = (u32)site;
    c->calls.desc.site[1] = (u32)(site >> 32);
    c->calls.desc.len = len;
    return c;
}

static void note_edge(struct cold *c, const struct spool_edge *e)
{
    c->calls.desc.cell[0] = (u32)(u64)e;
    c->calls.desc.cell[1] = (u32)((u64)e >> 32);
}

// If the block has set the stack pointer: corrects the frames. `calls`: a call follows, else
// control stays in the function.
static void stack(struct tb *b, bool calls)
{
    if (b->stack_set)
        cold(b, x86_jmp(&b->code), STUB_CALLS_STACK, 0, calls);
}

static void tail_call_to(struct tb *b, const struct cold *c);

void calls_emit_cold(struct tb *b, const struct cold *c)
{
    u64 back;

    tb_cold_begin(b, c);
    if (c->calls.indirect)
        tail_call_to(b, c);
    if (c->calls.target) {
        x86_mov_imm(&b->code, R_RCX, c->calls.target);
        x86_mov(&b->code, GS(TH_IBL_TARGET), R_RCX);
    }
    back = recording_lend(b, c->back);
    helpercall_emit(b, stubs_at((enum stub)c->calls.stub));
    helpercall_back(b, back, &c->calls.desc, sizeof(c->calls.desc));
}

// ---- Calls ----

// Stores the stack pointer and totals to the new frame in rcx; uses rdx.
static void put_totals(struct tb *b)
{
    struct x86 *a = &b->code;

    x86_mov(a, MEM(R_RCX, F_SP), R_RSP);
    for (u32 i = 0; i < tb_config.calls_often; i++) {
        x86_mov(a, R_RDX, total(i));
        x86_not_r(a, R_RDX);
        x86_mov(a, MEM(R_RCX, F_BEFORE + i * 8), R_RDX);
    }
}

// rcx := the new frame, with its key, stack pointer and totals; uses rdx.
static void make_frame(struct tb *b, u64 back)
{
    struct x86 *a = &b->code;

    x86_mov(a, R_RCX, top());
    x86_lea(a, R_RCX, MEM(R_RCX, tb_config.calls_frame));
    x86_mov_imm(a, R_RDX, back);
    x86_lea(a, R_RDX, MEM_X(R_RSP, R_RDX, 0, 0));
    tb_mark(b); // the frame's page may not be there yet (calls_full)
    x86_mov(a, MEM(R_RCX, F_KEY), R_RDX);
    put_totals(b);
}

// C does everything: with contexts, and after an instruction that has set the stack pointer. The
// caller reloads the target of an indirect branch to rcx.
static void all_in_c(struct tb *b, enum stub stub, u64 site, u32 len, u64 target)
{
    struct cold *c;

    state_spill(b, R_RCX);
    state_spill(b, R_RDX);
    state_spill(b, R_RAX);
    c = cold(b, x86_jmp(&b->code), stub, site, len);
    c->calls.target = target;
    c->calls.desc.plt = b->stack_set;
    c->back = x86_here(&b->code);
}

void calls_emit_call(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    const struct spool_edge *e;

    if (!tb_config.calls)
        return;
    stack(b, true);
    // a call within the function: to find its own address, or a local subroutine
    if (!calls_emit_leaves(b, in->target) && functions_at(in->target).start != in->target)
        return;
    if (tb_config.contexts) {
        all_in_c(b, STUB_CALLS_CALL, in->pc, in->len, in->target);
        return;
    }
    e = edges_get(SPOOL_EDGE_CALL, in->pc, in->len, in->target);
    state_spill(b, R_RCX);
    state_spill(b, R_RDX);
    make_frame(b, in->pc + in->len);
    if (e->plt) {
        x86_mov32_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
        x86_mov32_mi(a, MEM(R_RCX, F_PLT), e->plt);
    } else {
        x86_mov_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
    }
    entered(b, i, R_RCX);
    x86_mov(a, top(), R_RCX);
}

// Jumps if the target in rcx equals the word that `reg` points to. Uses rax; destroys rcx.
static struct x86_label same_target(struct x86 *a, u32 reg)
{
    x86_mov(a, R_RAX, MEM(reg, 0));
    x86_not_r(a, R_RAX);
    to_difference(a, R_RCX, R_RAX);
    return x86_jrcxz(a);
}

static void note_target(struct tb *b)
{
    x86_mov(&b->code, GS(TH_IBL_TARGET), R_RCX);
    state_spill(b, R_RDX);
    state_spill(b, R_RAX);
}

static void reload_target(struct tb *b)
{
    x86_mov(&b->code, R_RCX, GS(TH_IBL_TARGET));
}

// rdx := the edge noted for the site and the target in rcx; uses rax.
static void find_edge(struct x86 *a, u64 site)
{
    x86_lea32(a, R_RDX, MEM(R_RCX, calls_place_of(site))); // calls_place()
    x86_movzx16_rr(a, R_RDX, R_RDX);
    x86_mov_imm(a, R_RAX, (u64)calls_known);
    x86_mov(a, R_RDX, MEM_X(R_RAX, R_RDX, 3, 0));
    x86_mov_imm(a, R_RAX, (u64)&calls_unknown);
    x86_lea(a, R_RDX, MEM_X(R_RDX, R_RAX, 0, 0));
}

void calls_emit_call_to(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    struct x86_label same, here;
    struct cold *c[2];

    if (!tb_config.calls)
        return;
    stack(b, true);
    note_target(b);
    if (tb_config.contexts) {
        all_in_c(b, STUB_CALLS_CALL, in->pc, in->len, 0);
        reload_target(b);
        return;
    }
    find_edge(a, in->pc);
    same = same_target(a, R_RDX);
    c[0] = cold(b, x86_jmp(a), STUB_CALLS_CALL, in->pc, in->len);
    x86_land(a, same);
    x86_mov(a, R_RCX, MEM(R_RDX, 16)); // the edge's site
    x86_mov_imm(a, R_RAX, -in->pc);
    x86_lea(a, R_RCX, MEM_X(R_RCX, R_RAX, 0, 0));
    here = x86_jrcxz(a);
    c[1] = cold(b, x86_jmp(a), STUB_CALLS_CALL, in->pc, in->len);
    x86_land(a, here);
    x86_mov(a, R_RAX, MEM(R_RDX, 8)); // counter and plt
    make_frame(b, in->pc + in->len);
    x86_mov(a, MEM(R_RCX, F_COUNTER), R_RAX);
    recording_entered(b, R_RCX);
    x86_mov(a, top(), R_RCX);
    x86_mov32(a, R_RAX, MEM(R_RCX, F_COUNTER));
    x86_mov(a, R_RDX, counter_of(R_RAX, 0));
    x86_lea(a, R_RDX, MEM(R_RDX, 1));
    x86_mov(a, counter_of(R_RAX, 0), R_RDX);
    c[0]->back = c[1]->back = x86_here(a);
    reload_target(b);
}

// ---- Returns ----

// Adds to counter_of(rax, first + i) the growth of total i since the frame in rdx was made; uses
// rcx and rsi. `anew`: the frame then restarts from the current totals.
static void charge(struct tb *b, u32 first, bool anew)
{
    struct x86 *a = &b->code;

    for (u32 i = 0; i < tb_config.calls_often; i++) {
        x86_mov(a, R_RCX, MEM(R_RDX, F_BEFORE + i * 8));
        x86_mov(a, R_RSI, total(i));
        to_difference(a, R_RCX, R_RSI);
        if (anew) {
            x86_not_r(a, R_RSI);
            x86_mov(a, MEM(R_RDX, F_BEFORE + i * 8), R_RSI);
        }
        x86_mov(a, R_RSI, counter_of(R_RAX, first + i));
        x86_lea(a, R_RCX, MEM_X(R_RCX, R_RSI, 0, 0));
        x86_mov(a, counter_of(R_RAX, first + i), R_RCX);
    }
}

void calls_emit_return(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    struct x86_label same, done;
    struct cold *c;
    s64 popped = 8 + in->imm;
    u64 again;

    if (!tb_config.calls)
        return;
    note_target(b);
    if (b->stack_set || tb_config.contexts) {
        all_in_c(b, STUB_CALLS_RETURN, in->pc, (u32)popped, 0);
        reload_target(b);
        return;
    }
    state_spill(b, R_RSI);
    again = x86_here(a);
    x86_mov(a, R_RDX, top());
    x86_lea(a, R_RAX, MEM_X(R_RSP, R_RCX, 0, -popped));
    x86_not_r(a, R_RAX);
    x86_mov(a, R_RCX, MEM(R_RDX, F_KEY));
    to_difference(a, R_RCX, R_RAX);
    same = x86_jrcxz(a);
    c = cold(b, x86_jmp(a), STUB_CALLS_RETURN, in->pc, (u32)popped);
    x86_land(a, same);
    x86_mov32(a, R_RAX, MEM(R_RDX, F_COUNTER));
    charge(b, 1, false);
    x86_mov32(a, R_RCX, MEM(R_RDX, F_PLT));
    x86_mov(a, R_RSI, R_RDX);
    x86_lea(a, R_RDX, MEM(R_RDX, -(s64)tb_config.calls_frame));
    x86_mov(a, top(), R_RDX);
    recording_left(b, R_RSI, R_RAX, 1);
    done = x86_jrcxz(a);
    reload_target(b); // the frame of a jump: the one below ends, too
    x86_fix(a, x86_jmp(a), again);
    x86_land(a, done);
    c->back = x86_here(a);
    reload_target(b);
}

// ---- Jumps ----

bool calls_emit_leaves(const struct tb *b, u64 target)
{
    return tb_config.calls && functions_at(target).start != here(b)->function.start;
}

static u32 most_likely(const struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i < b->n ? i : b->n - 1];
    u64 next = in->pc + in->len;

    if (i >= b->n)
        return calls_emit_leaves(b, next) ? RECORD_ENTER : 0;
    switch (in->kind) {
    case INSN_CALL: return in->target == next ? 0 : RECORD_ENTER;
    case INSN_CALL_IND: return RECORD_ENTER;
    case INSN_RET: return RECORD_LEAVE;
    case INSN_JMP: return calls_emit_leaves(b, in->target) ? RECORD_ENTER : 0;
    case INSN_JMP_IND: return here(b)->function.plt ? RECORD_LEAVE : 0;
    default: return 0;
    }
}

void calls_expect(struct tb *b, u32 i)
{
    if (tb_config.calls)
        b->log.block.call = (u16)most_likely(b, i);
}

// A tail call: the stack pointer has the value of the function's entry, and its caller's frame is
// on top. Pushes a frame with the same key, which ends together with it. The flags in the key are
// masked out: client addresses have 47 bits; those with 56 go to the helpers.
static void jump_frame(struct tb *b)
{
    struct x86 *a = &b->code;

    x86_mov(a, R_RCX, top());
    x86_mov32(a, R_RAX, MEM(R_RCX, F_KEY));
    x86_movzx16_rm(a, R_RDX, MEM(R_RCX, F_KEY + 4));
    x86_lea(a, R_RCX, MEM(R_RCX, tb_config.calls_frame));
    tb_mark(b);
    x86_mov32(a, MEM(R_RCX, F_KEY), R_RAX);
    x86_mov32(a, MEM(R_RCX, F_KEY + 4), R_RDX);
    put_totals(b);
}

static void tail_call(struct tb *b, const struct spool_edge *e)
{
    struct x86 *a = &b->code;

    jump_frame(b);
    x86_mov32_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
    x86_mov32_mi(a, MEM(R_RCX, F_PLT), e->plt | SPOOL_FRAME_JUMP);
    recording_entered(b, R_RCX);
    x86_mov(a, top(), R_RCX);
    x86_mov(a, R_RDX, GS(TA_COUNTERS + e->counter * 8));
    x86_lea(a, R_RDX, MEM(R_RDX, 1));
    x86_mov(a, GS(TA_COUNTERS + e->counter * 8), R_RDX);
}

// The same through register or memory, in a cold part: the flags are free, the target is in rcx.
static void tail_call_to(struct tb *b, const struct cold *c)
{
    u64 site = b->insn[b->cur].pc;
    struct x86_label not [4];
    struct x86 *a = &b->code;

    find_edge(a, site);
    x86_cmp(a, MEM(R_RDX, 0), R_RCX);
    not [0] = x86_jcc(a, CC_NE);
    x86_mov_imm(a, R_RAX, site);
    x86_cmp(a, MEM(R_RDX, 16), R_RAX);
    not [1] = x86_jcc(a, CC_NE);
    x86_mov(a, R_RCX, top());
    x86_cmp(a, MEM(R_RCX, F_SP), R_RSP);
    not [2] = x86_jcc(a, CC_NE);
    x86_movzx16_rm(a, R_RAX, MEM(R_RCX, F_KEY + 6));
    x86_and32_ri(a, R_RAX, SPOOL_FRAME_FLAGS >> 48 & 0x7fff); // all but SPOOL_FRAME_FILLED
    not [3] = x86_jcc(a, CC_NE);
    x86_mov(a, GS(TH_H_ADDR), R_RDX);
    jump_frame(b);
    x86_mov(a, R_RDX, GS(TH_H_ADDR));
    x86_mov32(a, R_RAX, MEM(R_RDX, 12));
    x86_or(a, R_RAX, SPOOL_FRAME_JUMP);
    x86_mov32(a, MEM(R_RCX, F_PLT), R_RAX);
    x86_mov32(a, R_RAX, MEM(R_RDX, 8));
    x86_mov32(a, MEM(R_RCX, F_COUNTER), R_RAX);
    recording_entered(b, R_RCX);
    x86_mov(a, top(), R_RCX);
    x86_inc_m(a, counter_of(R_RAX, 0));
    x86_fix(a, x86_jmp(a), c->back);
    for (u32 k = 0; k < 4; k++)
        x86_land(a, not [k]);
}

void calls_emit_jump(struct tb *b, u32 i, u64 target)
{
    const struct spool_edge *e;
    struct x86 *a = &b->code;
    struct x86_label tail;
    struct cold *c;

    if (!calls_emit_leaves(b, target)) {
        stack(b, false);
        return;
    }
    if (tb_config.contexts) {
        all_in_c(b, STUB_CALLS_JUMP, b->insn[i].pc, 1, target);
        return;
    }
    e = edges_get(SPOOL_EDGE_JUMP, b->insn[i].pc, 0, target);
    state_spill(b, R_RCX);
    state_spill(b, R_RDX);
    state_spill(b, R_RAX);
    if (b->stack_set || (e->function != target && !e->plt)) { // or between parts of a function
        c = cold(b, x86_jmp(a), STUB_CALLS_JUMP, b->insn[i].pc, 1);
        c->calls.desc.plt = b->stack_set;
    } else {
        x86_mov(a, R_RCX, top());
        x86_mov(a, R_RCX, MEM(R_RCX, F_SP));
        x86_not_r(a, R_RCX);
        x86_lea(a, R_RCX, MEM_X(R_RSP, R_RCX, 0, 1));
        tail = x86_jrcxz(a);
        c = cold(b, x86_jmp(a), STUB_CALLS_JUMP, b->insn[i].pc, 1);
        x86_land(a, tail);
        tail_call(b, e);
    }
    c->calls.target = target;
    note_edge(c, e);
    c->back = x86_here(a);
}

void calls_emit_goto(struct tb *b, u32 i)
{
    if (tb_config.jumps && !here(b)->function.plt)
        edges_get(SPOOL_EDGE_GOTO, b->insn[i].pc, 0, b->insn[i].target);
    calls_emit_jump(b, i, b->insn[i].target);
}

void calls_emit_followed(struct tb *b, u32 i)
{
    const struct spool_edge *e;
    struct x86 *a = &b->code;
    u32 r;

    if (!tb_config.jumps || here(b)->function.plt)
        return;
    e = edges_get(SPOOL_EDGE_BRANCH, b->insn[i].pc, 0, b->insn[i].target);
    r = state_scratch(b, 0);
    x86_mov(a, r, GS(TA_COUNTERS + e->counter * 8));
    x86_lea(a, r, MEM(r, 1));
    x86_mov(a, GS(TA_COUNTERS + e->counter * 8), r);
}

// Out of a linkage table. Inline: the common case, from an entry that was called or jumped to, to
// its last target.
static void leave_plt(struct tb *b, u32 i)
{
    struct spool_edge *e = edges_get(SPOOL_EDGE_PLT, here(b)->pc, 0, 0);
    u32 number = edges_plt_number(here(b)->pc);
    struct x86 *a = &b->code;
    struct x86_label called, jumped, same;
    struct cold *c[2];

    note_target(b);
    state_spill(b, R_RSI);
    x86_mov(a, R_RDX, top());
    x86_mov32(a, R_RCX, MEM(R_RDX, F_PLT));
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)number));
    x86_mov_imm(a, R_RSI, 0);
    called = x86_jrcxz(a);
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)SPOOL_FRAME_JUMP));
    x86_mov_imm(a, R_RSI, SPOOL_FRAME_JUMP);
    jumped = x86_jrcxz(a);
    c[0] = cold(b, x86_jmp(a), STUB_CALLS_LEAVE_PLT, b->insn[i].pc, 0);
    x86_land(a, called);
    x86_land(a, jumped);
    reload_target(b);
    x86_mov_imm(a, R_RAX, (u64)e);
    same = same_target(a, R_RAX);
    c[1] = cold(b, x86_jmp(a), STUB_CALLS_LEAVE_PLT, b->insn[i].pc, 0);
    x86_land(a, same);
    x86_mov32(a, MEM(R_RDX, F_PLT), R_RSI);
    x86_mov32(a, R_RAX, MEM(R_RDX, F_COUNTER));
    charge(b, 1 + tb_config.calls_events, true);
    recording_left(b, R_RDX, R_RAX, 1 + tb_config.calls_events);
    recording_entered(b, R_RDX);
    for (u32 k = 0; k < 2; k++) {
        c[k]->calls.desc.plt = number;
        note_edge(c[k], e);
        c[k]->back = x86_here(a);
    }
    reload_target(b);
}

// Counts a jump through a table to the target in rcx; the flags are free.
static void count_table(struct tb *b, u32 i)
{
    u64 site = b->insn[i].pc;
    struct x86 *a = &b->code;
    struct cold *c[2];

    find_edge(a, site);
    x86_cmp(a, MEM(R_RDX, 0), R_RCX);
    c[0] = cold(b, x86_jcc(a, CC_NE), STUB_CALLS_TABLE, site, 0);
    x86_mov_imm(a, R_RAX, site);
    x86_cmp(a, MEM(R_RDX, 16), R_RAX);
    c[1] = cold(b, x86_jcc(a, CC_NE), STUB_CALLS_TABLE, site, 0);
    x86_mov32(a, R_RAX, MEM(R_RDX, 8)); // counter
    x86_inc_m(a, counter_of(R_RAX, 0));
    c[0]->back = c[1]->back = x86_here(a);
}

// Inline: the check that it stays within the function, as jumps through tables do.
void calls_emit_jump_to(struct tb *b, u32 i)
{
    struct x86 *a = &b->code;
    u64 size = here(b)->function.end - here(b)->function.start;

    if (!tb_config.calls)
        return;
    if (here(b)->function.plt) {
        leave_plt(b, i);
        return;
    }
    note_target(b);
    if (b->stack_set) {
        all_in_c(b, STUB_CALLS_JUMP, b->insn[i].pc, 0, 0);
        reload_target(b);
        return;
    }
    state_flags_free(b, FLAGS_ARITH);
    x86_mov_imm(a, R_RDX, -here(b)->function.start);
    x86_add_rr(a, R_RDX, R_RCX);
    x86_cmp_ri(a, R_RDX, size > INT32_MAX ? INT32_MAX : (u32)size);
    struct cold *c = cold(b, x86_jcc(a, CC_AE), STUB_CALLS_JUMP, b->insn[i].pc, 0);
    c->calls.indirect = !tb_config.contexts;
    if (tb_config.jumps) {
        count_table(b, i);
        c->back = x86_here(a);
    }
    state_flags_restore(b);
    reload_target(b);
}

// ---- Joints of superblocks ----

static bool stays(const struct tb_block *t, u64 target)
{
    return functions_at(target).start == t->function.start;
}

bool calls_can_join(const struct tb *b, u64 next)
{
    const struct tb_block *t = &b->block[b->nblocks - 1];
    const struct insn *in = &b->insn[b->n - 1];

    if (!tb_config.calls)
        return true;
    for (u32 i = t->first; i < b->n; i++) {
        if (b->insn[i].flags & INSN_F_SETS_SP)
            return false;
    }
    switch (in->kind) {
    case INSN_CALL:
    case INSN_CALL_IND:
    case INSN_RET: return true;
    case INSN_JMP_IND:
        if (t->function.plt)
            return edges_get(SPOOL_EDGE_PLT, t->pc, 0, 0)->target == next;
        return stays(t, next);
    default: return stays(t, next);
    }
}

void calls_begin_joint(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    if (!tb_config.calls || (in->kind == INSN_JMP_IND && !here(b)->function.plt))
        return;
    state_spill(b, R_RDX);
    state_spill(b, R_RAX);
    state_spill(b, R_RSI);
}

// If rcx is 0, goes on; else to the side, with rcx as if the target were another.
static void leave_unless(struct tb *b, u64 side)
{
    struct x86_label zero = x86_jrcxz(&b->code);

    x86_mov_imm(&b->code, R_RCX, 0);
    x86_fix(&b->code, x86_jmp(&b->code), side);
    x86_land(&b->code, zero);
}

// The last frame is that of a call, and ends.
static void joint_return(struct tb *b, u32 i, u64 next, u64 side)
{
    s64 popped = 8 + b->insn[i].imm;
    struct x86 *a = &b->code;

    x86_mov(a, R_RDX, top());
    x86_mov_imm(a, R_RAX, next - (u64)popped);
    x86_lea(a, R_RAX, MEM_X(R_RSP, R_RAX, 0, 0));
    x86_not_r(a, R_RAX);
    x86_mov(a, R_RCX, MEM(R_RDX, F_KEY));
    to_difference(a, R_RCX, R_RAX);
    leave_unless(b, side);
    x86_mov32(a, R_RCX, MEM(R_RDX, F_PLT));
    leave_unless(b, side);
    x86_mov32(a, R_RAX, MEM(R_RDX, F_COUNTER));
    charge(b, 1, false);
    x86_mov(a, R_RSI, R_RDX);
    x86_lea(a, R_RDX, MEM(R_RDX, -(s64)tb_config.calls_frame));
    x86_mov(a, top(), R_RDX);
    recording_left_within(b, i, R_RSI, R_RAX, 1);
}

static void joint_call_to(struct tb *b, u32 i, u64 next)
{
    const struct insn *in = &b->insn[i];
    const struct spool_edge *e = edges_get(SPOOL_EDGE_INDIRECT, in->pc, in->len, next);
    struct x86 *a = &b->code;

    make_frame(b, in->pc + in->len);
    x86_mov32_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
    x86_mov32_mi(a, MEM(R_RCX, F_PLT), e->plt);
    recording_entered_within(b, i, R_RCX);
    x86_mov(a, top(), R_RCX);
    x86_mov(a, R_RDX, GS(TA_COUNTERS + e->counter * 8));
    x86_lea(a, R_RDX, MEM(R_RDX, 1));
    x86_mov(a, GS(TA_COUNTERS + e->counter * 8), R_RDX);
}

// Out of a linkage table, from the entry that was called.
static void joint_plt(struct tb *b, u32 i, u64 side)
{
    struct x86 *a = &b->code;

    x86_mov(a, R_RDX, top());
    x86_mov32(a, R_RCX, MEM(R_RDX, F_PLT));
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)edges_plt_number(here(b)->pc)));
    leave_unless(b, side);
    x86_mov32_mi(a, MEM(R_RDX, F_PLT), 0);
    x86_mov32(a, R_RAX, MEM(R_RDX, F_COUNTER));
    charge(b, 1 + tb_config.calls_events, true);
    recording_left_within(b, i, R_RDX, R_RAX, 1 + tb_config.calls_events);
    recording_entered_within(b, i, R_RDX);
}

void calls_emit_joint(struct tb *b, u32 i, u64 next, u64 side)
{
    if (!tb_config.calls)
        return;
    switch (b->insn[i].kind) {
    case INSN_RET: joint_return(b, i, next, side); break;
    case INSN_CALL_IND: joint_call_to(b, i, next); break;
    default:
        if (here(b)->function.plt)
            joint_plt(b, i, side);
    }
}

void calls_emit_side(struct tb *b, u32 i, u64 target)
{
    bool set = b->stack_set;

    if (!tb_config.calls)
        return;
    b->stack_set = false; // that of the last block
    switch (b->insn[i].kind) {
    case INSN_JCC: calls_emit_jump(b, i, target); break;
    case INSN_RET: calls_emit_return(b, i); break;
    case INSN_CALL_IND: calls_emit_call_to(b, i); break;
    default: calls_emit_jump_to(b, i);
    }
    b->stack_set = set;
}

// ---- The stack pointer ----

// Whether this block computes register r, before instruction i, from the stack pointer or rbp:
// stack space is allocated, as alloca() does it.
static bool is_of_stack(const struct tb *b, u32 i, u32 r)
{
    while (i-- > 0) {
        const struct insn *in = &b->insn[i];

        if (!(in->written & 1u << r))
            continue;
        if (in->written != 1u << r)
            return false;
        if (in->nrefs || in->kind != INSN_PLAIN)
            return false;
        if (in->regs & (1u << R_RSP | 1u << R_RBP))
            return true;
        if (in->sum.to == r && in->sum.from == REG_NONE)
            return false;
        if (in->sum.to == r)
            r = in->sum.from;
    }
    return false;
}

void calls_emit_stack_set(struct tb *b, const struct insn *in)
{
    if (!tb_config.calls || !(in->flags & INSN_F_SETS_SP))
        return;
    if (in->sum.to == R_RSP && in->sum.from < 16 &&
        is_of_stack(b, (u32)(in - b->insn), in->sum.from)) {
        b->stack_set = false; // the instruction before it only freed such space
        return;
    }
    if (b->stack_set)
        return;
    x86_mov(&b->code, GS(TH_CALLS_SP), R_RSP);
    b->stack_set = true;
}

void calls_emit_miss(struct tb *b, u32 counter)
{
    struct x86 *a = &b->code;
    struct x86_label over;

    helpercall_emit(b, stubs_at(STUB_CALLS_MISS));
    over = x86_jmp(a);
    helpercall_data(b, &counter, sizeof(counter));
    x86_land(a, over);
}
