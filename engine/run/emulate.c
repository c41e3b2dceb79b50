// SPDX-License-Identifier: MIT
// CPUID and XGETBV answer from the table that `quern run` has made (share/spool.h), the time stamp
// counter from counted instructions, random numbers from a fixed sequence (emulate.h). Each is a
// block of its own that ends in the dispatcher: a few hundred cycles, as the processor itself takes
// for CPUID; other blocks pay nothing.
#include "engine/run/emulate.h"

#include "engine/base/clientmem.h"
#include "engine/base/cpu.h"
#include "engine/base/nolibc.h"
#include "engine/count/vtsc.h"
#include "engine/signal/frame.h"
#include "engine/spool/spooler.h"
#include "engine/thread/selector.h"
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

// XCR0, or which of its states are in use; false: it faults, and the processor has to raise that.
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
    case ZYDIS_MNEMONIC_RDTSC: set_eax_edx(t, vtsc_now(t)); return true;
    case ZYDIS_MNEMONIC_RDPID: t->regs[in->ireg] = 0; return true;
    default: // rdrand, rdseed: a number is always available
        put(t, in, vtsc_random(t));
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

// ---- The client's selector in %gs ----

static u8 rex_of(const struct insn *in)
{
    u8 last = in->prefix_len ? in->bytes[in->prefix_len - 1] : 0;

    return (last & 0xf0) == 0x40 ? last : 0;
}

// Address of the memory operand of an instruction with a modrm byte and no segment prefix.
static u64 operand(const struct thread *t, const struct insn *in)
{
    const u8 *at = in->bytes + in->modrm_off;
    u8 rex = rex_of(in), mod = *at >> 6, base = *at & 7, index = 4, scale = 0;
    u64 sum = 0;
    s32 disp = 0;

    if (base == 4) {
        at++;
        base = *at & 7;
        index = (*at >> 3 & 7) | (rex & 2 ? 8 : 0);
        scale = *at >> 6;
    }
    if (in->disp_size == 1)
        disp = (s8)in->bytes[in->disp_off];
    else if (in->disp_size == 4)
        memcpy(&disp, in->bytes + in->disp_off, 4);
    if (in->flags & INSN_F_RIPREL)
        sum = in->pc + in->len;
    else if (mod != 0 || base != 5)
        sum = t->regs[base | (rex & 1 ? 8 : 0)];
    if (index != 4)
        sum += t->regs[index] << scale;
    sum += (u64)(s64)disp;
    return in->flags & INSN_F_A32 ? (u32)sum : sum;
}

static bool has_prefix(const struct insn *in, u8 prefix)
{
    for (u32 i = 0; i < in->prefix_len; i++)
        if (in->bytes[i] == prefix)
            return true;
    return false;
}

static u32 rm(const struct insn *in, const u8 *modrm)
{
    return (*modrm & 7) | (rex_of(in) & 1 ? 8u : 0);
}

// Reads the selector into a register, or loads one. Emulated because the processor clears the lower
// two bits of a null selector at the next interrupt, and the trap after a single step would be one.
// False: the processor refuses it, or it may fault otherwise; the processor executes it.
static bool do_selector(struct thread *t, const struct insn *in)
{
    const u8 *op = in->bytes + in->prefix_len;
    bool o16 = has_prefix(in, 0x66), far = in->flags & (INSN_F_SEG_FS | INSN_F_SEG_GS);
    u16 sel;

    if (op[0] == 0x8c && op[1] >> 6 == 3) {
        u64 *to = &t->regs[rm(in, op + 1)];

        *to = o16 ? (*to & ~0xfffful) | t->client_gs : t->client_gs;
        return true;
    }
    if (op[0] == 0x8e && op[1] >> 6 == 3)
        return selector_set(t, (u16)t->regs[rm(in, op + 1)]);
    if (op[0] == 0x8e)
        return !far && !clientmem_read(&sel, operand(t, in), sizeof(sel)) && selector_set(t, sel);
    if (op[0] == 0x0f && op[1] == 0xa9 && !clientmem_read(&sel, t->regs[R_RSP], sizeof(sel)) &&
        selector_set(t, sel)) {
        t->regs[R_RSP] += o16 ? 2 : 8;
        return true;
    }
    return false;
}

static bool is_selector(const struct insn *in)
{
    const u8 *op = in->bytes + in->prefix_len;

    if (in->encoding != INSN_LEGACY)
        return false;
    return ((op[0] == 0x8c || op[0] == 0x8e) && (op[1] >> 3 & 7) == 5) ||
           (op[0] == 0x0f && op[1] == 0xa9);
}

// ---- Branches that name the code segment ----
//
// Branches into the client's own 64-bit segment are executed here, iret also if it names the
// client's stack segment. All others, and what would fault, are left to the processor: then nothing
// is changed but memory below the stack pointer, to what the processor would write there, too.

