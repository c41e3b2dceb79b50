// SPDX-License-Identifier: MIT
// Calls in translated code (calls.h). A frame is made behind the call's own push and ended behind
// the return's pop, when nothing of the client's can fault any more; all of it leaves the flags
// alone. What is not as expected is left to the helpers of count/calls.c.
#include "engine/translate/calls.h"

#include "engine/base/heap.h"
#include "engine/codecache/stubs.h"
#include "engine/count/calls.h"
#include "engine/count/functions.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"
#include "engine/translate/helper.h"
#include "engine/translate/state.h"

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

static struct x86_mem top(void)
{
    return GS(TA_COUNTERS + tb_config.calls_top * 8);
}

static struct x86_mem total(u32 place)
{
    return GS(TA_COUNTERS + (tb_config.calls_top + 1 + place) * 8);
}

// A counter of the edge whose first is in `reg`.
static struct x86_mem counter_of(u32 reg, u32 n)
{
    return GS_X(TA_COUNTERS + n * 8, reg, 3);
}

// r := x - y, but for one less, from ~y in r.
static void to_difference(struct x86 *a, u32 r, u32 x)
{
    x86_lea(a, r, MEM_X(r, x, 0, 1));
}

// ---- Totals ----

static void add_total(struct tb *b, enum spool_event e, u32 n, bool free)
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
    u32 r = state_scratch(b, 0);

    x86_mov(a, r, total(place));
    x86_lea(a, r, MEM(r, n));
    x86_mov(a, total(place), r);
}

void calls_emit_totals(struct tb *b, bool free)
{
    u32 reads = 0, writes = 0, bc = 0, bi = 0;

    if (!tb_config.calls)
        return;
    for (u32 i = 0; i < b->n; i++) {
        reads += b->rec[i].reads;
        writes += b->rec[i].writes;
        bc += (b->rec[i].flags & SPOOL_I_BC) != 0;
        bi += (b->rec[i].flags & SPOOL_I_BI) != 0;
    }
    add_total(b, SPOOL_E_IR, b->n, free);
    add_total(b, SPOOL_E_DR, reads, free);
    add_total(b, SPOOL_E_DW, writes, free);
    add_total(b, SPOOL_E_BC, bc, free);
    add_total(b, SPOOL_E_BI, bi, free);
}

// ---- Cold parts ----

static struct cold *cold(struct tb *b, struct x86_label from, enum stub stub, u64 site, u32 len)
{
    struct cold *c = tb_cold(b, COLD_CALLS, from);

    c->calls =
        (struct cold_calls){ .stub = (u8)stub, .desc = { { (u32)site, (u32)(site >> 32) }, len } };
    return c;
}

// The stack pointer has been set in this block.
static void stack(struct tb *b)
{
    if (b->stack_set)
        cold(b, x86_jmp(&b->code), STUB_CALLS_STACK, 0, 0);
}

void calls_emit_cold(struct tb *b, const struct cold *c)
{
    tb_cold_begin(b, c);
    if (c->calls.target) {
        x86_mov_imm(&b->code, R_RCX, c->calls.target);
        x86_mov(&b->code, GS(TH_IBL_TARGET), R_RCX);
    }
    helper_call(b, stubs_at((enum stub)c->calls.stub));
    helper_back(b, c->back, &c->calls.desc, sizeof(c->calls.desc));
}

// ---- Calls ----

// rcx := the new frame, with its key, stack pointer and totals; rdx is used.
static void make_frame(struct tb *b, u64 back)
{
    struct x86 *a = &b->code;

    x86_mov(a, R_RCX, top());
    x86_lea(a, R_RCX, MEM(R_RCX, tb_config.calls_frame));
    x86_mov_imm(a, R_RDX, back);
    x86_lea(a, R_RDX, MEM_X(R_RSP, R_RDX, 0, 0));
    tb_mark(b); // the frame's page may not be there yet (calls_full)
    x86_mov(a, MEM(R_RCX, F_KEY), R_RDX);
    x86_mov(a, MEM(R_RCX, F_SP), R_RSP);
    for (u32 i = 0; i < tb_config.calls_often; i++) {
        x86_mov(a, R_RDX, total(i));
        x86_not_r(a, R_RDX);
        x86_mov(a, MEM(R_RCX, F_BEFORE + i * 8), R_RDX);
    }
}

