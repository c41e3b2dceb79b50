// SPDX-License-Identifier: MIT
// Flags that the manuals leave undefined. Every processor gives them some value, and the client
// must see that value. If it depends on the old value of the flag, instrumentation has to save the
// flags, and the most common instructions (and, or, xor, test, shifts) leave AF undefined. So this
// tests the processor once at start: each instruction runs with all flags set and with all clear,
// on many operands, including extremes. A flag with equal results each time does not depend on its
// old value. Called only by decode.c.
#include "engine/x86/decode_flags.h"

#include "engine/x86/regs.h"

enum probe { LOGIC, SHL, SHR, SAR, IMUL, MUL, BT, BSF, BSR, TZCNT, LZCNT, ANDN, BLSR, PROBES };

static u16 independent[PROBES];

// in: flags before, out: flags after; a is the destination, b the other operand
#define RUN(text)                                                              \
    __asm__ volatile("push %[in]\n\tpopfq\n\t" text "\n\tpushfq\n\tpop %[out]" \
                     : [out] "=&r"(out), [a] "+&r"(a)                          \
                     : [in] "r"(in), [b] "r"(b)                                \
                     : "cc", "memory", "rax", "rdx")

static u64 run(enum probe which, u32 variant, u64 in, u64 a, u64 b)
{
    u64 out = 0;

    switch ((u32)which * 4 + variant) {
    case LOGIC * 4 + 0: RUN("and %[b], %[a]"); break;
    case LOGIC * 4 + 1: RUN("or %k[b], %k[a]"); break;
    case LOGIC * 4 + 2: RUN("xor %[b], %[a]"); break;
    case LOGIC * 4 + 3: RUN("test %b[b], %b[a]"); break;
    case SHL * 4 + 0: RUN("shl $1, %[a]"); break;
    case SHL * 4 + 1: RUN("shl $3, %k[a]"); break;
    case SHL * 4 + 2: RUN("shl $31, %k[a]"); break;
    case SHL * 4 + 3: RUN("shl $63, %[a]"); break;
    case SHR * 4 + 0: RUN("shr $1, %[a]"); break;
    case SHR * 4 + 1: RUN("shr $3, %k[a]"); break;
    case SHR * 4 + 2: RUN("shr $31, %k[a]"); break;
    case SHR * 4 + 3: RUN("shr $63, %[a]"); break;
    case SAR * 4 + 0: RUN("sar $1, %[a]"); break;
    case SAR * 4 + 1: RUN("sar $3, %k[a]"); break;
    case SAR * 4 + 2: RUN("sar $31, %k[a]"); break;
    case SAR * 4 + 3: RUN("sar $63, %[a]"); break;
    case IMUL * 4 + 0: RUN("imul %[b], %[a]"); break;
    case IMUL * 4 + 1: RUN("imul %k[b], %k[a]"); break;
    case IMUL * 4 + 2: RUN("imul $77, %[b], %[a]"); break;
    case IMUL * 4 + 3: RUN("mov %[a], %%rax\n\timul %[b]"); break;
    case MUL * 4 + 0: RUN("mov %[a], %%rax\n\tmul %[b]"); break;
    case MUL * 4 + 1: RUN("mov %k[a], %%eax\n\tmul %k[b]"); break;
    case BT * 4 + 0: RUN("bt %[b], %[a]"); break;
    case BT * 4 + 1: RUN("bt $5, %k[a]"); break;
    case BT * 4 + 2: RUN("bts %k[b], %k[a]"); break;
    case BT * 4 + 3: RUN("btr $40, %[a]"); break;
    case BSF * 4 + 0: RUN("bsf %[b], %[a]"); break;
    case BSF * 4 + 1: RUN("bsf %k[b], %k[a]"); break;
    case BSR * 4 + 0: RUN("bsr %[b], %[a]"); break;
    case BSR * 4 + 1: RUN("bsr %k[b], %k[a]"); break;
    case TZCNT * 4 + 0: RUN("tzcnt %[b], %[a]"); break;
    case TZCNT * 4 + 1: RUN("tzcnt %k[b], %k[a]"); break;
    case LZCNT * 4 + 0: RUN("lzcnt %[b], %[a]"); break;
    case LZCNT * 4 + 1: RUN("lzcnt %k[b], %k[a]"); break;
    case ANDN * 4 + 0: RUN("andn %[b], %[a], %[a]"); break;
    case ANDN * 4 + 1: RUN("andn %k[b], %k[a], %k[a]"); break;
    case BLSR * 4 + 0: RUN("blsr %[b], %[a]"); break;
    case BLSR * 4 + 1: RUN("blsi %[b], %[a]"); break;
    case BLSR * 4 + 2: RUN("blsmsk %k[b], %k[a]"); break;
    default: return run(which, 0, in, a, b);
    }
    return out;
}

void decode_flags_init(bool bmi1, bool lzcnt)
{
    static const u64 value[] = { 0, 1, ~0ul, 1ul << 63, 0x7fffffff80000010, 0x8000000f };

    for (u32 p = 0; p < PROBES; p++) {
        u64 same = FLAGS_ARITH;

        if (((p == TZCNT || p == ANDN || p == BLSR) && !bmi1) || (p == LZCNT && !lzcnt))
            continue; // without them tzcnt is bsf, with a result of its own
        for (u32 i = 0; i < ARRAY_SIZE(value) * ARRAY_SIZE(value); i++) {
            u64 a = value[i % ARRAY_SIZE(value)], b = value[i / ARRAY_SIZE(value)];

            for (u32 v = 0; v < 4; v++)
                same &= ~(run(p, v, 0x202 | FLAGS_ARITH, a, b) ^ run(p, v, 0x202, a, b));
        }
        independent[p] = (u16)same;
    }
}

u32 decode_flags_independent(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST: return independent[LOGIC];
    case ZYDIS_MNEMONIC_SHL: return independent[SHL];
    case ZYDIS_MNEMONIC_SHR: return independent[SHR];
    case ZYDIS_MNEMONIC_SAR: return independent[SAR];
    case ZYDIS_MNEMONIC_IMUL: return independent[IMUL];
    case ZYDIS_MNEMONIC_MUL: return independent[MUL];
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC: return independent[BT];
    case ZYDIS_MNEMONIC_BSF: return independent[BSF];
    case ZYDIS_MNEMONIC_BSR: return independent[BSR];
    case ZYDIS_MNEMONIC_TZCNT: return independent[TZCNT];
    case ZYDIS_MNEMONIC_LZCNT: return independent[LZCNT];
    case ZYDIS_MNEMONIC_ANDN: return independent[ANDN];
    case ZYDIS_MNEMONIC_BLSR:
    case ZYDIS_MNEMONIC_BLSI:
    case ZYDIS_MNEMONIC_BLSMSK: return independent[BLSR];
    default: return 0;
    }
}
