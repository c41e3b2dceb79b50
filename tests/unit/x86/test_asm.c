// SPDX-License-Identifier: MIT
// engine/x86/asm.h against Zydis' decoder: every row of asm.def, with every register in each
// operand, every base, index, scale and size of displacement, decodes to the row's mnemonic, its
// width, exactly the given operands, and the length that was written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "engine/x86/asm.h"

static ZydisDecoder decoder;
static u8 code[64];

// The operands for a row.
struct given {
    u32 reg, rm;
    struct x86_mem m;
    u64 imm;
};

// clang-format off
#define CALL_RR(n)       x86_##n(a, g->rm, g->reg)
#define CALL_GR(n)       x86_##n(a, g->reg, g->rm)
#define CALL_GM(n)       x86_##n(a, g->reg, g->m)
#define CALL_RM(n)       x86_##n(a, g->reg, g->m)
#define CALL_MR(n)       x86_##n(a, g->m, g->reg)
#define CALL_R(n)        x86_##n(a, g->rm)
#define CALL_M(n)        x86_##n(a, g->m)
#define CALL_RI(n)       x86_##n(a, g->rm, (u32)g->imm)
#define CALL_RI8(n)      x86_##n(a, g->rm, (u32)g->imm)
#define CALL_MI(n)       x86_##n(a, g->m, (u32)g->imm)
#define CALL_MI8(n)      x86_##n(a, g->m, (u32)g->imm)
#define CALL_O(n)        x86_##n(a, g->rm)
#define CALL_OI(n)       x86_##n(a, g->rm, (u32)g->imm)
#define CALL_OI64(n)     x86_##n(a, g->rm, g->imm)
#define CALL_I(n)        x86_##n(a, (u32)g->imm)
#define CALL_I8(n)       x86_##n(a, (u32)g->imm)
#define CALL_N(n)        x86_##n(a)
#define CALL_J(n)        x86_fix(a, x86_##n(a), g->imm)
#define CALL_J8(n)       x86_fix(a, x86_##n(a), g->imm)
#define CALL_CC(n)       x86_fix(a, x86_##n(a, g->rm), g->imm)
#define CALL_CC8(n)      x86_fix(a, x86_##n(a, g->rm), g->imm)
#define CALL_RJ(n)       x86_fix(a, x86_##n(a, g->reg), g->imm)
#define CALL_PJ(n)       x86_fix(a, x86_##n(a), g->imm)
#define CALL_XJ(n)       x86_fix(a, x86_##n(a), g->imm)
#define CALL_XI8(n)      x86_##n(a, (u32)g->imm)
#define CALL_VEX_GRI8(n) x86_##n(a, g->reg, g->rm, (u32)g->imm)
#define CALL_VEX_GVR(n)  x86_##n(a, g->reg, g->rm, g->reg)
#define CALL_VEX_MY(n)   x86_##n(a, g->m, g->reg)
#define CALL_VEX_MK(n)   x86_##n(a, g->m, g->reg)
#define CALL_EVEX_MZ(n)  x86_##n(a, g->m, g->reg)

#define X86(name, mnemonic, width, opcode, digit, form) \
    static void call_##name(struct x86 *a, const struct given *g) { (void)g; CALL_##form(name); }
#include "engine/x86/asm.def"
#undef X86

enum form {
    RR, GR, GM, RM, MR, R, M, RI, RI8, MI, MI8, O, OI, OI64, I, I8, N, J, J8, CC, CC8, RJ, PJ, XJ,
    XI8, VEX_GRI8, VEX_GVR, VEX_MY, VEX_MK, EVEX_MZ,
};
// clang-format on

#define WIDTH_8   8
#define WIDTH_16  16
#define WIDTH_32  32
#define WIDTH_64  64
#define WIDTH_D64 64
#define WIDTH_256 256
#define WIDTH_512 512

