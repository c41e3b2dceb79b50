// SPDX-License-Identifier: MIT
// Cache and branch simulation in translated code. An access that hits the most recently used way of
// its set changes nothing in an LRU cache, so one compare with the first tag of the set is exact.
// On a mismatch a cold part behind the block calls a stub that searches the other ways
// (translate_ways.c), which calls the simulator (prof.c) on a miss. The order of the checks is the
// program's.
//
// A data check, for [ea], size s, line size L, S sets:
//     lea r1,[ea]; lea r2,[r1+s-1]; and r1,(S-1)*L; or r2,L-1; cmp r2,%gs:[r1*scale+D1]; jne cold
// r2 is the tag of the last line. When the access straddles two lines, that one's set is not r1's,
// so it can never equal a tag in r1's set (there are at least two sets): one compare covers both.
#include "engine/base/cpu.h"
#include "engine/translate/translate.h"

#include "engine/count/prof.h"
#include "engine/spool/spooler.h"

static u32 log2u(u32 v)
{
    return (u32)__builtin_ctz(v);
}

// Calls a stub on the engine's stack. The words behind the jump that follows are aligned to 4: see
// prof.h.
#define SIM_CALL_BYTES (9 + 9 + 5)
static void sim_call(struct tb *b, u64 stub)
{
    struct x86 *a = &b->code;

    x86_nops(a, -(tb_off(b) + SIM_CALL_BYTES + PROF_DESC_AT) & 3);
    x86_mov(a, GS(TH_CLIENT_SP), R_RSP);
    x86_mov(a, R_RSP, GS(TH_ENGINE_SP));
    tb_call_out(b, stub);
    x86_mov(a, R_RSP, GS(TH_CLIENT_SP));
}

static void jmp_to(struct tb *b, u64 target)
{
    x86_fix(&b->code, x86_jmp(&b->code), target);
}

// One of the stubs that take a descriptor in the thread block.
static void sim_call_desc(struct tb *b, enum prof_stub stub, u32 low, u32 high)
{
    x86_mov32_mi(&b->code, GS(TH_H_DESC), low);
    x86_mov32_mi(&b->code, GS(TH_H_DESC + 4), high);
    sim_call(b, prof_stub(stub));
}

// r1 := base and index and displacement of the reference.
static void emit_offset(struct tb *b, const struct memref *r, u32 r1)
{
    struct x86 *a = &b->code;
    struct x86_mem m = MEM_X(r->base, r->index, r->scale ? log2u(r->scale) : 0, r->disp);

    if (r->flags & MEMREF_XLAT) {
        x86_movzx8_rr(a, r1, R_RAX);
        x86_lea(a, r1, MEM_X(R_RBX, r1, 0, 0));
    } else if (r->base == REG_RIP ||
               (r->base == REG_NONE && (r->index == REG_NONE || r->disp != (s64)(s32)r->disp))) {
        x86_mov_imm(a, r1, (u64)r->disp);
    } else if (r->flags & MEMREF_A32) {
        m.a32 = true;
        x86_lea32(a, r1, m);
    } else {
        x86_lea(a, r1, m);
    }
}

// r2 := offset of the byte that holds the bit: the signed bit offset >> 3.
static void emit_bit_offset(struct tb *b, const struct memref *r, u32 r2)
{
    struct x86 *a = &b->code;

    if (r->bitlog == 6)
        x86_mov(a, r2, r->bitreg);
    else if (r->bitlog == 5)
        x86_movsxd_rr(a, r2, r->bitreg);
    else
        x86_movsx16_rr(a, r2, r->bitreg);
    x86_sar_ri8(a, r2, 3);
}