void calls_emit_call(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    const struct spool_edge *e;

    if (!tb_config.calls)
        return;
    stack(b);
    // within the function: to find out where it is, or a subroutine of its own
    if (!calls_emit_leaves(b, in->target) && functions_at(in->target).start != in->target)
        return;
    e = calls_edge(SPOOL_EDGE_CALL, in->pc, in->len, in->target);
    state_spill(b, R_RCX);
    state_spill(b, R_RDX);
    make_frame(b, in->pc + in->len);
    if (e->plt) {
        x86_mov32_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
        x86_mov32_mi(a, MEM(R_RCX, F_PLT), e->plt);
    } else {
        x86_mov_mi(a, MEM(R_RCX, F_COUNTER), e->counter);
    }
    x86_mov(a, top(), R_RCX);
}

// For each site that calls through register or memory, where its last edge is noted.
static struct {
    u64 *site;
    const struct spool_edge **cell;
    u32 size, used;
} cells;

static u32 cell_find(u64 site)
{
    u32 k = (u32)(site * 0x9e3779b97f4a7c15ul >> 32) & (cells.size - 1);

    while (cells.site[k] && cells.site[k] != site)
        k = (k + 1) & (cells.size - 1);
    return k;
}

#define CELLS_STEP 512

// One that stays where it is: tables grow, cells are taken from pages of their own.
static u64 cell_of(u64 site)
{
    static const struct spool_edge none;
    static struct {
        const struct spool_edge **at;
        u32 left;
    } fresh;
    u32 k;

    if (cells.used * 2 >= cells.size) {
        u32 old = cells.size;
        u64 *sites = cells.site;
        const struct spool_edge **refs = cells.cell;

        cells.size = old ? old * 2 : 1024;
        cells.site = heap_alloc(cells.size * 8ul);
        cells.cell = heap_alloc(cells.size * 8ul);
        for (u32 i = 0; i < old; i++) {
            if (!sites[i])
                continue;
            k = cell_find(sites[i]);
            cells.site[k] = sites[i];
            cells.cell[k] = refs[i];
        }
        heap_free(sites, old * 8ul);
        heap_free(refs, old * 8ul);
    }
    k = cell_find(site);
    if (!cells.site[k]) {
        if (!fresh.left) {
            fresh.at = heap_alloc(CELLS_STEP * sizeof(*fresh.at));
            fresh.left = CELLS_STEP;
        }
        *fresh.at = &none;
        cells.site[k] = site;
        cells.cell[k] = (const struct spool_edge *)(const void *)fresh.at++;
        cells.used++;
        fresh.left--;
    }
    return (u64)cells.cell[k];
}

// rcx is the target: whether it is what the pointer in `reg` points to. rax is used, rcx is not
// the target any more.
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

static void target_again(struct tb *b)
{
    x86_mov(&b->code, R_RCX, GS(TH_IBL_TARGET));
}

void calls_emit_call_to(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    struct x86_label same;
    struct cold *c;
    u64 cell;

    if (!tb_config.calls)
        return;
    stack(b);
    cell = cell_of(in->pc);
    note_target(b);
    x86_mov_imm(a, R_RDX, cell);
    x86_mov(a, R_RDX, MEM(R_RDX, 0));
    same = same_target(a, R_RDX);
    c = cold(b, x86_jmp(a), STUB_CALLS_CALL, in->pc, in->len);
    c->calls.desc.cell[0] = (u32)cell;
    c->calls.desc.cell[1] = (u32)(cell >> 32);
    x86_land(a, same);
    x86_mov(a, R_RAX, MEM(R_RDX, 8)); // counter and plt
    make_frame(b, in->pc + in->len);
    x86_mov(a, MEM(R_RCX, F_COUNTER), R_RAX);
    x86_mov(a, top(), R_RCX);
    x86_mov32(a, R_RAX, MEM(R_RCX, F_COUNTER));
    x86_mov(a, R_RDX, counter_of(R_RAX, 0));
    x86_lea(a, R_RDX, MEM(R_RDX, 1));
    x86_mov(a, counter_of(R_RAX, 0), R_RDX);
    c->back = x86_here(a);
    target_again(b);
}

// ---- Returns ----

