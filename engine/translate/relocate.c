// SPDX-License-Identifier: MIT
// Relocation of client instructions: RIP-relative operands get a new displacement, the client's %gs
// is virtual, addresses out of reach go through a scratch register. Everything else is copied
// unchanged: every instruction that the processor knows does what it does natively.
#include "engine/translate/relocate.h"

#include "engine/base/nolibc.h"
#include "engine/codecache/region.h"
#include "engine/emit/state.h"
#include "engine/spool/config.h"
#include "engine/thread/thread.h"

// Offsets of the opcode (or the VEX/EVEX escape), of REX, and of a segment prefix.
struct prefixes {
    u32 opcode; // offset of the first byte behind legacy prefixes and REX
    u32 rex;    // offset of REX, or ~0u
    u32 seg;    // offset of a segment prefix (fs, gs) or ~0u
};

static struct prefixes scan_prefixes(const struct insn *in)
{
    struct prefixes p = { 0, ~0u, ~0u };
    u32 i = 0;

    for (;; i++) {
        u8 c = in->bytes[i];

        if (c == 0x64 || c == 0x65)
            p.seg = i;
        else if (c != 0x66 && c != 0x67 && c != 0xf0 && c != 0xf2 && c != 0xf3 && c != 0x2e &&
                 c != 0x36 && c != 0x3e && c != 0x26)
            break;
    }
    if (in->encoding == INSN_LEGACY && (in->bytes[i] & 0xf0) == 0x40)
        p.rex = i++;
    p.opcode = i;
    return p;
}

// An instruction assembled from the client's bytes.
struct bytes {
    u8 b[32];
    u32 n;
};

static void put(struct bytes *o, u32 byte)
{
    o->b[o->n++] = (u8)byte;
}

static void put_n(struct bytes *o, const void *p, u32 n)
{
    memcpy(o->b + o->n, p, n);
    o->n += n;
}

static void emit(struct tb *b, const struct bytes *o)
{
    x86_copy(&b->code, o->b, o->n);
}

// The byte at i, before the modrm byte, with X and B cleared for a new operand (in VEX and EVEX
// they are inverted, thus set). `xb`: the bits to clear, in REX's positions.
static u32 without_xb(const struct insn *in, const struct prefixes *p, u32 i, u32 xb)
{
    u32 c = in->bytes[i];

    if (i == p->rex)
        return c & ~xb;
    if (i == p->opcode + 1 &&
        (in->encoding >= INSN_EVEX || (in->encoding == INSN_VEX && in->bytes[p->opcode] == 0xc4)))
        return c | xb << 5;
    return c;
}

// Emits `in` with its memory operand replaced by (%reg), reg one of rax rcx rdx rbx rsi rdi,
// without a segment prefix.
static void emit_with_operand(struct tb *b, const struct insn *in, u32 reg, struct bytes *o)
{
    struct prefixes p = scan_prefixes(in);
    u8 modrm = in->bytes[in->modrm_off];
    u32 tail = in->modrm_off + 1u;

    if ((modrm & 7) == 4)
        tail++; // SIB
    if (in->disp_size)
        tail = in->disp_off + (u32)in->disp_size;
    for (u32 i = 0; i < in->modrm_off; i++) {
        u32 c = in->bytes[i];

        if (i < p.opcode && i != p.rex && (c == 0x67 || c == 0x64 || c == 0x65))
            continue;
        c = without_xb(in, &p, i, 3);
        if (in->encoding == INSN_EVEX && i == p.opcode + 2)
            c |= 0x04; // APX uses this bit for the base; without APX it is 1 already
        put(o, c);
    }
    put(o, (modrm & 0x38) | reg); // mod 0
    put_n(o, in->bytes + tail, in->len - tail);
    emit(b, o);
}

