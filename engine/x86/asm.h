// SPDX-License-Identifier: MIT
// The assembler: appends the few host instructions that instrumentation needs to a buffer. Each row
// of asm.def is one form, with a function x86_NAME(). Everything is inline and folds to constant
// stores where the operands are constants. Nothing else in the engine writes the bytes of an
// instruction, except relocate.c, which alters the client's own.
//
// Operands are in Intel order. Registers are hardware numbers. An instruction for which there may
// be no space sets `full` and is not written; then the code after it is invalid.
#ifndef QUERN_ENGINE_ASM_H
#define QUERN_ENGINE_ASM_H

#include "engine/base/types.h"
#include "engine/x86/regs.h"

struct x86 {
    u8 *p, *start, *end;
    bool full;
};

#define X86_MAX 16 // no instruction is longer

// -- operands --

struct x86_mem {
    u8 base, index; // registers or REG_NONE; rsp is no index
    u8 scale;       // the index counts 1 << scale
    bool gs;        // in the thread area
    bool a32;       // 32-bit addressing
    s32 disp;
};

#define MEM(base, disp)                 x86_mem(base, REG_NONE, 0, false, disp)
#define MEM_X(base, index, scale, disp) x86_mem(base, index, scale, false, disp)
#define GS(disp)                        x86_mem(REG_NONE, REG_NONE, 0, true, disp)
#define GS_X(disp, index, scale)        x86_mem(REG_NONE, index, scale, true, disp)

static inline struct x86_mem x86_mem(u32 base, u32 index, u32 scale, bool gs, s64 disp)
{
    struct x86_mem m = { (u8)base, (u8)index, (u8)scale, gs, false, (s32)disp };

    return m;
}

// The low four bits of the jcc opcodes.
enum x86_cond {
    CC_O,
    CC_NO,
    CC_B,
    CC_AE,
    CC_E,
    CC_NE,
    CC_BE,
    CC_A,
    CC_S,
    CC_NS,
    CC_P,
    CC_NP,
    CC_L,
    CC_GE,
    CC_LE,
    CC_G,
};

// -- labels --

// The displacement of a jump, a call or a rip-relative operand; x86_fix() or x86_land() fills in
// its target.
struct x86_label {
    u32 at, bytes; // offset from the start of the buffer; 1 or 4
};

// Sets its target, an address. A target out of reach of a short jump sets `full`.
static inline void x86_fix(struct x86 *a, struct x86_label l, u64 target)
{
    s64 rel = (s64)(target - ((u64)a->start + l.at + l.bytes));
    u32 rel32 = (u32)rel;

    if (a->full)
        return;
    if (l.bytes == 4)
        __builtin_memcpy(a->start + l.at, &rel32, 4);
    else if (rel == (s64)(s8)rel)
        a->start[l.at] = (u8)rel;
    else
        a->full = true;
}

static inline u64 x86_here(const struct x86 *a)
{
    return (u64)a->p;
}

static inline void x86_land(struct x86 *a, struct x86_label l)
{
    x86_fix(a, l, x86_here(a));
}

// -- encoding --

enum x86_width {
    X86_W8 = 8,
    X86_W16 = 16,
    X86_W32 = 32,
    X86_W64 = 64,
    X86_WD64 = 0, // 64 without REX.W
    X86_W256 = 256,
    X86_W512 = 512,
};

// The address of the next instruction, NULL when there may be no space.
static inline u8 *x86_begin(struct x86 *a)
{
    if (LIKELY(a->end - a->p >= X86_MAX))
        return a->p;
    a->full = true;
    return NULL;
}

static inline u8 *x86_imm8(u8 *p, u32 v)
{
    *p = (u8)v;
    return p + 1;
}

static inline u8 *x86_imm16(u8 *p, u32 v)
{
    __builtin_memcpy(p, &v, 2);
    return p + 2;
}

static inline u8 *x86_imm32(u8 *p, u32 v)
{
    __builtin_memcpy(p, &v, 4);
    return p + 4;
}

static inline u8 *x86_imm64(u8 *p, u64 v)
{
    __builtin_memcpy(p, &v, 8);
    return p + 8;
}

static inline u8 *x86_imm(u8 *p, u32 width, u32 v)
{
    return width == X86_W16 ? x86_imm16(p, v) : x86_imm32(p, v);
}

#define X86_REX 0x40u // in `rxb`: emits REX even without bits: spl .. dil instead of ah .. bh