// counter_of(rax, first + i) grows by what total i has grown by since the frame in rdx was made;
// rcx and rsi are used. `anew`: and the frame begins now.
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
    struct x86_label same;
    struct cold *c;
    s64 popped = 8 + in->imm;

    if (!tb_config.calls)
        return;
    note_target(b);
    state_spill(b, R_RSI);
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
    x86_lea(a, R_RDX, MEM(R_RDX, -(s64)tb_config.calls_frame));
    x86_mov(a, top(), R_RDX);
    c->back = x86_here(a);
    target_again(b);
}

// ---- Jumps ----

bool calls_emit_leaves(const struct tb *b, u64 target)
{
    return tb_config.calls && functions_at(target).start != b->function.start;
}

void calls_emit_jump(struct tb *b, u32 i, u64 target)
{
    struct x86 *a = &b->code;
    struct cold *c;

    if (tb_config.calls)
        stack(b);
    if (!calls_emit_leaves(b, target))
        return;
    state_spill(b, R_RCX);
    c = cold(b, x86_jmp(a), STUB_CALLS_JUMP, b->insn[i].pc, 0);
    c->calls.target = target;
    c->back = x86_here(a);
}

// Out of a linkage table, as nearly always: from an entry that was called to what it led to last.
static void leave_plt(struct tb *b, u32 i)
{
    struct spool_edge *e = calls_edge(SPOOL_EDGE_PLT, b->pc, 0, 0);
    u32 number = calls_plt_number(b->pc);
    struct x86 *a = &b->code;
    struct x86_label called, same;
    struct cold *c[2];

    note_target(b);
    state_spill(b, R_RSI);
    x86_mov(a, R_RDX, top());
    x86_mov32(a, R_RCX, MEM(R_RDX, F_PLT));
    x86_lea(a, R_RCX, MEM(R_RCX, -(s64)number));
    called = x86_jrcxz(a);
    c[0] = cold(b, x86_jmp(a), STUB_CALLS_LEAVE_PLT, b->insn[i].pc, 0);
    x86_land(a, called);
    target_again(b);
    x86_mov_imm(a, R_RSI, (u64)e);
    same = same_target(a, R_RSI);
    c[1] = cold(b, x86_jmp(a), STUB_CALLS_LEAVE_PLT, b->insn[i].pc, 0);
    x86_land(a, same);
    x86_mov32(a, R_RAX, MEM(R_RDX, F_COUNTER));
    charge(b, 1 + tb_config.calls_events, true);
    x86_mov32_mi(a, MEM(R_RDX, F_PLT), 0);
    for (u32 k = 0; k < 2; k++) {
        c[k]->calls.desc.plt = number;
        c[k]->calls.desc.cell[0] = (u32)(u64)e;
        c[k]->calls.desc.cell[1] = (u32)((u64)e >> 32);
        c[k]->back = x86_here(a);
    }
    target_again(b);
}

// Whether it stays within the function, as jumps through tables do.
void calls_emit_jump_to(struct tb *b, u32 i)
{
    struct x86 *a = &b->code;
    u64 size = b->function.end - b->function.start;

    if (!tb_config.calls)
        return;
    if (b->function.plt) {
        leave_plt(b, i);
        return;
    }
    note_target(b);
    stack(b);
    state_flags_free(b, FLAGS_ARITH);
    x86_mov_imm(a, R_RDX, -b->function.start);
    x86_add_rr(a, R_RDX, R_RCX);
    x86_cmp_ri(a, R_RDX, size > INT32_MAX ? INT32_MAX : (u32)size);
    cold(b, x86_jcc(a, CC_AE), STUB_CALLS_JUMP, b->insn[i].pc, 0);
    state_flags_restore(b);
    target_again(b);
}

// ---- The stack pointer ----

void calls_emit_stack_set(struct tb *b, const struct insn *in)
{
    if (!tb_config.calls || !(in->flags & INSN_F_SETS_SP) || b->stack_set)
        return;
    x86_mov(&b->code, GS(TH_CALLS_SP), R_RSP);
    b->stack_set = true;
}

void calls_emit_miss(struct tb *b, u32 counter)
{
    struct x86 *a = &b->code;
    struct x86_label over;

    helper_call(b, stubs_at(STUB_CALLS_MISS));
    over = x86_jmp(a);
    helper_data(b, &counter, sizeof(counter));
    x86_land(a, over);
}