// A scratch register that can be a plain base and is not used by the instruction.
static u32 low_scratch(struct tb *b, const struct insn *in)
{
    static const u8 low[] = { R_RBX, R_RDX, R_RCX, R_RSI, R_RDI, R_RAX };
    u32 regs = in->regs;

    for (u32 i = 0; i < ARRAY_SIZE(low); i++) {
        if (!(regs & 1u << low[i]) && (b->spilled & 1u << low[i]))
            return low[i];
    }
    for (u32 i = 0; i < ARRAY_SIZE(low); i++) {
        if (!(regs & 1u << low[i])) {
            state_spill(b, low[i]);
            return low[i];
        }
    }
    b->overflow = true; // no instruction uses all six
    return R_RBX;
}

// Emits a lea of the modrm operand, without its segment.
static void emit_lea_of(struct tb *b, const struct insn *in, u32 reg)
{
    struct prefixes p = scan_prefixes(in);
    struct bytes o = { .n = 0 };
    u32 rex = p.rex == ~0u ? 0 : in->bytes[p.rex] & 3;
    u32 modrm = in->bytes[in->modrm_off], sib = (modrm & 7) == 4;

    if (in->encoding == INSN_VEX)
        rex = in->bytes[p.opcode] == 0xc4 ? (u32)(~in->bytes[p.opcode + 1] >> 5 & 3) : 0;
    else if (in->encoding >= INSN_EVEX)
        rex = (u32)(~in->bytes[p.opcode + 1] >> 5 & 3);
    if (in->flags & INSN_F_A32)
        put(&o, 0x67);
    put(&o, 0x48 | rex | (reg >> 3) << 2);
    put(&o, 0x8d);
    if (in->encoding == INSN_EVEX && in->disp_size == 1) {
        // a compressed displacement is in units of the operand's size: the decoder has scaled it
        s32 disp = (s32)in->refs[0].disp;

        put(&o, (modrm & 7) | (reg & 7) << 3 | 0x80);
        put_n(&o, in->bytes + in->modrm_off + 1, sib);
        put_n(&o, &disp, 4);
    } else {
        put(&o, (modrm & 0xc7) | (reg & 7) << 3);
        put_n(&o, in->bytes + in->modrm_off + 1, sib);
        put_n(&o, in->bytes + in->disp_off, in->disp_size);
    }
    emit(b, &o);
}

static u64 riprel_target(const struct insn *in)
{
    s32 d;

    memcpy(&d, in->bytes + in->disp_off, 4);
    if (in->flags & INSN_F_A32)
        return (u32)(in->pc + in->len + (u64)(s64)d);
    return in->pc + in->len + (u64)(s64)d;
}

// lea of a constant becomes a mov of it, which has no limit of reach.
static void copy_lea(struct tb *b, const struct insn *in, u64 target)
{
    struct prefixes p = scan_prefixes(in);
    u32 rex = p.rex == ~0u ? 0 : in->bytes[p.rex];
    u32 reg = (in->bytes[in->modrm_off] >> 3 & 7) | (rex & 4 ? 8 : 0);
    bool op16 = false;

    for (u32 i = 0; i < p.opcode; i++)
        op16 |= in->bytes[i] == 0x66;
    if (rex & 8)
        x86_mov_imm(&b->code, reg, target);
    else if (op16)
        x86_mov16_ri(&b->code, reg, target & 0xffff);
    else
        x86_mov_imm(&b->code, reg, (u32)target);
}

// Within reach: a new displacement.
static void copy_displaced(struct tb *b, const struct insn *in, u64 target)
{
    struct bytes o = { .n = 0 };
    u32 rel = (u32)(target - (x86_here(&b->code) + in->len));

    tb_mark(b);
    tb_reloc(b, tb_off(b) + in->disp_off);
    put_n(&o, in->bytes, in->len);
    memcpy(o.b + in->disp_off, &rel, 4);
    emit(b, &o);
}

