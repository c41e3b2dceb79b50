// SPDX-License-Identifier: MIT
// Classic BPF as seccomp uses it: a program of at most 4096 instructions that reads the 64 bytes of
// a struct k_seccomp_data and returns an action. Pure: no system calls, no memory but its
// arguments; the unit test compiles this file as it is.

#include "engine/process/seccomp_bpf.h"

#include "engine/base/sys.h"

#define BPF_CLASS(code) ((code)&0x07)
#define BPF_LD          0x00
#define BPF_LDX         0x01
#define BPF_ST          0x02
#define BPF_STX         0x03
#define BPF_ALU         0x04
#define BPF_JMP         0x05
#define BPF_RET         0x06
#define BPF_MISC        0x07

#define BPF_W   0x00
#define BPF_IMM 0x00
#define BPF_ABS 0x20
#define BPF_MEM 0x60
#define BPF_LEN 0x80

#define BPF_X 0x08
#define BPF_A 0x10

#define BPF_TAX 0x00
#define BPF_TXA 0x80

#define BPF_MEMWORDS 16

enum {
    ADD = 0x00,
    SUB = 0x10,
    MUL = 0x20,
    DIV = 0x30,
    OR = 0x40,
    AND = 0x50,
    LSH = 0x60,
    RSH = 0x70,
    NEG = 0x80,
    XOR = 0xa0
};
enum { JA = 0x00, JEQ = 0x10, JGT = 0x20, JGE = 0x30, JSET = 0x40 };

static bool alu_is_valid(const struct k_bpf_insn *p)
{
    switch (p->code & 0xf0) {
    case ADD:
    case SUB:
    case MUL:
    case OR:
    case AND:
    case XOR: return true;
    case DIV: return (p->code & BPF_X) || p->k != 0;
    case LSH:
    case RSH: return (p->code & BPF_X) || p->k < 32;
    case NEG: return !(p->code & BPF_X);
    default: return false;
    }
}

int seccomp_validate(const struct k_bpf_insn *p, u32 n)
{
    if (n == 0 || n > SECCOMP_MAX_INSNS)
        return -EINVAL;
    for (u32 i = 0; i < n; i++) {
        const struct k_bpf_insn *in = &p[i];
        u32 left = n - i - 1; // instructions behind this one
        bool ok = false;

        switch (BPF_CLASS(in->code)) {
        case BPF_LD:
            if (in->code == (BPF_LD | BPF_W | BPF_ABS))
                ok = in->k < sizeof(struct k_seccomp_data) && in->k % 4 == 0;
            else if (in->code == (BPF_LD | BPF_MEM))
                ok = in->k < BPF_MEMWORDS;
            else
                ok = in->code == (BPF_LD | BPF_IMM) || in->code == (BPF_LD | BPF_W | BPF_LEN);
            break;
        case BPF_LDX:
            if (in->code == (BPF_LDX | BPF_MEM))
                ok = in->k < BPF_MEMWORDS;
            else
                ok = in->code == (BPF_LDX | BPF_IMM) || in->code == (BPF_LDX | BPF_W | BPF_LEN);
            break;
        case BPF_ST: ok = in->code == BPF_ST && in->k < BPF_MEMWORDS; break;
        case BPF_STX: ok = in->code == BPF_STX && in->k < BPF_MEMWORDS; break;
        case BPF_ALU: ok = alu_is_valid(in); break;
        case BPF_JMP:
            switch (in->code & 0xf0) {
            case JA: ok = !(in->code & BPF_X) && in->k < left; break;
            case JEQ:
            case JGT:
            case JGE:
            case JSET: ok = in->jt < left && in->jf < left; break;
            default: break;
            }
            break;
        case BPF_RET: ok = in->code == BPF_RET || in->code == (BPF_RET | BPF_A); break;
        case BPF_MISC:
            ok = in->code == (BPF_MISC | BPF_TAX) || in->code == (BPF_MISC | BPF_TXA);
            break;
        default: break;
        }
        if (!ok)
            return -EINVAL;
    }
    return BPF_CLASS(p[n - 1].code) == BPF_RET ? 0 : -EINVAL;
}

static u32 alu(u32 op, u32 a, u32 b)
{
    switch (op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return b ? a / b : 0;
    case OR: return a | b;
    case AND: return a & b;
    case XOR: return a ^ b;
    case LSH: return a << (b & 31);
    case RSH: return a >> (b & 31);
    default: return 0u - a; // NEG
    }
}

static bool jump(u32 op, u32 a, u32 b)
{
    switch (op) {
    case JEQ: return a == b;
    case JGT: return a > b;
    case JGE: return a >= b;
    default: return (a & b) != 0; // JSET
    }
}

u32 seccomp_run(const struct k_bpf_insn *p, u32 n, const struct k_seccomp_data *d)
{
    const u32 *words = (const u32 *)d;
    u32 a = 0, x = 0, mem[BPF_MEMWORDS] = { 0 };

    for (u32 i = 0; i < n; i++) {
        const struct k_bpf_insn *in = &p[i];
        u32 operand = in->code & BPF_X ? x : in->k;

        switch (BPF_CLASS(in->code)) {
        case BPF_LD:
            if ((in->code & 0xe0) == BPF_ABS)
                a = words[in->k / 4];
            else if ((in->code & 0xe0) == BPF_MEM)
                a = mem[in->k];
            else
                a = (in->code & 0xe0) == BPF_LEN ? (u32)sizeof(*d) : in->k;
            break;
        case BPF_LDX:
            if ((in->code & 0xe0) == BPF_MEM)
                x = mem[in->k];
            else
                x = (in->code & 0xe0) == BPF_LEN ? (u32)sizeof(*d) : in->k;
            break;
        case BPF_ST: mem[in->k] = a; break;
        case BPF_STX: mem[in->k] = x; break;
        case BPF_ALU:
            // A division by a zero X ends the program, as in the kernel, with 0 (kill).
            if ((in->code & 0xf0) == DIV && operand == 0)
                return 0;
            a = alu(in->code & 0xf0, a, operand);
            break;
        case BPF_JMP:
            if ((in->code & 0xf0) == JA)
                i += in->k;
            else
                i += jump(in->code & 0xf0, a, operand) ? in->jt : in->jf;
            break;
        case BPF_RET: return in->code & BPF_A ? a : in->k;
        default:
            if ((in->code & 0xf8) == BPF_TXA)
                a = x;
            else
                x = a;
            break;
        }
    }
    return 0;
}

static u32 kernel_jump(const struct k_bpf_insn *p)
{
    u32 op = p->code & 0xf0, n = 1;

    if (op == JA)
        return 1;
    if (!(p->code & BPF_X) && (s32)p->k < 0)
        n++; // constants in the kernel's converted code are signed
    if (p->jf == 0 || (p->jt == 0 && op != JSET))
        return n;
    return n + 1; // a jump for each outcome
}

u32 seccomp_kernel_length(const struct k_bpf_insn *p, u32 n)
{
    u32 total = 3; // clears A and X, saves the context

    for (u32 i = 0; i < n; i++) {
        switch (BPF_CLASS(p[i].code)) {
        case BPF_JMP: total += kernel_jump(&p[i]); break;
        case BPF_RET: total += p[i].code & BPF_A ? 1 : 2; break;
        case BPF_ALU: total += (p[i].code & 0xf8) == (DIV | BPF_X) ? 5 : 1; break;
        default: total++; break;
        }
    }
    return total;
}
