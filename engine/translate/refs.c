// SPDX-License-Identifier: MIT
// Cache simulation in translated code. An access that hits the most recently used way of its set
// changes nothing in an LRU cache, so one compare with the first tag of the set is exact. On a
// mismatch a cold part behind the block calls a way search (emit/waysearch.c), which calls the
// simulator (count/helpers.c) on a miss. Checks are in program order.
//
// A data check, for [ea], size s, line size L, S sets:
//     lea set, [ea]; lea tag, [set + s - 1]; and set, (S - 1) * L; or tag, L - 1;
//     cmp tag, gs:[D1 + set * scale]; jne cold
// The tag is that of the last line. When the access straddles two lines, the last line has another
// set than the first (there are at least two sets), so its tag never equals one of the first's set:
// one compare covers both.
#include "engine/translate/refs.h"

#include "engine/codecache/stubs.h"
#include "engine/count/caches.h"
#include "engine/count/lineids.h"
#include "engine/emit/address.h"
#include "engine/emit/helpercall.h"
#include "engine/emit/state.h"
#include "engine/emit/waysearch.h"
#include "engine/spool/config.h"
#include "engine/spool/spooler.h"
#include "engine/thread/thread.h"

// Whether the reference has a constant address within one line: its set and tag are constants.
static bool constant_line(const struct memref *r, u32 size, u64 *set, u64 *tag)
{
    u64 low = (1ul << tb_config.d1_shift) - 1, first = (u64)r->disp, last = first + size - 1;

    if (r->base != REG_RIP || (r->flags & (MEMREF_XLAT | MEMREF_BITOFF | MEMREF_FS | MEMREF_GS)))
        return false;
    *set = first & tb_config.d1_mask;
    *tag = last | low;
    return (first ^ last) <= low;
}

// Jumps to the cold part unless the tag of the last line is the first of its set.
static struct x86_label d1_check(struct tb *b, const struct cold_dref *c)
{
    struct x86 *a = &b->code;
    u64 set, tag;

    if (!tb_config.d1_fast)
        return x86_jmp(a);
    if (constant_line(&c->ref, c->size, &set, &tag)) {
        x86_mov_imm(a, c->tag, tag);
        x86_cmp(a, c->tag, GS(TA_D1 + (set << tb_config.d1_scale)));
        return x86_jcc(a, CC_NE);
    }
    address_emit(b, &c->ref, c->set, c->tag);
    if (c->size == 1)
        x86_mov(a, c->tag, c->set);
    else
        x86_lea(a, c->tag, MEM(c->set, c->size - 1)); // last byte
    x86_and32_ri(a, c->set, tb_config.d1_mask);       // offset of the set
    x86_or(a, c->tag, (1 << tb_config.d1_shift) - 1); // tag of the line
    x86_cmp(a, c->tag, GS_X(TA_D1, c->set, tb_config.d1_scale));
    return x86_jcc(a, CC_NE);
}