// Prefixes and opcode. rxb: the bits R, X and B of REX.
static inline u8 *x86_op(u8 *p, u32 width, u32 opcode, u32 rxb)
{
    u32 rex = (width == X86_W64 ? 8u : 0u) | rxb;

    if (opcode > 0xffff)
        *p++ = (u8)(opcode >> 16);
    if (width == X86_W16)
        *p++ = 0x66;
    if (rex)
        *p++ = (u8)(X86_REX | rex);
    if (opcode > 0xff)
        *p++ = 0x0f;
    *p++ = (u8)opcode;
    return p;
}

static inline u8 *x86_op_o(u8 *p, u32 width, u32 opcode, u32 reg)
{
    return x86_op(p, width, opcode | (reg & 7), reg >> 3);
}

static inline u8 *x86_modrm_r(u8 *p, u32 reg, u32 rm)
{
    *p = (u8)(0xc0 | (reg & 7) << 3 | (rm & 7));
    return p + 1;
}

static inline u8 *x86_op_r(u8 *p, u32 width, u32 opcode, u32 reg, u32 rm)
{
    u32 rex = width == X86_W8 && rm >= 4 ? X86_REX : 0;

    return x86_modrm_r(x86_op(p, width, opcode, rex | (reg >> 3) << 2 | rm >> 3), reg, rm);
}

static inline u8 *x86_op_rip(u8 *p, u32 width, u32 opcode, u32 reg)
{
    p = x86_op(p, width, opcode, (reg >> 3) << 2);
    *p = (u8)((reg & 7) << 3 | 5);
    return p + 1;
}

// The bits X and B of an operand.
static inline u32 x86_xb(struct x86_mem m)
{
    u32 x = m.index == REG_NONE ? 0 : m.index >> 3, b = m.base == REG_NONE ? 0 : m.base >> 3;

    return x << 1 | b;
}

// modrm, SIB and displacement. with_short: an 8-bit displacement is allowed.
static inline u8 *x86_modrm(u8 *p, u32 reg, struct x86_mem m, bool with_short)
{
    u32 r = (reg & 7) << 3, base = m.base & 7, mod;
    u32 sib = (u32)m.scale << 6 | (m.index == REG_NONE ? 4u : m.index & 7u) << 3;

    if (m.base == REG_NONE) { // disp32 without a base
        *p++ = (u8)(r | 4);
        *p++ = (u8)(sib | 5);
        return x86_imm32(p, (u32)m.disp);
    }
    mod = m.disp == 0 && base != R_RBP ? 0 : with_short && m.disp == (s8)m.disp ? 1 : 2;
    if (m.index != REG_NONE || base == R_RSP) {
        *p++ = (u8)(mod << 6 | r | 4);
        *p++ = (u8)(sib | base);
    } else {
        *p++ = (u8)(mod << 6 | r | base);
    }
    return mod == 0 ? p : mod == 1 ? x86_imm8(p, (u32)m.disp) : x86_imm32(p, (u32)m.disp);
}

static inline u8 *x86_prefixes(u8 *p, struct x86_mem m)
{
    if (m.gs)
        *p++ = 0x65;
    if (m.a32)
        *p++ = 0x67;
    return p;
}

static inline u8 *x86_op_m(u8 *p, u32 width, u32 opcode, u32 reg, struct x86_mem m)
{
    p = x86_op(x86_prefixes(p, m), width, opcode, (reg >> 3) << 2 | x86_xb(m));
    return x86_modrm(p, reg, m, true);
}

// VEX without a second source and with W 0. map: 1 for 0f, 3 for 0f3a. pp: 0 to 3 for none, 66, f3,
// f2. l: 4 for 256 bits. Uses the two-byte form where possible.
static inline u8 *x86_vex(u8 *p, u32 map, u32 pp, u32 l, u32 opcode, u32 rxb)
{
    if (map == 1 && !(rxb & 3)) {
        *p++ = 0xc5;
        *p++ = (u8)((~rxb >> 2 & 1) << 7 | 0x78 | l | pp);
    } else {
        *p++ = 0xc4;
        *p++ = (u8)((~rxb & 7) << 5 | map);
        *p++ = (u8)(0x78 | l | pp);
    }
    *p++ = (u8)opcode;
    return p;
}

static inline u8 *x86_vex_r(u8 *p, u32 map, u32 pp, u32 opcode, u32 reg, u32 rm)
{
    return x86_modrm_r(x86_vex(p, map, pp, 0, opcode, (reg >> 3) << 2 | rm >> 3), reg, rm);
}