// r1 := effective address of the reference. Registers of the address hold the client's values; the
// flags are free where a bit offset is.
static void emit_ea(struct tb *b, const struct memref *r, u32 r1, u32 r2)
{
    struct x86 *a = &b->code;

    emit_offset(b, r, r1);
    if (r->flags & MEMREF_BITOFF) {
        emit_bit_offset(b, r, r2);
        x86_lea(a, r1, MEM_X(r1, r2, 0, 0));
    }
    if (!(r->flags & (MEMREF_FS | MEMREF_GS)))
        return;
    if (!(r->flags & MEMREF_FS))
        x86_mov(a, r2, GS(TH_CLIENT_GS));
    else if (cpu.fsgsbase)
        x86_rdfsbase_r(a, r2);
    else
        x86_mov(a, r2, GS(TH_CLIENT_FS));
    x86_lea(a, r1, MEM_X(r1, r2, 0, 0));
}

static u32 ref_regs(const struct memref *r)
{
    u32 m = 0;

    if (r->base < 16)
        m |= 1u << r->base;
    if (r->index < 16)
        m |= 1u << r->index;
    if (r->flags & MEMREF_BITOFF)
        m |= 1u << r->bitreg;
    if (r->flags & MEMREF_XLAT)
        m |= 1u << R_RAX | 1u << R_RBX;
    return m;
}

// The address of a reference that always is the same and lies in one line: its set and tag are
// constants.
static bool constant_line(const struct memref *r, u32 size, u64 *set, u64 *tag)
{
    u64 low = (1ul << tb_config.d1_shift) - 1, first = (u64)r->disp, last = first + size - 1;

    if (r->base != REG_RIP || (r->flags & (MEMREF_XLAT | MEMREF_BITOFF | MEMREF_FS | MEMREF_GS)))
        return false;
    *set = first & tb_config.d1_mask;
    *tag = last | low;
    return (first ^ last) <= low;
}

// Jumps to the cold part unless r2, the tag of the last line, is the first of its set.
static struct x86_label d1_check(struct tb *b, const struct memref *r, u32 size, u32 r1, u32 r2)
{
    struct x86 *a = &b->code;
    u64 set, tag;

    if (!tb_config.d1_fast)
        return x86_jmp(a);
    if (constant_line(r, size, &set, &tag)) {
        x86_mov_imm(a, r2, tag);
        x86_cmp(a, r2, GS(TA_D1 + (set << tb_config.d1_scale)));
        return x86_jcc(a, CC_NE);
    }
    emit_ea(b, r, r1, r2);
    if (size == 1)
        x86_mov(a, r2, r1);
    else
        x86_lea(a, r2, MEM(r1, size - 1));        // last byte
    x86_and32_ri(a, r1, tb_config.d1_mask);       // offset of the set
    x86_or(a, r2, (1 << tb_config.d1_shift) - 1); // tag of the line
    x86_cmp(a, r2, GS_X(TA_D1, r1, tb_config.d1_scale));
    return x86_jcc(a, CC_NE);
}

static void emit_dref(struct tb *b, u32 i, const struct memref *r)
{
    u32 avoid = ref_regs(r), r1, r2, size, counter;
    struct cold *c;
    bool write = (r->flags & (MEMREF_READ | MEMREF_WRITE)) == MEMREF_WRITE;

    size = r->flags & MEMREF_BITOFF ? 1 : r->size;
    if (size > tb_config.min_line)
        size = tb_config.min_line;
    counter = b->first[i] + (write ? b->cnt[i].d1mw : b->cnt[i].d1mr);
    tb_flags_free(b, b->live[i]);
    tb_unspill_mask(b, avoid);
    r1 = tb_scratch(b, avoid);
    r2 = tb_scratch(b, avoid | 1u << r1);
    c = tb_cold(b, COLD_DREF);
    c->ref = *r;
    c->counter = counter;
    c->from = d1_check(b, r, size, r1, r2);
    c->back = x86_here(&b->code);
    // remember the pair: the cold part uses the same registers
    c->taken = (u8)r1;
    c->ref.size = (u16)size;
    c->high = size | r2 << 16;
}

static u32 i1_set(u64 line)
{
    return (u32)(line & (tb_config.i1_sets - 1)) * spool->i1.assoc * 4;
}

