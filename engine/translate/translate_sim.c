// SPDX-License-Identifier: MIT
// Cache and branch simulation in translated code. An access that hits the most recently used way of its set changes nothing in an
// LRU cache, so one compare with the first tag of the set is exact. On a mismatch a cold part behind the block calls a stub that
// searches the other ways (translate_ways.c), which calls the simulator (prof.c) on a miss. The order of the checks is the program's.
//
// A data check, for [ea], size s, line size L, S sets:
//     lea r1,[ea]; lea r2,[r1+s-1]; and r1,(S-1)*L; or r2,L-1; cmp r2,%gs:[r1*scale+D1]; jne cold
// r2 is the tag of the last line. When the access straddles two lines, that one's set is not r1's, so it can never equal a tag in
// r1's set (there are at least two sets): one compare covers both.
#include "engine/base/cpu.h"
#include "engine/translate/translate.h"

#include "engine/count/prof.h"
#include "engine/spool/spooler.h"

// Calls a stub on the engine's stack. The words behind the jump that follows are aligned to 4: see prof.h.
#define SIM_CALL_BYTES (9 + 9 + 5)
static void sim_call(struct tb *b, u64 stub)
{
    static const u8 call[] = { 0xe8 };

    emit_nops(&b->e, -(tb_off(b) + SIM_CALL_BYTES + PROF_DESC_AT) & 3);
    emit_gs_store(&b->e, TH_CLIENT_SP, R_RSP);
    emit_gs_load(&b->e, R_RSP, TH_ENGINE_SP);
    tb_rel32(b, 1, call, stub);
    emit_gs_load(&b->e, R_RSP, TH_CLIENT_SP);
}

static void emit_jmp_to(struct tb *b, u32 target_off)
{
    u32 off;

    emit_u8(&b->e, 0xe9);
    off = tb_off(b);
    emit_u32(&b->e, 0);
    tb_patch(b, off, target_off);
}

// One of the stubs that take a descriptor in the thread block.
static void sim_call_desc(struct tb *b, enum prof_stub stub, u32 low, u32 high)
{
    emit_gs_store_imm32(&b->e, TH_H_DESC, low);
    emit_gs_store_imm32(&b->e, TH_H_DESC + 4, high);
    sim_call(b, prof_stub(stub));
}