// With a third operand.
static inline u8 *x86_vex_rr(u8 *p, u32 map, u32 pp, u32 opcode, u32 reg, u32 v, u32 rm)
{
    p = x86_vex(p, map, pp, 0, opcode, (reg >> 3) << 2 | rm >> 3);
    p[-2] = (u8)(p[-2] ^ v << 3); // the field is inverted
    return x86_modrm_r(p, reg, rm);
}

static inline u8 *x86_vex_m(u8 *p, u32 pp, u32 l, u32 opcode, u32 reg, struct x86_mem m)
{
    p = x86_vex(x86_prefixes(p, m), 1, pp, l, opcode, (reg >> 3) << 2 | x86_xb(m));
    return x86_modrm(p, reg, m, true);
}

// EVEX, map 0f, f3, W 1, 512 bits, without a mask. Its short displacements are scaled by the
// operand size: they are not used.
static inline u8 *x86_evex_m(u8 *p, u32 opcode, u32 zmm, struct x86_mem m)
{
    p = x86_prefixes(p, m);
    *p++ = 0x62;
    *p++ = (u8)((~zmm >> 3 & 1) << 7 | (~x86_xb(m) & 3) << 5 | (~zmm >> 4 & 1) << 4 | 1);
    *p++ = 0xfe;
    *p++ = 0x48;
    *p++ = (u8)opcode;
    return x86_modrm(p, zmm, m, false);
}

// -- the rows --

// The label of the displacement that ends at the current end of the buffer.
static inline struct x86_label x86_behind(const struct x86 *a, u32 bytes)
{
    struct x86_label l = { (u32)(a->p - a->start) - bytes, bytes };

    return l;
}

// clang-format off
#define X86_FN(n, end, ...) \
    static inline void x86_##n(struct x86 *a, ##__VA_ARGS__) \
    { u8 *p = x86_begin(a); if (p) a->p = end; }
#define X86_JUMP(n, bytes, end, ...) \
    static inline struct x86_label x86_##n(struct x86 *a, ##__VA_ARGS__) \
    { u8 *p = x86_begin(a); if (p) a->p = end; return x86_behind(a, bytes); }

#define X86_RR(n, w, o, d)   X86_FN(n, x86_op_r(p, w, o, r, rm), u32 rm, u32 r)
#define X86_GR(n, w, o, d)   X86_FN(n, x86_op_r(p, w, o, r, rm), u32 r, u32 rm)
#define X86_GM(n, w, o, d)   X86_FN(n, x86_op_m(p, w, o, r, m), u32 r, struct x86_mem m)
#define X86_RM(n, w, o, d)   X86_FN(n, x86_op_m(p, w, o, r, m), u32 r, struct x86_mem m)
#define X86_MR(n, w, o, d)   X86_FN(n, x86_op_m(p, w, o, r, m), struct x86_mem m, u32 r)
#define X86_R(n, w, o, d)    X86_FN(n, x86_op_r(p, w, o, d, rm), u32 rm)
#define X86_M(n, w, o, d)    X86_FN(n, x86_op_m(p, w, o, d, m), struct x86_mem m)
#define X86_RI(n, w, o, d)   X86_FN(n, x86_imm32(x86_op_r(p, w, o, d, rm), v), u32 rm, u32 v)
#define X86_RI8(n, w, o, d)  X86_FN(n, x86_imm8(x86_op_r(p, w, o, d, rm), v), u32 rm, u32 v)
#define X86_MI(n, w, o, d) \
    X86_FN(n, x86_imm32(x86_op_m(p, w, o, d, m), v), struct x86_mem m, u32 v)
#define X86_MI8(n, w, o, d) \
    X86_FN(n, x86_imm8(x86_op_m(p, w, o, d, m), v), struct x86_mem m, u32 v)
