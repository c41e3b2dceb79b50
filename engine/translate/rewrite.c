// SPDX-License-Identifier: MIT
// Client instructions made to run at another address: RIP-relative operands re-displaced, the client's %gs made virtual,
// addresses out of reach brought in through a scratch register. Everything else is copied as it is, so that every instruction that
// the processor knows does what it does natively.
#include "engine/translate/translate.h"

#include "engine/base/mini.h"
#include "engine/codecache/tcache_priv.h"

// Where the opcode (or the VEX/EVEX escape) begins, and where REX lies if there is one.
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
    if (!in->encoding && (in->bytes[i] & 0xf0) == 0x40)
        p.rex = i++;
    p.opcode = i;
    return p;
}

// Emits `in` with its memory operand replaced by (%reg), reg one of rax rcx rdx rbx rsi rdi, without a segment prefix.
static void emit_with_operand(struct tb *b, const struct insn *in, u32 reg)
{
    struct prefixes p = scan_prefixes(in);
    struct emit *e = &b->e;
    u8 modrm = in->bytes[in->modrm_off];
    u32 tail = in->modrm_off + 1u;

    if ((modrm & 7) == 4)
        tail++; // SIB
    if (in->disp_size)
        tail = in->disp_off + (u32)in->disp_size;
    for (u32 i = 0; i < in->modrm_off; i++) {
        u8 c = in->bytes[i];

        if (i < p.opcode &&
            (i == p.seg || (c == 0x67 && i != p.rex) || ((c == 0x64 || c == 0x65) && i != p.rex)))
            continue;
        if (i == p.rex) {
            c &= (u8)~3; // X and B belong to the old operand
        } else if (in->encoding == 1 && i == p.opcode + 1 && in->bytes[p.opcode] == 0xc4) {
            c |= 0x60; // inverted X and B
        } else if (in->encoding >= 2 && i == p.opcode + 1) {
            c |= 0x60;
        } else if (in->encoding == 2 && i == p.opcode + 2) {
            c |= 0x04; // APX reuses this bit for the base; without it, it is 1 already
        }
        emit_u8(e, c);
    }
    emit_u8(e, (modrm & 0x38) | reg); // mod 0
    emit_bytes(e, in->bytes + tail, in->len - tail);
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
            tb_spill(b, low[i]);
            return low[i];
        }
    }
    b->overflow = true; // no instruction uses all six
    return R_RBX;
}

// Effective address of the modrm operand without its segment, for lea.
static void emit_lea_of(struct tb *b, const struct insn *in, u32 reg)
{
    struct prefixes p = scan_prefixes(in);
    u32 rex = p.rex == ~0u ? 0 : in->bytes[p.rex] & 3;
    u32 modrm = in->bytes[in->modrm_off], n = in->modrm_off + 1u;

    if (in->encoding == 1)
        rex = in->bytes[p.opcode] == 0xc4 ? (u32)(~in->bytes[p.opcode + 1] >> 5 & 3) : 0;
    else if (in->encoding >= 2)
        rex = (u32)(~in->bytes[p.opcode + 1] >> 5 & 3);
    if ((modrm & 7) == 4)
        n++;
    if (in->flags & INSN_F_A32)
        emit_u8(&b->e, 0x67);
    emit_u8(&b->e, 0x48 | rex | (reg >> 3) << 2);
    emit_u8(&b->e, 0x8d);
    if (in->encoding == 2 && in->disp_size == 1) {
        // the compressed displacement counts in units of the operand: the decoder has scaled it
        emit_u8(&b->e, (modrm & 7) | (reg & 7) << 3 | 0x80);
        emit_bytes(&b->e, in->bytes + in->modrm_off + 1, n - in->modrm_off - 1);
        emit_u32(&b->e, (u32)in->refs[0].disp);
        return;
    }
    emit_u8(&b->e, (modrm & 0xc7) | (reg & 7) << 3);
    emit_bytes(&b->e, in->bytes + in->modrm_off + 1, n - in->modrm_off - 1);
    emit_bytes(&b->e, in->bytes + in->disp_off, in->disp_size);
}

static u64 riprel_target(const struct insn *in)
{
    s32 d;

    memcpy(&d, in->bytes + in->disp_off, 4);
    if (in->flags & INSN_F_A32)
        return (u32)(in->pc + in->len + (u64)(s64)d);
    return in->pc + in->len + (u64)(s64)d;
}