// In the low 2 GiB: absolute, with one SIB byte more, which would obey the X bit that rip-relative
// forms ignore.
static void copy_absolute(struct tb *b, const struct insn *in, u64 target)
{
    struct prefixes p = scan_prefixes(in);
    struct bytes o = { .n = 0 };
    u32 disp = (u32)target;

    for (u32 i = 0; i < in->modrm_off; i++)
        put(&o, without_xb(in, &p, i, 2));
    put(&o, (in->bytes[in->modrm_off] & 0x38) | 4);
    put(&o, 0x25);
    put_n(&o, &disp, 4);
    put_n(&o, in->bytes + in->disp_off + 4, in->len - in->disp_off - 4u);
    tb_mark(b);
    emit(b, &o);
}

static void copy_riprel(struct tb *b, const struct insn *in)
{
    u64 target = riprel_target(in);
    struct bytes o = { .n = 0 };
    u32 reg;

    if (in->flags & INSN_F_LEA) {
        copy_lea(b, in, target);
        return;
    }
    if (!(in->flags & (INSN_F_SEG_GS | INSN_F_A32)) && region_reaches(target)) {
        copy_displaced(b, in, target);
        return;
    }
    if (target < 0x80000000u && !(in->flags & INSN_F_SEG_GS)) {
        copy_absolute(b, in, target);
        return;
    }
    reg = low_scratch(b, in);
    x86_mov_imm(&b->code, reg, target);
    if (in->flags & INSN_F_SEG_FS) {
        put(&o, 0x64); // the register holds the offset
    } else if (in->flags & INSN_F_SEG_GS) {
        u32 r2 = state_scratch(b, in->regs | 1u << reg);

        x86_mov(&b->code, r2, GS(TH_CLIENT_GS));
        x86_lea(&b->code, reg, MEM_X(reg, r2, 0, 0));
    }
    tb_mark(b);
    emit_with_operand(b, in, reg, &o);
}

// mov al/eax/rax, %gs:moffs64 and back: through a register-based form.
static void copy_gs_moffs(struct tb *b, const struct insn *in)
{
    static const u8 form[4] = { 0x8a, 0x8b, 0x88, 0x89 }; // mov r,m and mov m,r
    struct prefixes p = scan_prefixes(in);
    struct bytes o = { .n = 0 };
    u64 addr = 0;
    u32 reg, r2;

    memcpy(&addr, in->bytes + p.opcode + 1, in->flags & INSN_F_A32 ? 4 : 8);
    reg = state_scratch(b, 1u << R_RAX | 1u << R_RSP | 1u << R_RBP | 0xff00);
    r2 = state_scratch(b, 1u << R_RAX | 1u << reg);
    x86_mov(&b->code, reg, GS(TH_CLIENT_GS));
    x86_mov_imm(&b->code, r2, addr);
    x86_lea(&b->code, reg, MEM_X(reg, r2, 0, 0));
    tb_mark(b);
    for (u32 i = 0; i < p.opcode; i++) {
        u32 c = in->bytes[i];

        if (i == p.rex)
            put(&o, c & 0x48); // R, X and B would change the registers of the new form
        else if (c != 0x64 && c != 0x65 && c != 0x67)
            put(&o, c);
    }
    put(&o, form[in->bytes[p.opcode] & 3]);
    put(&o, reg); // (%reg), rax
    emit(b, &o);
}

// %gs belongs to the engine: adds the client's base explicitly.
static void copy_gs(struct tb *b, const struct insn *in)
{
    struct bytes o = { .n = 0 };
    u32 reg, r2;

    if (in->flags & INSN_F_MOFFS) {
        copy_gs_moffs(b, in);
        return;
    }
    reg = low_scratch(b, in);
    r2 = state_scratch(b, in->regs | 1u << reg);
    emit_lea_of(b, in, reg);
    x86_mov(&b->code, r2, GS(TH_CLIENT_GS));
    x86_lea(&b->code, reg, MEM_X(reg, r2, 0, 0));
    tb_mark(b);
    emit_with_operand(b, in, reg, &o);
}

