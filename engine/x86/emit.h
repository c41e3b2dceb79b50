// SPDX-License-Identifier: MIT
// The encoder: the few host instruction forms that instrumentation needs, written into a buffer. Every function appends one
// instruction; the disassembly is beside the bytes. Running over the end sets `full` and writes nothing more.
#ifndef QUERN_ENGINE_EMIT_H
#define QUERN_ENGINE_EMIT_H

#include "engine/x86/decode.h"

struct emit {
    u8 *p, *start, *end;
    bool full;
};

static inline void emit_u8(struct emit *e, u32 b)
{
    if (LIKELY(e->p < e->end))
        *e->p++ = (u8)b;
    else
        e->full = true;
}

static inline void emit_u32(struct emit *e, u32 v)
{
    if (LIKELY(e->p + 4 <= e->end)) {
        __builtin_memcpy(e->p, &v, 4);
        e->p += 4;
    } else {
        e->full = true;
    }
}

static inline void emit_u64(struct emit *e, u64 v)
{
    emit_u32(e, (u32)v);
    emit_u32(e, (u32)(v >> 32));
}

static inline void emit_bytes(struct emit *e, const u8 *b, u32 n)
{
    for (u32 i = 0; i < n; i++)
        emit_u8(e, b[i]);
}

// op reg, %gs:disp32 (or the other way round, as the opcode says); w is the REX.W bit
static inline void emit_gs_op(struct emit *e, u32 w, u32 opcode, u32 reg, u32 disp)
{
    u32 rex = 0x40 | w << 3 | (reg >> 3) << 2;

    emit_u8(e, 0x65); // gs
    if (rex != 0x40)
        emit_u8(e, rex);
    emit_u8(e, opcode);
    emit_u8(e, (reg & 7) << 3 | 4); // modrm: [sib]
    emit_u8(e, 0x25);               // sib: disp32 alone
    emit_u32(e, disp);
}

// mov %gs:disp, reg := reg
static inline void emit_gs_store(struct emit *e, u32 disp, u32 reg)
{
    emit_gs_op(e, 1, 0x89, reg, disp);
}

// mov reg, %gs:disp
static inline void emit_gs_load(struct emit *e, u32 reg, u32 disp)
{
    emit_gs_op(e, 1, 0x8b, reg, disp);
}

// incq/decq %gs:disp (leaves CF alone)
static inline void emit_gs_inc(struct emit *e, u32 disp)
{
    emit_gs_op(e, 1, 0xff, 0, disp); // ff /0
}

// movq $imm32 (sign-extended), %gs:disp
static inline void emit_gs_store_imm(struct emit *e, u32 disp, u32 imm)
{
    emit_gs_op(e, 1, 0xc7, 0, disp);
    emit_u32(e, imm);
}

// movl $imm32, %gs:disp
static inline void emit_gs_store_imm32(struct emit *e, u32 disp, u32 imm)
{
    emit_gs_op(e, 0, 0xc7, 0, disp);
    emit_u32(e, imm);
}

// op reg, %gs:disp32(index,scale 1 << ss) with any index but rsp
static inline void emit_gs_index_op(struct emit *e, u32 w, u32 opcode, u32 reg, u32 index, u32 ss,
                                    u32 disp)
{
    u32 rex = 0x40 | w << 3 | (reg >> 3) << 2 | (index >> 3) << 1;

    emit_u8(e, 0x65);
    if (rex != 0x40)
        emit_u8(e, rex);
    emit_u8(e, opcode);
    emit_u8(e, (reg & 7) << 3 | 4);
    emit_u8(e, ss << 6 | (index & 7) << 3 | 5); // no base, disp32
    emit_u32(e, disp);
}

// mov $imm, reg: the shortest form that leaves the flags alone
static inline void emit_mov_imm(struct emit *e, u32 reg, u64 imm)
{
    if (imm <= 0xffffffffu) {
        if (reg >= 8)
            emit_u8(e, 0x41);
        emit_u8(e, 0xb8 | (reg & 7)); // mov $imm32, r32
        emit_u32(e, (u32)imm);
    } else if ((u64)(s64)(s32)imm == imm) {
        emit_u8(e, 0x48 | reg >> 3);
        emit_u8(e, 0xc7); // mov $simm32, r64
        emit_u8(e, 0xc0 | (reg & 7));
        emit_u32(e, (u32)imm);
    } else {
        emit_u8(e, 0x48 | reg >> 3);
        emit_u8(e, 0xb8 | (reg & 7)); // movabs
        emit_u64(e, imm);
    }
}

// mov src, dst (64 bit)
static inline void emit_mov(struct emit *e, u32 dst, u32 src)
{
    emit_u8(e, 0x48 | (src >> 3) << 2 | dst >> 3);
    emit_u8(e, 0x89);
    emit_u8(e, 0xc0 | (src & 7) << 3 | (dst & 7));
}

// opcode with reg and a memory operand base + index * scale + disp; REG_NONE leaves a part out. A constant address
// (neither) must be in the low 2 GiB. `w` is REX.W. prefix67 for 32-bit addressing.
static inline void emit_mem_op(struct emit *e, u32 w, u32 opcode, u32 reg, u32 base, u32 index,
                               u32 scale, s64 disp, bool a32)
{
    u32 rex = 0x40 | w << 3 | (reg >> 3) << 2;
    u32 ss = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
    bool d8 = disp >= -128 && disp <= 127;
    u32 mod;

    if (index != REG_NONE)
        rex |= (index >> 3) << 1;
    if (base != REG_NONE)
        rex |= base >> 3;
    if (a32)
        emit_u8(e, 0x67);
    if (rex != 0x40)
        emit_u8(e, rex);
    emit_u8(e, opcode);
    if (base == REG_NONE) {
        emit_u8(e, (reg & 7) << 3 | 4);
        emit_u8(e, ss << 6 | (index == REG_NONE ? 4u : index & 7) << 3 | 5);
        emit_u32(e, (u32)disp);
        return;
    }
    mod = disp == 0 && (base & 7) != 5 ? 0 : d8 ? 1 : 2;
    if (index != REG_NONE || (base & 7) == 4) {
        emit_u8(e, mod << 6 | (reg & 7) << 3 | 4);
        emit_u8(e, ss << 6 | (index == REG_NONE ? 4u : index & 7) << 3 | (base & 7));
    } else {
        emit_u8(e, mod << 6 | (reg & 7) << 3 | (base & 7));
    }
    if (mod == 1)
        emit_u8(e, (u32)disp & 0xff);
    else if (mod == 2)
        emit_u32(e, (u32)disp);
}

// lea base + index * scale + disp, reg
static inline void emit_lea(struct emit *e, u32 reg, u32 base, u32 index, u32 scale, s64 disp)
{
    emit_mem_op(e, 1, 0x8d, reg, base, index, scale, disp, false);
}

// Padding that executes: the recommended long nops.
static inline void emit_nops(struct emit *e, u32 n)
{
    static const u8 nops[9][9] = {
        { 0x90 },
        { 0x66, 0x90 },
        { 0x0f, 0x1f, 0x00 },
        { 0x0f, 0x1f, 0x40, 0x00 },
        { 0x0f, 0x1f, 0x44, 0x00, 0x00 },
        { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
        { 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
        { 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
        { 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
    };

    while (n) {
        u32 k = n > 9 ? 9 : n;

        emit_bytes(e, nops[k - 1], k);
        n -= k;
    }
}

#endif