static void emit_iref(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    u64 first = in->pc >> tb_config.i1_shift, last = (in->pc + in->len - 1) >> tb_config.i1_shift;
    struct cold *c;

    if (first == b->iline && last == b->iline)
        return;
    tb_flags_free(b, b->live[i]);
    c = tb_cold(b, COLD_IREF);
    c->counter = b->first[i] + b->cnt[i].i1mr;
    c->high = first != b->iline && last != first; // both lines are checked
    if (tb_config.i1_fast) {
        for (u32 k = 0; k < 2; k++) {
            u64 line = k ? last : first;
            struct x86_label miss;

            if (k ? last == first : first == b->iline)
                continue;
            x86_cmp32_mi(&b->code, GS(TA_I1 + i1_set(line)), prof_line_id(line));
            miss = x86_jcc(&b->code, CC_NE);
            if (k && first != b->iline)
                c->from2 = miss;
            else
                c->from = miss;
        }
    } else {
        c->from = x86_jmp(&b->code);
    }
    c->back = x86_here(&b->code);
    b->iline = last;
}

// Stores the index vector and the mask of a gather, or the mask of a masked move, where the helper
// can read them.
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
    x86_vmovdqu_my(a, GS(TA_VEC + 64), in->vec_mask);
}

static void emit_vector_refs(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct memref r;
    u32 r1, r2, avoid;

    r = in->refs[0]; // address of a masked move; base and displacement of a gather
    avoid = ref_regs(&r);
    tb_unspill_mask(b, avoid);
    r1 = tb_scratch(b, avoid);
    r2 = tb_scratch(b, avoid | 1u << r1);
    emit_vector_state(b, in);
    emit_ea(b, &r, r1, r2);
    x86_mov(&b->code, GS(TH_H_ADDR), r1);
    sim_call_desc(b, PROF_STUB_VEC, b->first[i],
                  (u32)in->vec_kind | log2u(in->vec_esize) << 3 |
                      log2u(in->vec_isize ? in->vec_isize : 1) << 6 | (in->vec_count - 1u) << 9 |
                      log2u(r.scale ? r.scale : 1) << 15 | (r.flags & MEMREF_WRITE ? 1u << 18 : 0) |
                      (u32)(b->cnt[i].dyn_r) << 20);
}

void sim_insn_before(struct tb *b, u32 i)
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

// A rep instruction runs natively between a note of its registers and the accounting of what it
// did.
void sim_string(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    struct x86 *a = &b->code;
    bool account = (in->flags & INSN_F_REP) && (tb_config.cache || tb_config.rep_cachegrind);

    if (account) {
        u32 r, high;

        tb_unspill_mask(b, 1u << R_RCX | 1u << R_RSI | 1u << R_RDI | 1u << R_RAX);
        x86_mov(a, GS(TH_REP_RCX), R_RCX);
        x86_mov(a, GS(TH_REP_RSI), R_RSI);
        x86_mov(a, GS(TH_REP_RDI), R_RDI);
        high = (u32)in->str_op | log2u(in->str_size) << 3 | (in->flags & INSN_F_A32 ? 1u << 5 : 0) |
               (b->rec[i].flags & SPOOL_I_FETCH ? 1u << 6 : 0) |
               (in->flags & INSN_F_REPNE ? 1u << 11 : 0) |
               (in->flags & INSN_F_SEG_FS ? 1u << 12 : 0) |
               (in->flags & INSN_F_SEG_GS ? 1u << 13 : 0);
        x86_mov32_mi(a, GS(TH_H_DESC), b->first[i]);
        x86_mov32_mi(a, GS(TH_H_DESC + 4), high);
        r = tb_scratch(b, 1u << R_RCX | 1u << R_RSI | 1u << R_RDI | 1u << R_RAX);
        x86_mov_imm(a, r, in->pc);
        x86_mov(a, GS(TH_H_ADDR), r);
        b->in_rep = true;
        tb_mark(b);
        if (in->flags & INSN_F_SEG_GS)
            b->overflow = true; // translate.c steps these
        x86_copy(a, in->bytes, in->len);
        b->in_rep = false;
        b->cur++;
        tb_mark(b);
        b->cur--;
        sim_call_desc(b, PROF_STUB_REP, b->first[i], high);
        return;
    }
    tb_mark(b);
    x86_copy(a, in->bytes, in->len);
}