// The modrm operand's address without %fs's base, for every kind of operand.
static void emit_address(struct tb *b, const struct insn *in, u32 reg)
{
    if (in->flags & INSN_F_RIPREL)
        x86_mov_imm(&b->code, reg, riprel_target(in));
    else
        emit_lea_of(b, in, reg);
    if (in->flags & INSN_F_SEG_GS) {
        u32 r2 = state_scratch(b, in->regs | 1u << reg);

        x86_mov(&b->code, r2, GS(TH_CLIENT_GS));
        x86_lea(&b->code, reg, MEM_X(reg, r2, 0, 0));
    }
}

// xsave and xrstor with --cpu: a program that was shown fewer states has no space for the others.
// eax and edx may be part of the address, which is therefore computed first.
static void copy_xstate(struct tb *b, const struct insn *in)
{
    struct bytes o = { .n = 0 };
    u32 reg = low_scratch(b, in);

    emit_address(b, in, reg);
    state_flags_free(b, b->live[b->cur]);
    state_spill(b, R_RAX);
    state_spill(b, R_RDX);
    x86_mov32(&b->code, R_RAX, GS(TH_REGS + R_RAX * 8));
    x86_and32_ri(&b->code, R_RAX, tb_config.xstate_mask);
    x86_mov_imm(&b->code, R_RDX, 0);
    tb_mark(b);
    if (in->flags & INSN_F_SEG_FS)
        put(&o, 0x64);
    emit_with_operand(b, in, reg, &o);
}

void relocate_insn(struct tb *b, const struct insn *in)
{
    if ((in->flags & INSN_F_XSTATE) && tb_config.xstate_mask) {
        copy_xstate(b, in);
    } else if (in->flags & INSN_F_RIPREL) {
        copy_riprel(b, in);
    } else if ((in->flags & INSN_F_SEG_GS) && (in->flags & (INSN_F_MEM | INSN_F_MOFFS)) &&
               !(in->flags & INSN_F_LEA)) {
        copy_gs(b, in);
    } else {
        tb_mark(b);
        x86_copy(&b->code, in->bytes, in->len);
    }
}

// A mov with the branch's operand reads the target: ff /2, ff /4 become 8b.
void relocate_target(struct tb *b, const struct insn *in, u32 reg)
{
    struct insn mov;
    struct prefixes p = scan_prefixes(in);
    u32 n = 0, rex = p.rex == ~0u ? 0 : in->bytes[p.rex] & 3;

    if (in->ireg != REG_NONE) {
        if (in->ireg != reg)
            x86_mov(&b->code, reg, in->ireg);
        return;
    }
    mov = *in;
    for (u32 i = 0; i < p.opcode; i++) {
        u8 c = in->bytes[i];

        if (c == 0x67 || c == 0x64 || c == 0x65)
            mov.bytes[n++] = c;
        if (i + 1 == p.opcode && i == p.rex)
            break;
    }
    mov.bytes[n++] = (u8)(0x48 | rex | (reg >> 3) << 2);
    mov.bytes[n++] = 0x8b;
    mov.modrm_off = (u8)n;
    mov.bytes[n++] = (u8)((in->bytes[in->modrm_off] & 0xc7) | (reg & 7) << 3);
    mov.disp_off = (u8)(n + (in->disp_off - in->modrm_off - 1u));
    for (u32 i = in->modrm_off + 1u; i < in->len; i++)
        mov.bytes[n++] = in->bytes[i];
    // RIP-relative: the displacement counts from the end of the original instruction
    mov.pc = in->pc + in->len - n;
    mov.len = (u8)n;
    mov.encoding = INSN_LEGACY;
    mov.kind = INSN_PLAIN;
    relocate_insn(b, &mov);
}

void relocate_push(struct tb *b, u64 value)
{
    if ((u64)(s64)(s32)value == value) {
        tb_mark(b);
        x86_push_i(&b->code, (u32)value);
    } else {
        // From memory behind the block's code: needs no register.
        tb_mark(b);
        b->pushed[b->npushed] = x86_push_rip(&b->code);
        b->pushed_value[b->npushed++] = value;
    }
}

struct x86_label relocate_loop(struct tb *b, const struct insn *in)
{
    x86_copy(&b->code, in->bytes, in->len);
    return x86_behind(&b->code, 1);
}