static void emit_dref(struct tb *b, u32 i, const struct memref *r)
{
    bool write = (r->flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE;
    u32 avoid = address_regs(r), size = r->flags & MEMREF_BITOFF ? 1 : r->size;
    struct cold_dref c = { .ref = *r };

    if (size > tb_config.min_line)
        size = tb_config.min_line;
    state_flags_free(b, b->live[i]);
    state_unspill_mask(b, avoid);
    c.set = (u8)state_scratch(b, avoid);
    c.tag = (u8)state_scratch(b, avoid | 1u << c.set);
    c.size = (u16)size;
    c.counter = b->first[i] + (write ? b->cnt[i].d1mw : b->cnt[i].d1mr);
    tb_cold(b, COLD_DREF, d1_check(b, &c))->dref = c;
}

static void cold_dref(struct tb *b, const struct cold_dref *c, u64 back)
{
    bool write = (c->ref.flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE;
    struct helperdesc_d1 d = { c->counter,
                               c->size | caches_way(!write, c->ref.flags & MEMREF_WRITE) };
    u64 set, tag;

    if (!tb_config.d1_fast) {
        address_emit(b, &c->ref, c->set, c->tag);
        x86_mov(&b->code, GS(TH_H_ADDR), c->set);
        helpercall_emit(b, stubs_at(STUB_D1_ANY));
        helpercall_back(b, back, &d, sizeof(d));
        return;
    }
    if (constant_line(&c->ref, c->size, &set, &tag))
        x86_mov_imm(&b->code, c->set, set);
    helpercall_emit(b, waysearch_d1(c->set, c->tag));
    helpercall_back(b, back, &d, offsetof(struct helperdesc_d1, size));
}

static u32 i1_set(u64 line)
{
    return (u32)(line & (tb_config.i1_sets - 1)) * spool->i1.assoc * 4;
}

// The first and the last line of an instruction.
static u64 first_line(const struct insn *in)
{
    return in->pc >> tb_config.i1_shift;
}

static u64 last_line(const struct insn *in)
{
    return (in->pc + in->len - 1) >> tb_config.i1_shift;
}

// Jumps unless the line is the most recent of its set.
static struct x86_label i1_check(struct tb *b, u64 line)
{
    if (!tb_config.i1_fast)
        return x86_jmp(&b->code);
    x86_cmp32_mi(&b->code, GS(TA_I1 + i1_set(line)), lineids_of(line));
    return x86_jcc(&b->code, CC_NE);
}

static void emit_iref(struct tb *b, u32 i)
{
    u64 first = first_line(&b->insn[i]), last = last_line(&b->insn[i]);
    bool both = first != b->iline && last != first; // else the first line hits, or is the last
    struct cold *c;

    if (first == b->iline && last == b->iline)
        return;
    state_flags_free(b, b->live[i]);
    c = tb_cold(b, COLD_IREF, i1_check(b, both ? first : last));
    c->iref.counter = b->first[i] + b->cnt[i].i1mr;
    c->iref.both = both;
    c->iref.second.bytes = 0;
    if (both && tb_config.i1_fast)
        c->iref.second = i1_check(b, last);
    c->back = x86_here(&b->code);
    b->iline = last;
}

// The way search uses rax and rcx: saves the client's values unless they are spilled.
static void borrow(struct tb *b, u32 regs)
{
    for (u32 r = R_RAX; r <= R_RCX; r++) {
        if (regs & 1u << r)
            x86_mov(&b->code, GS(TH_REGS + r * 8), r);
    }
}

static void give_back(struct tb *b, u32 regs)
{
    for (u32 r = R_RAX; r <= R_RCX; r++) {
        if (regs & 1u << r)
            x86_mov(&b->code, r, GS(TH_REGS + r * 8));
    }
}

// Only the last line was checked: the first is the previous instruction's line, or the same.
// Searches its ways.
static void search_line(struct tb *b, u64 line, u64 back, const struct helperdesc_i1 *d)
{
    struct x86 *a = &b->code;
    u32 borrowed = (1u << R_RAX | 1u << R_RCX) & ~(u32)b->spilled;
    struct x86_label jump;

    borrow(b, borrowed);
    x86_mov_imm(a, R_RAX, i1_set(line));
    x86_mov_imm(a, R_RCX, lineids_of(line));
    helpercall_emit(b, waysearch_i1());
    if (!borrowed) {
        helpercall_back(b, back, d, offsetof(struct helperdesc_i1, first));
        return;
    }
    jump = x86_jmp(a);
    helpercall_data(b, d, offsetof(struct helperdesc_i1, first));
    x86_land(a, jump);
    give_back(b, borrowed);
    x86_fix(a, x86_jmp(a), back);
}

static void cold_iref(struct tb *b, const struct cold_iref *c, u64 back)
{
    const struct insn *in = &b->insn[b->cur];
    struct helperdesc_i1 d = { { (u32)in->pc, (u32)(in->pc >> 32) }, c->counter, in->len, 0, 0 };

    if (c->second.bytes)
        x86_land(&b->code, c->second);
    if (tb_config.i1_fast && !c->both && waysearch_i1()) {
        search_line(b, last_line(in), back, &d);
        return;
    }
    if (tb_config.i1_fast) {
        d.first = lineids_of(first_line(in));
        d.last = lineids_of(last_line(in));
    }
    helpercall_emit(b, stubs_at(STUB_I1_ANY));
    helpercall_back(b, back, &d, sizeof(d));
}

// Stores the index vector and the mask of a gather, or the mask of a masked move, for the helper.
static void emit_vector_state(struct tb *b, const struct insn *in)
{
    struct x86 *a = &b->code;

    if (in->vec_kind == VEC_KGATHER) {
        x86_vmovdqu64_mz(a, GS(TA_VEC), in->vec_index);
        x86_kmovw_mk(a, GS(TA_VEC + 64), in->vec_mask);
        return;
    }
    if (in->vec_kind == VEC_GATHER)
        x86_vmovdqu_my(a, GS(TA_VEC), in->vec_index);
    if (in->vec_kind == VEC_TILE) {
        if (in->refs[0].index != REG_NONE)
            x86_mov(a, GS(TA_VEC + 64), in->refs[0].index);
        else
            x86_mov_mi(a, GS(TA_VEC + 64), 0);
        return;
    }
    x86_vmovdqu_my(a, GS(TA_VEC + 64), in->vec_mask);
}

u32 refs_vector_before(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct memref r = in->refs[0]; // a masked move; base and displacement of a gather
    u32 avoid = address_regs(&r), r1, r2;
    bool tile = in->vec_kind == VEC_TILE;
    union helperdesc_word w = { .vec = { .kind = in->vec_kind,
                                         .esize_log =
                                             tile ? in->vec_mask : address_log2(in->vec_esize),
                                         .isize_log = address_log2(in->vec_isize),
                                         .last = in->vec_count - 1u,
                                         .scale_log = address_log2(r.scale),
                                         .write = (r.flags & MEMREF_WRITE) != 0,
                                         .a32 = tile && (r.flags & MEMREF_A32),
                                         .dyn = b->cnt[i].dyn_r } };

    state_unspill_mask(b, avoid);
    r1 = state_scratch(b, avoid);
    r2 = state_scratch(b, avoid | 1u << r1);
    emit_vector_state(b, in);
    if (tile)
        r.index = REG_NONE;
    address_emit(b, &r, r1, r2);
    x86_mov(&b->code, GS(TH_H_ADDR), r1);
    return w.word;
}

static void emit_vector_refs(struct tb *b, u32 i)
{
    u32 what = refs_vector_before(b, i);

    helpercall_describe(b, b->first[i], what);
    helpercall_emit(b, stubs_at(STUB_VEC));
}

void refs_insn(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    if (!tb_config.cache)
        return;
    emit_iref(b, i);
    if (in->kind == INSN_STRING && (in->flags & INSN_F_REP))
        return;
    if (in->vec_kind != VEC_NONE) {
        emit_vector_refs(b, i);
        return;
    }
    for (u32 k = 0; k < in->nrefs; k++)
        emit_dref(b, i, &in->refs[k]);
}

static u32 describe_rep(const struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    union helperdesc_word w = { .rep = { .op = in->str_op,
                                         .size_log = address_log2(in->str_size),
                                         .a32 = (in->flags & INSN_F_A32) != 0,
                                         .fetch = (b->rec[i].flags & SPOOL_I_FETCH) != 0,
                                         .repne = (in->flags & INSN_F_REPNE) != 0,
                                         .fs = (in->flags & INSN_F_SEG_FS) != 0,
                                         .gs = (in->flags & INSN_F_SEG_GS) != 0 } };

    return w.word;
}

u32 refs_string_run(struct tb *b, u32 i)
{
    const u32 regs = 1u << R_RCX | 1u << R_RSI | 1u << R_RDI | 1u << R_RAX;
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    u32 high = describe_rep(b, i), r;

    state_unspill_mask(b, regs);
    x86_mov(a, GS(TH_REP_RCX), R_RCX);
    x86_mov(a, GS(TH_REP_RSI), R_RSI);
    x86_mov(a, GS(TH_REP_RDI), R_RDI);
    helpercall_describe(b, b->first[i], high);
    r = state_scratch(b, regs);
    x86_mov_imm(a, r, in->pc);
    x86_mov(a, GS(TH_H_ADDR), r);
    b->in_rep = true;
    tb_mark(b);
    if (in->flags & INSN_F_SEG_GS)
        b->overflow = true; // cannot happen: block.c steps these
    x86_copy(a, in->bytes, in->len);
    b->in_rep = false;
    b->cur++;
    tb_mark(b);
    b->cur--;
    return high;
}

// A rep instruction runs natively: its registers are saved before, its references counted after it.
static void account_string(struct tb *b, u32 i)
{
    u32 what = refs_string_run(b, i);

    helpercall_describe(b, b->first[i], what);
    helpercall_emit(b, stubs_at(STUB_REP));
}

void refs_string(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];

    if ((in->flags & INSN_F_REP) && (tb_config.cache || tb_config.rep_cachegrind)) {
        account_string(b, i);
    } else {
        tb_mark(b);
        x86_copy(&b->code, in->bytes, in->len);
    }
}

void refs_cold(struct tb *b, const struct cold *c)
{
    tb_cold_begin(b, c);
    if (c->kind == COLD_DREF)
        cold_dref(b, &c->dref, c->back);
    else
        cold_iref(b, &c->iref, c->back);
}