// The predictor's counter of a conditional branch; r1 holds the history.
static struct x86_mem bc_at(const struct tb *b, u32 i, u32 r1)
{
    return GS_X(TA_BRANCH + (b->insn[i].pc & 127), r1, 0);
}

void sim_edge(struct tb *b, u32 i, bool taken)
{
    struct x86 *a = &b->code;
    struct cold *c;
    u32 r1;

    if (!tb_config.branch)
        return;
    tb_flags_free(b, FLAGS_ARITH);
    r1 = tb_scratch(b, 0);
    if (tb_config.fast_tags) {
        x86_mov(a, r1, GS(TH_HIST));
        x86_cmp8_mi(a, bc_at(b, i, r1), taken ? 3 : 0);
        c = tb_cold(b, COLD_BC);
        c->from = x86_jcc(a, CC_NE);
        c->back = x86_here(a);
        // history: shift in the outcome
        x86_lea(a, r1, MEM_X(r1, r1, 0, taken ? 128 : 0));
        x86_and32_ri(a, r1, 0x3f80);
        x86_mov(a, GS(TH_HIST), r1);
    } else {
        c = tb_cold(b, COLD_BC);
        c->from = x86_jmp(a);
        c->back = x86_here(a);
    }
    c->counter = b->first[i] + b->cnt[i].bcm;
    c->taken = taken;
    c->high = r1;
    c->insn = (u16)i;
}

void sim_indirect(struct tb *b, u32 i)
{
    struct x86 *a = &b->code;
    struct x86_label over;
    struct cold *c;
    u32 index = (u32)(b->insn[i].pc & 511);

    if (!tb_config.branch)
        return;
    // rcx (spilled) is the target, which stays there; everything flag-free
    tb_spill(b, R_RDX);
    c = tb_cold(b, COLD_BI);
    if (tb_config.fast_tags) {
        x86_mov(a, R_RDX, GS(TA_BTAC + index * 8));
        x86_not_r(a, R_RDX);
        x86_lea(a, R_RDX, MEM_X(R_RDX, R_RCX, 0, 1)); // target - last
        x86_xchg_rr(a, R_RCX, R_RDX);
        over = x86_jrcxz(a);
        c->from = x86_jmp(a);
        x86_land(a, over);
        c->back = x86_here(a);
        x86_mov(a, R_RCX, R_RDX);
    } else {
        x86_mov(a, R_RDX, R_RCX);
        c->from = x86_jmp(a);
        c->back = x86_here(a);
    }
    c->counter = b->first[i] + b->cnt[i].bim;
    c->high = index;
}

static void cold_dref(struct tb *b, const struct cold *c)
{
    u32 r1 = c->taken, r2 = c->high >> 16, size = c->high & 0xffff;
    u64 set, tag;

    if (tb_config.d1_fast) {
        if (constant_line(&c->ref, size, &set, &tag))
            x86_mov_imm(&b->code, r1, set);
        sim_call(b, ways_d1(r1, r2));
        jmp_to(b, c->back);
        x86_copy(&b->code, &c->counter, 4);
        return;
    }
    emit_ea(b, &c->ref, r1, r2);
    x86_mov(&b->code, GS(TH_H_ADDR), r1);
    sim_call(b, prof_stub(PROF_STUB_D1_ANY));
    jmp_to(b, c->back);
    x86_copy(&b->code, &c->counter, 4);
    x86_copy(&b->code, &size, 4);
}