static void copy_riprel(struct tb *b, const struct insn *in)
{
    u64 target = riprel_target(in);
    u64 end = (u64)b->e.p + in->len;
    u32 off;

    if (in->flags & INSN_F_LEA) {
        // lea of a constant: mov of the constant, which needs no reach
        struct prefixes p = scan_prefixes(in);
        u32 rex = p.rex == ~0u ? 0 : in->bytes[p.rex];
        u32 reg = (in->bytes[in->modrm_off] >> 3 & 7) | (rex & 4 ? 8 : 0);
        bool op16 = false;

        for (u32 i = 0; i < p.opcode; i++)
            op16 |= in->bytes[i] == 0x66;
        if (rex & 8) {
            emit_mov_imm(&b->e, reg, target);
        } else if (op16) {
            emit_u8(&b->e, 0x66);
            if (reg >= 8)
                emit_u8(&b->e, 0x41);
            emit_u8(&b->e, 0xb8 | (reg & 7)); // mov $imm16, r16
            emit_u8(&b->e, target & 0xff);
            emit_u8(&b->e, target >> 8 & 0xff);
        } else {
            emit_mov_imm(&b->e, reg, (u32)target);
        }
        return;
    }
    if (!(in->flags & (INSN_F_SEG_GS | INSN_F_A32)) && tcache_reaches(target)) {
        off = tb_off(b);
        tb_mark(b);
        emit_bytes(&b->e, in->bytes, in->disp_off);
        tb_reloc(b, off + in->disp_off);
        emit_u32(&b->e, (u32)(target - end));
        emit_bytes(&b->e, in->bytes + in->disp_off + 4, in->len - in->disp_off - 4u);
        return;
    }
    if (target < 0x80000000u && !(in->flags & INSN_F_SEG_GS)) {
        // absolute disp32: one SIB byte more, which would obey the X bit that RIP-relative forms ignore
        struct prefixes p = scan_prefixes(in);

        tb_mark(b);
        for (u32 i = 0; i < in->modrm_off; i++) {
            u8 c = in->bytes[i];

            if (i == p.rex)
                c &= (u8)~2;
            else if (i == p.opcode + 1 &&
                     (in->encoding >= 2 || (in->encoding == 1 && in->bytes[p.opcode] == 0xc4)))
                c |= 0x40; // inverted
            emit_u8(&b->e, c);
        }
        emit_u8(&b->e, (in->bytes[in->modrm_off] & 0x38) | 4);
        emit_u8(&b->e, 0x25);
        emit_u32(&b->e, (u32)target);
        emit_bytes(&b->e, in->bytes + in->disp_off + 4, in->len - in->disp_off - 4u);
        return;
    }
    off = low_scratch(b, in);
    if (in->flags & INSN_F_SEG_FS) {
        // fs: and RIP-relative at once: keep the prefix, the register holds the offset
        struct insn copy = *in;

        emit_mov_imm(&b->e, off, target);
        tb_mark(b);
        emit_u8(&b->e, 0x64);
        emit_with_operand(b, &copy, off);
        return;
    }
    emit_mov_imm(&b->e, off, target);
    if (in->flags & INSN_F_SEG_GS) {
        u32 r2 = tb_scratch(b, in->regs | 1u << off);

        emit_gs_load(&b->e, r2, TH_CLIENT_GS);
        emit_lea(&b->e, off, off, r2, 1, 0);
    }
    tb_mark(b);
    emit_with_operand(b, in, off);
}

// %gs belongs to the engine: the client's base is added by hand.
static void copy_gs(struct tb *b, const struct insn *in)
{
    u32 reg, r2;

    if (in->flags & INSN_F_MOFFS) {
        // mov al/eax/rax, %gs:moffs64 and back: through a register-based form
        struct prefixes p = scan_prefixes(in);
        u64 addr = 0;
        u8 op = in->bytes[p.opcode];
        static const u8 form[4] = { 0x8a, 0x8b, 0x88, 0x89 }; // mov r,m and mov m,r

        memcpy(&addr, in->bytes + p.opcode + 1, in->flags & INSN_F_A32 ? 4 : 8);
        reg = tb_scratch(b, 1u << R_RAX | 1u << 4 | 1u << 5 | 0xff00);
        r2 = tb_scratch(b, 1u << R_RAX | 1u << reg);
        emit_gs_load(&b->e, reg, TH_CLIENT_GS);
        emit_mov_imm(&b->e, r2, addr);
        emit_lea(&b->e, reg, reg, r2, 1, 0);
        tb_mark(b);
        for (u32 i = 0; i < p.opcode; i++) {
            u8 c = in->bytes[i];

            if (i == p.rex)
                emit_u8(&b->e,
                        c & 0x48); // the form to come has registers that R, X and B would change
            else if (c != 0x64 && c != 0x65 && c != 0x67)
                emit_u8(&b->e, c);
        }
        emit_u8(&b->e, form[op & 3]);
        emit_u8(&b->e, reg); // (%reg), rax
        return;
    }
    reg = low_scratch(b, in);
    r2 = tb_scratch(b, in->regs | 1u << reg);
    emit_lea_of(b, in, reg);
    emit_gs_load(&b->e, r2, TH_CLIENT_GS);
    emit_lea(&b->e, reg, reg, r2, 1, 0);
    tb_mark(b);
    emit_with_operand(b, in, reg);
}

void rewrite_insn(struct tb *b, const struct insn *in)
{
    if (in->flags & INSN_F_RIPREL) {
        copy_riprel(b, in);
    } else if ((in->flags & INSN_F_SEG_GS) && (in->flags & (INSN_F_MEM | INSN_F_MOFFS)) &&
               !(in->flags & INSN_F_LEA)) {
        copy_gs(b, in);
    } else {
        tb_mark(b);
        emit_bytes(&b->e, in->bytes, in->len);
    }
}

// The branch's operand is read by a mov with the same operand: ff /2, ff /4 become 8b.
void rewrite_target(struct tb *b, const struct insn *in, u32 reg)
{
    struct insn mov;
    struct prefixes p = scan_prefixes(in);
    u32 n = 0, rex = p.rex == ~0u ? 0 : in->bytes[p.rex] & 3;

    if (in->ireg != REG_NONE) {
        if (in->ireg != reg)
            emit_mov(&b->e, reg, in->ireg);
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
    mov.encoding = 0;
    mov.kind = INSN_PLAIN;
    rewrite_insn(b, &mov);
}

void rewrite_push(struct tb *b, u64 value)
{
    if ((u64)(s64)(s32)value == value) {
        tb_mark(b);
        emit_u8(&b->e, 0x68); // push $simm32
        emit_u32(&b->e, (u32)value);
    } else {
        u32 reg = tb_scratch(b, 1u << R_RCX);

        emit_mov_imm(&b->e, reg, value);
        tb_mark(b);
        if (reg >= 8)
            emit_u8(&b->e, 0x41);
        emit_u8(&b->e, 0x50 | (reg & 7)); // push reg
    }
}