#define FLAG_IF       0x200ul
#define FLAG_IOPL     0x3000ul
#define FLAG_NT       0x4000ul
#define FLAG_ID       0x200000ul
#define FLAG_ONE      2ul // always set
#define FLAGS_OF_IRET (FLAGS_ARITH | FLAG_DF | FLAG_AC | FLAG_ID)

static u16 code_segment(void)
{
    u32 cs;

    __asm__("mov %%cs, %0" : "=r"(cs));
    return (u16)cs;
}

// The client's: engine code does not change it.
static u16 stack_segment(void)
{
    u32 ss;

    __asm__ volatile("mov %%ss, %0" : "=r"(ss));
    return (u16)ss;
}

static bool is_here(u64 selector, u64 target)
{
    return (u16)selector == CS_USER64 && code_segment() == CS_USER64 && target < cpu_task_size();
}

// n words of `size` bytes, 4 or 8.
static bool far_read(u64 *word, u64 at, u32 n, u32 size)
{
    u32 half[10];

    if (clientmem_read(half, at, (u64)n * size))
        return false;
    for (u32 i = 0; i < n; i++)
        word[i] = size == 4 ? half[i] : (u64)half[2 * i + 1] << 32 | half[2 * i];
    return true;
}

static bool far_return(struct thread *t, const u8 *op, u32 size)
{
    u64 word[2];
    u16 more = 0;

    if (!far_read(word, t->regs[R_RSP], 2, size) || !is_here(word[1], word[0]))
        return false;
    if (op[0] == 0xca)
        memcpy(&more, op + 1, sizeof(more));
    t->regs[R_RSP] += 2 * size + more;
    t->pc = word[0];
    return true;
}

static bool interrupt_return(struct thread *t, u32 size)
{
    u64 word[5]; // rip, cs, rflags, rsp, ss

    if ((t->rflags & FLAG_NT) || !far_read(word, t->regs[R_RSP], 5, size) ||
        !is_here(word[1], word[0]) || (u16)word[4] != FRAME_SS || stack_segment() != FRAME_SS ||
        (word[2] & ~(FLAGS_OF_IRET | FLAG_IF | FLAG_IOPL | FLAG_ONE)))
        return false;
    t->rflags = (t->rflags & ~FLAGS_OF_IRET) | (word[2] & FLAGS_OF_IRET);
    t->regs[R_RSP] = word[3];
    t->pc = word[0];
    return true;
}

// AMD processors have no 64-bit offsets. What Intel processors push above the selector in a word of
// 32 bits is not documented.
static bool far_branch(struct thread *t, const struct insn *in, u32 size)
{
    bool is_call = (in->bytes[in->modrm_off] >> 3 & 7) == 3;
    u64 target = 0, back[2] = { in->pc + in->len, CS_USER64 };
    u32 half[2] = { (u32)back[0], CS_USER64 };
    u8 pointer[10];
    u16 selector;

    if ((in->flags & (INSN_F_SEG_FS | INSN_F_SEG_GS)) || (size == 8 && cpu.amd) ||
        clientmem_read(pointer, operand(t, in), size + sizeof(selector)))
        return false;
    memcpy(&target, pointer, size);
    memcpy(&selector, pointer + size, sizeof(selector));
    if (!is_here(selector, target))
        return false;
    if (is_call) {
        if ((size == 4 && !cpu.amd) ||
            clientmem_write(t->regs[R_RSP] - 2 * size, size == 4 ? (void *)half : back, 2 * size))
            return false;
        t->regs[R_RSP] -= 2 * size;
    }
    t->pc = target;
    return true;
}

static bool do_far(struct thread *t, const struct insn *in)
{
    const u8 *op = in->bytes + in->prefix_len;
    u32 size = rex_of(in) & 8 ? 8 : 4;

    if ((t->rflags & FLAG_AC) || has_prefix(in, 0x66))
        return false;
    switch (op[0]) {
    case 0xca:
    case 0xcb: return far_return(t, op, size);
    case 0xcf: return interrupt_return(t, size);
    default: return far_branch(t, in, size);
    }
}

static bool is_far(const struct insn *in)
{
    const u8 *op = in->bytes + in->prefix_len;
    u32 reg = op[1] >> 3 & 7;

    if (in->encoding != INSN_LEGACY)
        return false;
    return op[0] == 0xca || op[0] == 0xcb || op[0] == 0xcf ||
           (op[0] == 0xff && (in->flags & INSN_F_MEM) && (reg == 3 || reg == 5));
}

bool emulate_insn(struct thread *t)
{
    u8 code[16];
    struct insn in;
    u64 got;
    int len;

    got = clientmem_read_some(code, t->pc, 15);
    len = decode_insn(&in, t->pc, code, (u32)got, false);
    if (len <= 0 || in.kind != INSN_STEP)
        return false;
    if (is_far(&in)) {
        if (!do_far(t, &in))
            return false;
    } else {
        if (!(is_selector(&in) ? do_selector(t, &in) : is_emulated(&in) && execute(t, &in)))
            return false;
        t->pc += (u64)len;
    }
    t->rflags &= ~FLAG_RF;
    return true;
}