#define X86_O(n, w, o, d)    X86_FN(n, x86_op_o(p, w, o, r), u32 r)
#define X86_OI(n, w, o, d)   X86_FN(n, x86_imm(x86_op_o(p, w, o, r), w, v), u32 r, u32 v)
#define X86_OI64(n, w, o, d) X86_FN(n, x86_imm64(x86_op_o(p, w, o, r), v), u32 r, u64 v)
#define X86_I(n, w, o, d)    X86_FN(n, x86_imm32(x86_op(p, w, o, 0), v), u32 v)
#define X86_I8(n, w, o, d)   X86_FN(n, x86_imm8(x86_op(p, w, o, 0), v), u32 v)
#define X86_N(n, w, o, d)    X86_FN(n, x86_op(p, w, o, 0))
#define X86_J(n, w, o, d)    X86_JUMP(n, 4, x86_imm32(x86_op(p, w, o, 0), 0))
#define X86_J8(n, w, o, d)   X86_JUMP(n, 1, x86_imm8(x86_op(p, w, o, 0), 0))
#define X86_CC(n, w, o, d)   X86_JUMP(n, 4, x86_imm32(x86_op(p, w, o | cc, 0), 0), u32 cc)
#define X86_CC8(n, w, o, d)  X86_JUMP(n, 1, x86_imm8(x86_op(p, w, o | cc, 0), 0), u32 cc)
#define X86_PJ(n, w, o, d)   X86_JUMP(n, 4, x86_imm32(x86_op_rip(p, w, o, d), 0))
#define X86_RJ(n, w, o, d)   X86_JUMP(n, 4, x86_imm32(x86_op_rip(p, w, o, r), 0), u32 r)
#define X86_XJ(n, w, o, d)   X86_JUMP(n, 4, x86_imm32(x86_op_r(p, w, o, d, 0), 0))
#define X86_XI8(n, w, o, d)  X86_FN(n, x86_imm8(x86_op_r(p, w, o, d, 0), v), u32 v)
#define X86_VEX_GRI8(n, w, o, d) \
    X86_FN(n, x86_imm8(x86_vex_r(p, 3, 3, o, r, rm), v), u32 r, u32 rm, u32 v)
#define X86_VEX_GVR(n, w, o, d) X86_FN(n, x86_vex_rr(p, 2, 2, o, r, v, rm), u32 r, u32 v, u32 rm)
#define X86_VEX_MY(n, w, o, d)  X86_FN(n, x86_vex_m(p, 2, 4, o, r, m), struct x86_mem m, u32 r)
#define X86_VEX_MK(n, w, o, d)  X86_FN(n, x86_vex_m(p, 0, 0, o, r, m), struct x86_mem m, u32 r)
#define X86_EVEX_MZ(n, w, o, d) X86_FN(n, x86_evex_m(p, o, r, m), struct x86_mem m, u32 r)

#define X86(name, mnemonic, w, opcode, digit, form) X86_##form(name, X86_W##w, opcode, digit)
#include "engine/x86/asm.def"
#undef X86

// Moves between register and memory, in both directions.
#define X86_LOADS(n, src) _Generic((src), struct x86_mem: x86_##n##_rm, default: x86_##n##_rr)
#define x86_mov(a, dst, src) \
    _Generic((dst), struct x86_mem: x86_mov_mr, default: X86_LOADS(mov, src))(a, dst, src)
#define x86_mov32(a, dst, src) \
    _Generic((dst), struct x86_mem: x86_mov32_mr, default: x86_mov32_rm)(a, dst, src)
#define x86_cmp(a, x, y) \
    _Generic((x), struct x86_mem: x86_cmp_mr, default: X86_LOADS(cmp, y))(a, x, y)
#define x86_cmp32(a, x, y) X86_LOADS(cmp32, y)(a, x, y)
// clang-format on

// -- more than one row --

// The shortest form that preserves the flags.
static inline void x86_mov_imm(struct x86 *a, u32 reg, u64 imm)
{
    if (imm <= 0xffffffffu)
        x86_mov32_ri(a, reg, (u32)imm);
    else if ((u64)(s64)(s32)imm == imm)
        x86_mov_ri(a, reg, (u32)imm);
    else
        x86_mov64_ri(a, reg, imm);
}

static inline void x86_or(struct x86 *a, u32 reg, s32 imm)
{
    if (imm == (s8)imm)
        x86_or_ri8(a, reg, (u32)imm);
    else
        x86_or_ri(a, reg, (u32)imm);
}

// Data for a helper, or the client's own instruction.
static inline void x86_copy(struct x86 *a, const void *bytes, u32 n)
{
    if (LIKELY((u64)(a->end - a->p) >= n)) {
        for (u32 i = 0; i < n; i++)
            a->p[i] = ((const u8 *)bytes)[i];
        a->p += n;
    } else {
        a->full = true;
    }
}

// Padding that executes: the recommended long nops.
static inline void x86_nops(struct x86 *a, u32 n)
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

        x86_copy(a, nops[k - 1], k);
        n -= k;
    }
}

#endif