static const struct row {
    const char *name;
    ZydisMnemonic mnemonic;
    u32 width, digit;
    enum form form;
    void (*call)(struct x86 *a, const struct given *g);
} rows[] = {
#define X86(name, mnemonic, width, opcode, digit, form) \
    { #name, ZYDIS_MNEMONIC_##mnemonic, WIDTH_##width, digit, form, call_##name },
#include "engine/x86/asm.def"
#undef X86
};

// The mnemonics of jcc in the order of the condition's number.
static const ZydisMnemonic jcc[16] = {
    ZYDIS_MNEMONIC_JO, ZYDIS_MNEMONIC_JNO, ZYDIS_MNEMONIC_JB,  ZYDIS_MNEMONIC_JNB,
    ZYDIS_MNEMONIC_JZ, ZYDIS_MNEMONIC_JNZ, ZYDIS_MNEMONIC_JBE, ZYDIS_MNEMONIC_JNBE,
    ZYDIS_MNEMONIC_JS, ZYDIS_MNEMONIC_JNS, ZYDIS_MNEMONIC_JP,  ZYDIS_MNEMONIC_JNP,
    ZYDIS_MNEMONIC_JL, ZYDIS_MNEMONIC_JNL, ZYDIS_MNEMONIC_JLE, ZYDIS_MNEMONIC_JNLE,
};

static struct x86 buffer(void)
{
    struct x86 a = { code, code, code + sizeof(code), false };

    return a;
}

static ZydisRegister gpr(u32 width, u32 n)
{
    switch (width) {
    case 8: return (ZydisRegister)(n < 4 ? ZYDIS_REGISTER_AL + n : ZYDIS_REGISTER_SPL + n - 4);
    case 16: return (ZydisRegister)(ZYDIS_REGISTER_AX + n);
    case 32: return (ZydisRegister)(ZYDIS_REGISTER_EAX + n);
    default: return (ZydisRegister)(ZYDIS_REGISTER_RAX + n);
    }
}

static const char *row_name;

#define HOLDS(cond)                              \
    do {                                         \
        if (!(cond))                             \
            fail_msg("%s: %s", row_name, #cond); \
    } while (0)

static void is_reg(const ZydisDecodedOperand *op, ZydisRegister r)
{
    HOLDS(op->type == ZYDIS_OPERAND_TYPE_REGISTER);
    HOLDS(op->reg.value == r);
}

static void is_mem(const ZydisDecodedOperand *op, const struct x86_mem *m, u32 width)
{
    u32 aw = m->a32 ? 32 : 64;
    ZydisRegister base = m->base == REG_NONE ? ZYDIS_REGISTER_NONE : gpr(aw, m->base);
    ZydisRegister index = m->index == REG_NONE ? ZYDIS_REGISTER_NONE : gpr(aw, m->index);

    HOLDS(op->type == ZYDIS_OPERAND_TYPE_MEMORY);
    HOLDS(op->mem.base == base);
    HOLDS(op->mem.index == index);
    HOLDS(index == ZYDIS_REGISTER_NONE || op->mem.scale == 1u << m->scale);
    HOLDS(op->mem.disp.value == m->disp);
    if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
        return;
    HOLDS((op->mem.segment == ZYDIS_REGISTER_GS) == m->gs);
    HOLDS(op->mem.segment != ZYDIS_REGISTER_FS);
    HOLDS(op->size == width);
}

static void is_imm(const ZydisDecodedOperand *op, u32 bits, u64 imm)
{
    u64 want = bits == 64 ? imm : imm & ((1ul << bits) - 1);

    HOLDS(op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
    if (op->imm.is_signed)
        want = (u64)((s64)(want << (64 - bits)) >> (64 - bits));
    HOLDS(op->imm.value.u == want);
}

// A relative operand, resolved.
static void is_target(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, u64 target)
{
    HOLDS(op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op->imm.is_relative);
    HOLDS((u64)code + zi->length + op->imm.value.u == target);
}

static void is_rip(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op, u64 target)
{
    HOLDS(op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.base == ZYDIS_REGISTER_RIP);
    HOLDS(op->mem.index == ZYDIS_REGISTER_NONE);
    HOLDS((u64)code + zi->length + (u64)op->mem.disp.value == target);
}

static bool has_mem(enum form f)
{
    return f == RM || f == GM || f == MR || f == M || f == MI || f == MI8 || f == VEX_MY ||
           f == VEX_MK || f == EVEX_MZ;
}

// The operands, from left to right: M memory, R and G the two registers, i and I an immediate of 8
// bits and of the row's width (at most 32, except OI64), T a relative target, P rip.
static const char *operands(enum form f)
{
    static const char *const of[] = {
        [RR] = "RG",        [GR] = "GS",       [GM] = "Gm",     [RM] = "GM",     [MR] = "MG",
        [R] = "R",          [M] = "M",         [RI] = "RI",     [RI8] = "Ri",    [MI] = "MI",
        [MI8] = "Mi",       [O] = "R",         [OI] = "RI",     [OI64] = "RI",   [I] = "4",
        [I8] = "ai",        [N] = "",          [J] = "T",       [J8] = "T",      [CC] = "T",
        [CC8] = "T",        [RJ] = "GP",       [PJ] = "P",      [XJ] = "T",      [XI8] = "i",
        [VEX_GRI8] = "GRi", [VEX_GVR] = "GRG", [VEX_MY] = "MY", [VEX_MK] = "MK", [EVEX_MZ] = "M0Z",
    };

    return of[f];
}

static void is_operand(const struct row *r, const struct given *g, char what,
                       const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *op)
{
    u32 w = r->width;

    switch (what) {
    case 'R': is_reg(op, gpr(w, g->rm)); break;
    case 'G': is_reg(op, gpr(w, g->reg)); break;
    case 'S': is_reg(op, gpr(r->digit, g->rm)); break;
    case 'a': is_reg(op, ZYDIS_REGISTER_AL); break;
    case 'Y': is_reg(op, (ZydisRegister)(ZYDIS_REGISTER_YMM0 + g->reg)); break;
    case 'K': is_reg(op, (ZydisRegister)(ZYDIS_REGISTER_K0 + g->reg)); break;
    case '0': is_reg(op, ZYDIS_REGISTER_K0); break; // no mask
    case 'Z': is_reg(op, (ZydisRegister)(ZYDIS_REGISTER_ZMM0 + g->reg)); break;
    case 'M': is_mem(op, &g->m, w); break;
    case 'm': is_mem(op, &g->m, r->digit); break;
    case 'i': is_imm(op, 8, g->imm); break;
    case 'I': is_imm(op, r->form == OI64 || w <= 32 ? w : 32, g->imm); break;
    case '4': is_imm(op, 32, g->imm); break;
    case 'T': is_target(zi, op, g->imm); break;
    default: is_rip(zi, op, g->imm); break;
    }
}

static void one(const struct row *r, const struct given *g)
{
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    struct x86 a = buffer();
    bool cc = r->form == CC || r->form == CC8;
    const char *what = operands(r->form);

    row_name = r->name;
    r->call(&a, g);
    HOLDS(!a.full);
    HOLDS(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, (u64)(a.p - code), &zi, op)));
    HOLDS(zi.length == (u64)(a.p - code));
    HOLDS(zi.mnemonic == (cc ? jcc[g->rm] : r->mnemonic));
    HOLDS(zi.operand_count_visible == strlen(what));
    for (u32 n = 0; what[n]; n++)
        is_operand(r, g, what[n], &zi, &op[n]);
}

// Every base or none, every index or none, every scale, displacements of each size and at their
// limits.
static void test_memory(void **state)
{
    static const s32 disp[] = { 0, 1, -128, 127, 128, -129, INT32_MAX, INT32_MIN };
    struct given g = { .imm = 0x5a };

    (void)state;
    for (u32 k = 0; k < ARRAY_SIZE(rows); k++) {
        const struct row *r = &rows[k];
        u32 regs = r->form == EVEX_MZ                 ? 32
                   : r->form == VEX_MK                ? 8
                   : strpbrk(operands(r->form), "GY") ? 16
                                                      : 1;

        if (!has_mem(r->form))
            continue;
        for (u32 at = 0; at < 17 * 16 * 4 * ARRAY_SIZE(disp); at++) {
            u32 base = at % 17, index = at / 17 % 16, scale = at / 17 / 16 % 4;

            if (index == R_RSP && scale) // means no index
                continue;
            g.m = x86_mem(base == 16 ? REG_NONE : base, index == R_RSP ? REG_NONE : index, scale,
                          false, disp[at / 17 / 16 / 4]);
            for (g.reg = 0; g.reg < regs; g.reg++)
                one(r, &g);
            g.reg = at % regs;
            g.m.gs = true;
            one(r, &g);
            g.m.gs = false;
            g.m.a32 = true;
            one(r, &g);
        }
    }
}

static void test_registers(void **state)
{
    static const u64 imm[] = { 0,          1,          0x7f,
                               0x80,       0xff,       0x7fffffff,
                               0x80000000, 0xffffffff, 0x123456789abcdef0 };
    struct given g = { .imm = 0 };

    (void)state;
    for (u32 k = 0; k < ARRAY_SIZE(rows); k++) {
        enum form f = rows[k].form;

        if (has_mem(f) || strpbrk(operands(f), "TP"))
            continue;
        for (u32 at = 0; at < 256 * ARRAY_SIZE(imm); at++) {
            g.reg = at % 16;
            g.rm = at / 16 % 16;
            g.imm = imm[at / 256];
            one(&rows[k], &g);
        }
    }
}

// Jumps and rip-relative operands, up to the limits of their reach.
static void test_labels(void **state)
{
    static const s64 short_way[] = { 0, 1, -1, 127, -128 };
    static const s64 long_way[] = { 0, 127, 128, -129, 0x7fffffff, -0x80000000l };
    struct given g = { .imm = 0 };

    (void)state;
    for (u32 k = 0; k < ARRAY_SIZE(rows); k++) {
        const struct row *r = &rows[k];
        bool is_short = r->form == J8 || r->form == CC8;
        bool six = r->form == CC || r->form == XJ || r->form == PJ;
        u64 behind = (u64)code + (r->form == RJ ? 7 : six ? 6 : is_short ? 2 : 5);

        if (!strpbrk(operands(r->form), "TP"))
            continue;
        for (u32 reg = 0; reg < 16; reg++) {
            g.reg = g.rm = reg;
            for (u32 i = 0; is_short && i < ARRAY_SIZE(short_way); i++) {
                g.imm = behind + (u64)short_way[i];
                one(r, &g);
            }
            for (u32 i = 0; !is_short && i < ARRAY_SIZE(long_way); i++) {
                g.imm = behind + (u64)long_way[i];
                one(r, &g);
            }
        }
        for (s64 too_far = -129; is_short && too_far <= 128; too_far += 257) {
            struct x86 a = buffer();

            g.imm = behind + (u64)too_far;
            r->call(&a, &g);
            assert_true(a.full);
        }
    }
}

static void test_land(void **state)
{
    struct x86 a = buffer();
    struct x86_label l = x86_jcc(&a, CC_NE), s;

    (void)state;
    assert_int_equal(l.at, 2);
    s = x86_jcc8(&a, CC_B);
    assert_int_equal(s.at, 7);
    x86_ret(&a);
    x86_land(&a, s);
    x86_land(&a, l);
    assert_memory_equal(code, "\x0f\x85\x03\x00\x00\x00\x72\x01\xc3", 9);
    assert_true(x86_here(&a) == (u64)code + 9);
}

// Where less space is left than for the longest instruction, nothing is written.
static void test_full(void **state)
{
    (void)state;
    for (u32 room = 0; room <= X86_MAX; room++) {
        struct x86 a = { code, code, code + room, false };

        memset(code, 0xcc, sizeof(code));
        x86_ret(&a);
        assert_int_equal(a.full, room < X86_MAX);
        assert_int_equal(a.p - code, room < X86_MAX ? 0 : 1);
        assert_int_equal(code[0], room < X86_MAX ? 0xcc : 0xc3);
        x86_land(&a, x86_jmp(&a));
        assert_true(a.full);
        for (u32 i = 1; i < sizeof(code); i++)
            assert_int_equal(code[i], 0xcc);
    }
    struct x86 a = { code, code, code + 4, false };

    x86_copy(&a, "abcd", 4);
    assert_false(a.full);
    x86_copy(&a, "e", 1);
    assert_true(a.full);
    assert_int_equal(a.p - code, 4);
}

// By hand: b8+r imm32 (41 before it from r8 on), REX.W c7 simm32, REX.W b8+r imm64.
static void test_shortest(void **state)
{
    static const struct {
        u64 imm;
        u32 edi, r8;
    } len[] = {
        { 0, 5, 6 },
        { 0xffffffff, 5, 6 },
        { 0x100000000, 10, 10 },
        { 0xffffffff80000000, 7, 7 },
        { 0xffffffff7fffffff, 10, 10 },
        { ~0ul, 7, 7 },
    };
    struct x86 a;

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(len); i++) {
        a = buffer();
        x86_mov_imm(&a, R_RDI, len[i].imm);
        assert_int_equal(a.p - code, len[i].edi);
        a = buffer();
        x86_mov_imm(&a, 8, len[i].imm);
        assert_int_equal(a.p - code, len[i].r8);
    }
    a = buffer();
    x86_or(&a, R_RDX, 63);
    x86_or(&a, R_RDX, 255);
    assert_memory_equal(code, "\x48\x83\xca\x3f\x48\x81\xca\xff\x00\x00\x00", 11);
    a = buffer(); // opcode and modrm, and a displacement of 0, 1, 1, 4 bytes
    x86_inc8_m(&a, MEM(R_RBX, 0));
    x86_inc8_m(&a, MEM(R_RBX, 127));
    x86_inc8_m(&a, MEM(R_RBX, -128));
    x86_inc8_m(&a, MEM(R_RBX, 128));
    assert_int_equal(a.p - code, 2 + 3 + 3 + 6);
}

static void test_nops(void **state)
{
    (void)state;
    for (u32 n = 0; n <= 40; n++) {
        struct x86 a = buffer();
        u32 at = 0, count = 0;

        x86_nops(&a, n);
        assert_int_equal(a.p - code, n);
        for (; at < n; count++) {
            ZydisDecodedInstruction zi;

            assert_true(ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, n - at, &zi)));
            assert_int_equal(zi.mnemonic, ZYDIS_MNEMONIC_NOP);
            at += zi.length;
        }
        assert_int_equal(at, n);
        assert_int_equal(count, (n + 8) / 9); // none is longer than 9
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_labels), cmocka_unit_test(test_land),
        cmocka_unit_test(test_full),   cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_nops),
    };

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
