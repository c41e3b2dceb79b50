// SPDX-License-Identifier: MIT
// CPUID and XGETBV by the table that `quern run` has made (share/spool.h), the time stamp counter
// by counted instructions, random numbers by a fixed sequence (emulate.h). Each is a block of its
// own which ends in the dispatcher: a few hundred cycles, as the processor itself takes for CPUID,
// and nothing in any other block.
#include "engine/run/emulate.h"

#include "engine/base/cpu.h"
#include "engine/base/mini.h"
#include "engine/base/safemem.h"
#include "engine/count/ticks.h"
#include "engine/spool/spooler.h"
#include "engine/x86/decode.h"

#include <Zydis/Zydis.h>

static u32 emulated; // enum decode_emulated

void emulate_init(void)
{
    emulated =
        (spool->cpu.leaves ? DECODE_CPUID : 0) | (spool->flags & SPOOL_F_COUNTED ? DECODE_TIME : 0);
    decode_emulate(emulated);
}

static void set_eax_edx(struct thread *t, u64 value)
{
    t->regs[R_RAX] = (u32)value;
    t->regs[R_RDX] = value >> 32;
}

static void do_cpuid(struct thread *t)
{
    u32 leaf = (u32)t->regs[R_RAX], sub = (u32)t->regs[R_RCX];
    struct spool_cpuid r = { 0 };

    for (u32 i = 0; i < spool->cpu.leaves && i < SPOOL_CPUID_MAX; i++) {
        const struct spool_cpuid *l = &spool->cpu.leaf[i];

        if (l->leaf == leaf && (l->sub == sub || l->sub == SPOOL_CPUID_ANY)) {
            r = *l;
            break;
        }
    }
    t->regs[R_RAX] = r.a;
    t->regs[R_RBX] = r.b;
    t->regs[R_RCX] = r.c;
    t->regs[R_RDX] = r.d;
}

// XCR0, or which of its states are in use; false: a fault, which is the processor's to raise.
static bool do_xgetbv(struct thread *t)
{
    u32 which = (u32)t->regs[R_RCX], lo = 0, hi = 0;

    if (which > 1 || !cpu.xsave)
        return false;
    if (which == 1) {
        if (!cpu_set_has(&spool->cpu.features, CPU_XGETBV1))
            return false;
        __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(1));
        set_eax_edx(t, ((u64)hi << 32 | lo) & spool->cpu.xcr0);
        return true;
    }
    set_eax_edx(t, spool->cpu.xcr0 ? spool->cpu.xcr0 : 3);
    return true;
}

static void put(struct thread *t, const struct insn *in, u64 value)
{
    u64 *reg = &t->regs[in->ireg];

    if (in->str_size == 2)
        *reg = (*reg & ~0xfffful) | (value & 0xffff);
    else
        *reg = in->str_size == 4 ? (u32)value : value;
}

static bool execute(struct thread *t, const struct insn *in)
{
    switch ((int)in->mnemonic) {
    case ZYDIS_MNEMONIC_CPUID: do_cpuid(t); return true;
    case ZYDIS_MNEMONIC_XGETBV: return do_xgetbv(t);
    case ZYDIS_MNEMONIC_RDTSCP: t->regs[R_RCX] = 0; // fall through
    case ZYDIS_MNEMONIC_RDTSC: set_eax_edx(t, ticks_now(t)); return true;
    case ZYDIS_MNEMONIC_RDPID: t->regs[in->ireg] = 0; return true;
    default: // rdrand, rdseed: there is always one
        put(t, in, ticks_random(t));
        t->rflags = (t->rflags & ~(u64)FLAGS_ARITH) | FLAG_CF;
        return true;
    }
}

static bool is_emulated(const struct insn *in)
{
    switch ((int)in->mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_XGETBV: return emulated & DECODE_CPUID;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED: return emulated & DECODE_TIME;
    default: return false;
    }
}

bool emulate_insn(struct thread *t)
{
    u8 code[16];
    struct insn in;
    u64 got;
    int len;

    if (!emulated)
        return false;
    got = safe_read_some(code, t->pc, 15);
    len = decode_insn(&in, t->pc, code, (u32)got, false);
    if (len <= 0 || in.kind != INSN_STEP || !is_emulated(&in) || !execute(t, &in))
        return false;
    t->pc += (u64)len;
    t->rflags &= ~FLAG_RF;
    return true;
}