static void cold_iref(struct tb *b, const struct cold *c)
{
    const struct insn *in = &b->insn[c->insn];
    struct x86 *a = &b->code;
    struct x86_label jump;
    u64 first = in->pc >> tb_config.i1_shift, last = (in->pc + in->len - 1) >> tb_config.i1_shift;
    bool fast = tb_config.i1_fast, search = fast && !c->high && ways_i1();
    u32 borrowed = (1u << R_RAX | 1u << R_RCX) & ~(u32)c->spilled, len = in->len;

    if (search) { // only the last line was looked at: the first is the one before it, or the same
        for (u32 r = R_RAX; r <= R_RCX; r++)
            if (borrowed & 1u << r)
                x86_mov(a, GS(TH_REGS + r * 8), r);
        x86_mov_imm(a, R_RAX, i1_set(last));
        x86_mov_imm(a, R_RCX, prof_line_id(last));
        sim_call(b, ways_i1());
    } else {
        sim_call(b, prof_stub(PROF_STUB_I1_ANY));
    }
    jump = x86_jmp(a);
    x86_copy(a, &in->pc, 8);
    x86_copy(a, &c->counter, 4);
    x86_copy(a, &len, 4);
    if (!search) {
        u32 id[2] = { fast ? prof_line_id(first) : 0, fast ? prof_line_id(last) : 0 };

        x86_copy(a, id, 8);
    }
    if (!search || !borrowed) {
        x86_fix(a, jump, c->back);
        return;
    }
    x86_land(a, jump);
    for (u32 r = R_RAX; r <= R_RCX; r++)
        if (borrowed & 1u << r)
            x86_mov(a, r, GS(TH_REGS + r * 8));
    jmp_to(b, c->back);
}

// The counter is not at its end: it moves, and its upper bit says what was predicted.
static void cold_bc(struct tb *b, const struct cold *c)
{
    struct x86 *a = &b->code;
    struct x86_mem counter = bc_at(b, c->insn, c->high);
    struct x86_label predicted;
    u32 taken = c->taken;

    if (!tb_config.fast_tags) {
        sim_call(b, prof_stub(PROF_STUB_BC));
        jmp_to(b, c->back);
        x86_copy(a, &b->insn[c->insn].pc, 8);
        x86_copy(a, &c->counter, 4);
        x86_copy(a, &taken, 4);
        return;
    }
    x86_cmp8_mi(a, counter, 2);
    predicted = x86_jcc8(a, c->taken ? CC_AE : CC_B);
    x86_inc_m(a, GS(TA_COUNTERS + c->counter * 8));
    x86_land(a, predicted);
    if (c->taken)
        x86_inc8_m(a, counter);
    else
        x86_dec8_m(a, counter);
    jmp_to(b, c->back);
}

// rdx is the target, which goes to rcx at `back`; the flags are not free.
static void cold_bi(struct tb *b, const struct cold *c)
{
    struct x86 *a = &b->code;

    if (!tb_config.fast_tags) {
        x86_mov(a, GS(TH_H_ADDR), R_RDX);
        sim_call_desc(b, PROF_STUB_BI, c->counter, c->high);
        jmp_to(b, c->back);
        return;
    }
    x86_mov(a, GS(TA_BTAC + c->high * 8), R_RDX);
    x86_mov(a, R_RCX, GS(TA_COUNTERS + c->counter * 8));
    x86_lea(a, R_RCX, MEM(R_RCX, 1));
    x86_mov(a, GS(TA_COUNTERS + c->counter * 8), R_RCX);
    jmp_to(b, c->back);
}

void sim_cold(struct tb *b, struct cold *c)
{
    x86_land(&b->code, c->from);
    if (c->from2.bytes)
        x86_land(&b->code, c->from2);
    b->spilled = c->spilled;
    b->flags_saved = c->flags_saved;
    b->cur = c->insn;
    switch (c->kind) {
    case COLD_DREF: cold_dref(b, c); break;
    case COLD_IREF: cold_iref(b, c); break;
    case COLD_BC: cold_bc(b, c); break;
    case COLD_BI: cold_bi(b, c); break;
    default: break;
    }
}