// r1 := effective address of the reference. Registers of the address hold the client's values.
static void emit_ea(struct tb *b, const struct memref *r, u32 r1, u32 r2)
{
    struct emit *e = &b->e;
    bool a32 = r->flags & MEMREF_A32;

    if (r->base == REG_RIP) {
        emit_mov_imm(e, r1, (u64)r->disp);
    } else if (r->flags & MEMREF_XLAT) {
        emit_u8(e, 0x48 | (r1 >> 3) << 2); // movzx r1, al
        emit_u8(e, 0x0f);
        emit_u8(e, 0xb6);
        emit_u8(e, 0xc0 | (r1 & 7) << 3);
        emit_lea(e, r1, R_RBX, r1, 1, 0);
    } else if (r->base == REG_NONE && (r->index == REG_NONE || r->disp != (s64)(s32)r->disp)) {
        emit_mov_imm(e, r1, (u64)r->disp);
    } else {
        emit_mem_op(e, !a32, 0x8d, r1, r->base, r->index, r->scale, r->disp, a32);
    }
    if (r->flags & MEMREF_BITOFF) {
        // the byte that holds the bit: address + (signed bit offset >> 3); the flags are free here
        if (r->bitlog == 6) {
            emit_mov(e, r2, r->bitreg);
        } else {
            emit_u8(e, 0x48 | (r2 >> 3) << 2 | r->bitreg >> 3);
            if (r->bitlog == 5) {
                emit_u8(e, 0x63); // movsxd
            } else {
                emit_u8(e, 0x0f); // movsx r64, r16
                emit_u8(e, 0xbf);
            }
            emit_u8(e, 0xc0 | (r2 & 7) << 3 | (r->bitreg & 7));
        }
        emit_u8(e, 0x48 | r2 >> 3); // sar $3, r2
        emit_u8(e, 0xc1);
        emit_u8(e, 0xf8 | (r2 & 7));
        emit_u8(e, 3);
        emit_lea(e, r1, r1, r2, 1, 0);
    }
    if (r->flags & MEMREF_FS) {
        if (cpu.fsgsbase) {
            emit_u8(e, 0xf3); // rdfsbase r2
            emit_u8(e, 0x48 | r2 >> 3);
            emit_u8(e, 0x0f);
            emit_u8(e, 0xae);
            emit_u8(e, 0xc0 | (r2 & 7));
        } else {
            emit_gs_load(e, r2, TH_CLIENT_FS);
        }
        emit_lea(e, r1, r1, r2, 1, 0);
    } else if (r->flags & MEMREF_GS) {
        emit_gs_load(e, r2, TH_CLIENT_GS);
        emit_lea(e, r1, r1, r2, 1, 0);
    }
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

// jmp rel32 to be patched; returns its offset
static u32 emit_jmp_cold(struct tb *b)
{
    u32 off;

    emit_u8(&b->e, 0xe9);
    off = tb_off(b);
    emit_u32(&b->e, 0);
    return off;
}

static u32 emit_jne_cold(struct tb *b)
{
    u32 off;

    emit_u8(&b->e, 0x0f); // jne rel32
    emit_u8(&b->e, 0x85);
    off = tb_off(b);
    emit_u32(&b->e, 0);
    return off;
}

// The address of a reference that always is the same and lies in one line: its set and tag are constants.
static bool constant_line(const struct memref *r, u32 size, u64 *set, u64 *tag)
{
    u64 low = (1ul << tb_config.d1_shift) - 1, first = (u64)r->disp, last = first + size - 1;

    if (r->base != REG_RIP || (r->flags & (MEMREF_XLAT | MEMREF_BITOFF | MEMREF_FS | MEMREF_GS)))
        return false;
    *set = first & tb_config.d1_mask;
    *tag = last | low;
    return (first ^ last) <= low;
}

static void emit_dref(struct tb *b, u32 i, const struct memref *r)
{
    u32 avoid = ref_regs(r), r1, r2, size, counter;
    u64 set, tag;
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
    c->high = size;
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
    if (tb_config.d1_fast && constant_line(r, size, &set, &tag)) {
        emit_mov_imm(&b->e, r2, tag);
        emit_gs_op(&b->e, 1, 0x3b, r2, TA_D1 + ((u32)set << tb_config.d1_scale));
        c->from = emit_jne_cold(b);
    } else if (tb_config.d1_fast) {
        struct emit *e = &b->e;

        emit_ea(b, r, r1, r2);
        if (size == 1)
            emit_mov(e, r2, r1);
        else
            emit_lea(e, r2, r1, REG_NONE, 1, size - 1);
        if (r1 >= 8)
            emit_u8(e, 0x41);
        emit_u8(e, 0x81); // and $mask, r1d
        emit_u8(e, 0xe0 | (r1 & 7));
        emit_u32(e, tb_config.d1_mask);
        emit_u8(e, 0x48 | r2 >> 3); // or $line - 1, r2
        if (tb_config.d1_shift <= 7) {
            emit_u8(e, 0x83);
            emit_u8(e, 0xc8 | (r2 & 7));
            emit_u8(e, (1u << tb_config.d1_shift) - 1);
        } else {
            emit_u8(e, 0x81);
            emit_u8(e, 0xc8 | (r2 & 7));
            emit_u32(e, (1u << tb_config.d1_shift) - 1);
        }
        emit_gs_index_op(e, 1, 0x3b, r2, r1, tb_config.d1_scale,
                         TA_D1); // cmp %gs:D1(,r1,scale), r2
        c->from = emit_jne_cold(b);
    } else {
        c->from = emit_jmp_cold(b);
    }
    c->back = tb_off(b);
    // remember the pair: the cold part uses the same registers
    c->taken = (u8)r1;
    c->ref.size = (u16)size;
    c->from2 = 0;
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
    struct emit *e = &b->e;

    if (first == b->iline && last == b->iline)
        return;
    tb_flags_free(b, b->live[i]);
    c = tb_cold(b, COLD_IREF);
    c->counter = b->first[i] + b->cnt[i].i1mr;
    c->high = first != b->iline && last != first; // both lines are checked
    if (tb_config.i1_fast) {
        for (u32 k = 0; k < 2; k++) {
            u64 line = k ? last : first;
            u32 off;

            if (k ? last == first : first == b->iline)
                continue;
            emit_u8(e, 0x65); // cmpl $id, %gs:I1_FAST + set * 4
            emit_u8(e, 0x81);
            emit_u8(e, 0x3c);
            emit_u8(e, 0x25);
            emit_u32(e, TA_I1 + i1_set(line));
            emit_u32(e, prof_line_id(line));
            off = emit_jne_cold(b);
            if (k && first != b->iline)
                c->from2 = off;
            else
                c->from = off;
        }
    } else {
        c->from = emit_jmp_cold(b);
    }
    c->back = tb_off(b);
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
    b->iline = last;
}

// Stores the index vector and the mask of a gather, or the mask of a masked move, where the helper can read them.
static void emit_vector_state(struct tb *b, const struct insn *in)
{
    struct emit *e = &b->e;

    if (in->vec_kind == VEC_KGATHER) {
        u32 v = in->vec_index;

        emit_u8(e, 0x65); // vmovdqu64 zmm, %gs:VEC
        emit_u8(e, 0x62);
        emit_u8(e, (~v >> 3 & 1) << 7 | 0x60 | (~v >> 4 & 1) << 4 | 1);
        emit_u8(e, 0xfe);
        emit_u8(e, 0x48);
        emit_u8(e, 0x7f);
        emit_u8(e, (v & 7) << 3 | 4);
        emit_u8(e, 0x25);
        emit_u32(e, TA_VEC);
        emit_u8(e, 0x65); // kmovw k, %gs:VEC + 64
        emit_u8(e, 0xc5);
        emit_u8(e, 0xf8);
        emit_u8(e, 0x91);
        emit_u8(e, (u32)in->vec_mask << 3 | 4);
        emit_u8(e, 0x25);
        emit_u32(e, TA_VEC + 64);
        return;
    }
    for (u32 k = 0; k < 2; k++) {
        u32 v = k ? in->vec_mask : in->vec_index;

        if (!k && in->vec_kind != VEC_GATHER)
            continue;
        emit_u8(e, 0x65); // vmovdqu ymm, %gs:VEC (+ 64)
        emit_u8(e, 0xc5);
        emit_u8(e, v < 8 ? 0xfe : 0x7e);
        emit_u8(e, 0x7f);
        emit_u8(e, (v & 7) << 3 | 4);
        emit_u8(e, 0x25);
        emit_u32(e, TA_VEC + k * 64);
    }
}

static u32 log2u(u32 v)
{
    return (u32)__builtin_ctz(v);
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
    emit_gs_store(&b->e, TH_H_ADDR, r1);
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

// A rep instruction runs natively between a note of its registers and the accounting of what it did.
void sim_string(struct tb *b, u32 i)
{
    const struct insn *in = &b->insn[i];
    bool account = (in->flags & INSN_F_REP) && (tb_config.cache || tb_config.rep_cachegrind);

    if (account) {
        u32 r, high;

        tb_unspill_mask(b, 1u << R_RCX | 1u << R_RSI | 1u << R_RDI | 1u << R_RAX);
        emit_gs_store(&b->e, TH_REP_RCX, R_RCX);
        emit_gs_store(&b->e, TH_REP_RSI, R_RSI);
        emit_gs_store(&b->e, TH_REP_RDI, R_RDI);
        high = (u32)in->str_op | log2u(in->str_size) << 3 | (in->flags & INSN_F_A32 ? 1u << 5 : 0) |
               (b->rec[i].flags & SPOOL_I_FETCH ? 1u << 6 : 0) |
               (in->flags & INSN_F_REPNE ? 1u << 11 : 0) |
               (in->flags & INSN_F_SEG_FS ? 1u << 12 : 0) |
               (in->flags & INSN_F_SEG_GS ? 1u << 13 : 0);
        emit_gs_store_imm32(&b->e, TH_H_DESC, b->first[i]);
        emit_gs_store_imm32(&b->e, TH_H_DESC + 4, high);
        r = tb_scratch(b, 1u << R_RCX | 1u << R_RSI | 1u << R_RDI | 1u << R_RAX);
        emit_mov_imm(&b->e, r, in->pc);
        emit_gs_store(&b->e, TH_H_ADDR, r);
        b->in_rep = true;
        tb_mark(b);
        if (in->flags & INSN_F_SEG_GS)
            b->overflow = true; // translate.c steps these
        emit_bytes(&b->e, in->bytes, in->len);
        b->in_rep = false;
        b->cur++;
        tb_mark(b);
        b->cur--;
        sim_call_desc(b, PROF_STUB_REP, b->first[i], high);
        return;
    }
    tb_mark(b);
    emit_bytes(&b->e, in->bytes, in->len);
}

void sim_edge(struct tb *b, u32 i, bool taken)
{
    struct emit *e = &b->e;
    struct cold *c;
    u32 r1;

    if (!tb_config.branch)
        return;
    tb_flags_free(b, FLAGS_ARITH);
    r1 = tb_scratch(b, 0);
    if (tb_config.fast_tags) {
        emit_gs_load(e, r1, TH_HIST);
        // cmpb $3 or $0, %gs:BRANCH + (pc & 127)(r1)
        emit_u8(e, 0x65);
        if (r1 >= 8)
            emit_u8(e, 0x42);
        emit_u8(e, 0x80);
        emit_u8(e, 0x3c); // modrm: /7, sib
        emit_u8(e, (r1 & 7) << 3 | 5);
        emit_u32(e, TA_BRANCH + (u32)(b->insn[i].pc & 127));
        emit_u8(e, taken ? 3 : 0);
        c = tb_cold(b, COLD_BC);
        c->from = emit_jne_cold(b);
        c->back = tb_off(b);
        // history: shift in the outcome
        emit_lea(e, r1, r1, r1, 1, taken ? 128 : 0);
        if (r1 >= 8)
            emit_u8(e, 0x41);
        emit_u8(e, 0x81); // and $0x3f80, r1d
        emit_u8(e, 0xe0 | (r1 & 7));
        emit_u32(e, 0x3f80);
        emit_gs_store(e, TH_HIST, r1);
    } else {
        c = tb_cold(b, COLD_BC);
        c->from = emit_jmp_cold(b);
        c->back = tb_off(b);
    }
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
    c->counter = b->first[i] + b->cnt[i].bcm;
    c->taken = taken;
    c->high = r1;
    c->insn = (u16)i;
}

void sim_indirect(struct tb *b, u32 i)
{
    struct emit *e = &b->e;
    struct cold *c;
    u32 index = (u32)(b->insn[i].pc & 511);

    if (!tb_config.branch)
        return;
    // rcx (spilled) is the target, which stays there; everything flag-free
    tb_spill(b, R_RDX);
    c = tb_cold(b, COLD_BI);
    if (tb_config.fast_tags) {
        emit_gs_load(e, R_RDX, TA_BTAC + index * 8);
        emit_u8(e, 0x48); // not rdx
        emit_u8(e, 0xf7);
        emit_u8(e, 0xd2);
        emit_lea(e, R_RDX, R_RDX, R_RCX, 1, 1); // target - last
        emit_u8(e, 0x48);                       // xchg rcx, rdx
        emit_u8(e, 0x87);
        emit_u8(e, 0xd1);
        emit_u8(e, 0xe3); // jrcxz over the jmp
        emit_u8(e, 0x05);
        c->from = emit_jmp_cold(b);
        c->back = tb_off(b);
        emit_mov(e, R_RCX, R_RDX);
    } else {
        emit_mov(e, R_RDX, R_RCX);
        c->from = emit_jmp_cold(b);
        c->back = tb_off(b);
    }
    c->counter = b->first[i] + b->cnt[i].bim;
    c->high = index;
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
}

static void cold_dref(struct tb *b, const struct cold *c)
{
    u32 r1 = c->taken, r2 = c->high >> 16;
    u64 set, tag;

    if (tb_config.d1_fast) {
        if (constant_line(&c->ref, c->high & 0xffff, &set, &tag))
            emit_mov_imm(&b->e, r1, set);
        sim_call(b, ways_d1(r1, r2));
        emit_jmp_to(b, c->back);
        emit_u32(&b->e, c->counter);
        return;
    }
    emit_ea(b, &c->ref, r1, r2);
    emit_gs_store(&b->e, TH_H_ADDR, r1);
    sim_call(b, prof_stub(PROF_STUB_D1_ANY));
    emit_jmp_to(b, c->back);
    emit_u32(&b->e, c->counter);
    emit_u32(&b->e, c->high & 0xffff);
}

static void cold_iref(struct tb *b, const struct cold *c)
{
    const struct insn *in = &b->insn[c->insn];
    struct emit *e = &b->e;
    u64 first = in->pc >> tb_config.i1_shift, last = (in->pc + in->len - 1) >> tb_config.i1_shift;
    bool fast = tb_config.i1_fast, search = fast && !c->high && ways_i1();
    u32 borrowed = (1u << R_RAX | 1u << R_RCX) & ~(u32)c->spilled, jump = 0;

    if (search) { // only the last line was looked at: the first is the one before it, or the same
        for (u32 r = R_RAX; r <= R_RCX; r++)
            if (borrowed & 1u << r)
                emit_gs_store(e, TH_REGS + r * 8, r);
        emit_mov_imm(e, R_RAX, i1_set(last));
        emit_mov_imm(e, R_RCX, prof_line_id(last));
        sim_call(b, ways_i1());
    } else {
        sim_call(b, prof_stub(PROF_STUB_I1_ANY));
    }
    emit_u8(e, 0xe9);
    jump = tb_off(b);
    emit_u32(e, 0);
    emit_u64(e, in->pc);
    emit_u32(e, c->counter);
    emit_u32(e, in->len);
    if (!search) {
        emit_u32(e, fast ? prof_line_id(first) : 0);
        emit_u32(e, fast ? prof_line_id(last) : 0);
    }
    if (!search || !borrowed) {
        tb_patch(b, jump, c->back);
        return;
    }
    tb_patch(b, jump, tb_off(b));
    for (u32 r = R_RAX; r <= R_RCX; r++)
        if (borrowed & 1u << r)
            emit_gs_load(e, r, TH_REGS + r * 8);
    emit_jmp_to(b, c->back);
}

// The counter is not at its end: it moves, and its upper bit says what was predicted.
static void cold_bc(struct tb *b, const struct cold *c)
{
    struct emit *e = &b->e;
    u32 r1 = c->high, at = TA_BRANCH + (u32)(b->insn[c->insn].pc & 127);

    if (!tb_config.fast_tags) {
        sim_call(b, prof_stub(PROF_STUB_BC));
        emit_jmp_to(b, c->back);
        emit_u64(e, b->insn[c->insn].pc);
        emit_u32(e, c->counter);
        emit_u32(e, c->taken);
        return;
    }
    emit_gs_index_op(e, 0, 0x80, 7, r1, 0, at); // cmpb $2, counter
    emit_u8(e, 2);
    emit_u8(e, c->taken ? 0x73 : 0x72); // jae or jb: predicted
    emit_u8(e, 9);
    emit_gs_inc(e, TA_COUNTERS + c->counter * 8);
    emit_gs_index_op(e, 0, 0xfe, c->taken ? 0 : 1, r1, 0, at); // incb or decb
    emit_jmp_to(b, c->back);
}

// rdx is the target, which goes to rcx at `back`; the flags are not free.
static void cold_bi(struct tb *b, const struct cold *c)
{
    struct emit *e = &b->e;

    if (!tb_config.fast_tags) {
        emit_gs_store(e, TH_H_ADDR, R_RDX);
        sim_call_desc(b, PROF_STUB_BI, c->counter, c->high);
        emit_jmp_to(b, c->back);
        return;
    }
    emit_gs_store(e, TA_BTAC + c->high * 8, R_RDX);
    emit_gs_load(e, R_RCX, TA_COUNTERS + c->counter * 8);
    emit_lea(e, R_RCX, R_RCX, REG_NONE, 1, 1);
    emit_gs_store(e, TA_COUNTERS + c->counter * 8, R_RCX);
    emit_jmp_to(b, c->back);
}

void sim_cold(struct tb *b, struct cold *c)
{
    tb_patch(b, c->from, tb_off(b));
    if (c->from2)
        tb_patch(b, c->from2, tb_off(b));
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
