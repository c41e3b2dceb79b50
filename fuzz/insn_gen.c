// SPDX-License-Identifier: MIT
//
// insn_gen [-s SEED] [-n SNIPPETS] [-o ONLY] [-d UNITS] [-m none|isa|plain|sets] [-i ISAFILE]
//          [-a LAYOUT]
//
// Writes to standard output the assembly of a test program: a table of snippets of random
// instructions, for insn_guest.S to run. fuzz/insn-run starts it.
//
// Instructions are drawn (insn_forms.c) from every encoding that Zydis knows: first the mnemonic,
// then an encoding of it, then its free bits. Where an instruction uses memory, moves in front of
// it load its address registers with values that point into the arena (or, now and then, to where a
// fault is certain). Every snippet has random numbers of its own, and every unit of a snippet, so
// one can be made again without the others (-o), and units left out (-d 3,5): that is how a failure
// is reduced.
//
// Zydis is also the engine's decoder. What both get wrong shows in what the processor does: the
// result of the program.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/insn_code.h"
#include "fuzz/insn_forms.h"
#include "fuzz/random.h"

#define ARENA_SIZE  8192
#define IDX4        64 // offsets of the tables behind the start of the code: indexes of gathers
#define IDX8        128
#define TILE_CFG    192 // and configurations of tiles, of 64 bytes
#define TILE_CFGS   8
#define CODE_START  4096
#define UNITS_MAX   24
#define ISA_TRIES   5
#define FLAGS_ARITH 0x8d5u

struct known {
    bool is[16];
    uint64_t val[16];
    bool seg[2]; // fs, gs
};

// A forward jump whose target is not reached yet
struct pending {
    size_t at; // offset of its displacement in the code
    int size;
    int unit; // lands in front of this unit
    struct known k;
};

static uint64_t arena_base;
static bool low; // addresses below 2 GiB
static enum { MODE_ALL, MODE_ISA, MODE_PLAIN } mode;

static void rng_set(uint64_t seed, uint64_t snippet, uint64_t unit)
{
    rng = seed * 0x2545f4914f6cdd1du + snippet * 0x9e3779b97f4a7c15u + unit * 0xd1342543de82ef95u;
    rnd64();
    rng = rnd64();
}

// ---- Snippets ----

static struct {
    struct known k;
    struct pending pending[UNITS_MAX * 2];
    int npending;
    uint64_t fs, gs;
    uint64_t regs[16];
    bool x87, env; // has an instruction that records its address; has one that reveals it
    bool may_fault;
    int cut; // flags are not written from this unit on
    bool no_flags;
    bool tiles, transaction; // configured; inside of one
    uint32_t keep;           // registers that may not be written here
    bool no_store;
} s;

static int gpr(ZydisRegister r)
{
    if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
        return r - ZYDIS_REGISTER_RAX;
    if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D)
        return r - ZYDIS_REGISTER_EAX;
    if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W)
        return r - ZYDIS_REGISTER_AX;
    if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL)
        return r - ZYDIS_REGISTER_AL;
    if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
        return r - ZYDIS_REGISTER_AH;
    if (r >= ZYDIS_REGISTER_SPL && r <= ZYDIS_REGISTER_R15B)
        return r - ZYDIS_REGISTER_SPL + 4;
    return -1;
}

static int vector(ZydisRegister r)
{
    if (r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_XMM31)
        return r - ZYDIS_REGISTER_XMM0;
    if (r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31)
        return r - ZYDIS_REGISTER_YMM0;
    if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31)
        return r - ZYDIS_REGISTER_ZMM0;
    return -1;
}

// The address of an access of `size` bytes.
static uint64_t good_target(uint32_t size)
{
    uint32_t room = ARENA_SIZE - 1024 - (size > 64 ? size : 64), off = 512 + rnd(room),
             k = rnd(100);

    if (size > ARENA_SIZE - 2048)
        return arena_base;
    if (k < 45)
        off &= ~63u;
    else if (k < 60)
        off = (off & ~63u) + (64 - rnd(size + 1) % 64);
    else if (k < 66)
        off = 4096 - rnd(size + 1) % 64;
    else if (k < 80)
        off &= ~7u;
    return arena_base + off;
}

static uint64_t bad_target(uint32_t size)
{
    switch (rnd(8)) {
    case 0: return arena_base + ARENA_SIZE - rnd(size > 1 ? size : 1);
    case 1: return arena_base - 1 - rnd(size);
    case 2: return 0x8000000000000000u + rnd64() % 4096;
    case 3: return 0x7fffffffffffu - rnd(size + 1);
    case 4: return rnd(4096);
    case 5: return 0xffffffffff000000u + rnd(65536);
    case 6: return code_base + rnd(4096); // may be read, not written
    default: return arena_base + ARENA_SIZE + 4096;
    }
}

struct pins {
    bool is[16];
    uint64_t val[16];
    int vec;        // a vector register that wants small indexes
    uint32_t vsize; // of 4 or 8 bytes
};

static bool pin(struct pins *p, int reg, uint64_t v)
{
    if (p->is[reg])
        return p->val[reg] == v;
    if (s.keep & 1u << reg && !(s.k.is[reg] && s.k.val[reg] == v))
        return false;
    p->is[reg] = true;
    p->val[reg] = v;
    return true;
}

static uint32_t size_of_operand(const struct piece *p, const ZydisDecodedOperand *o)
{
    (void)p;
    return o->size ? o->size / 8 : 2816; // xsave and the like
}

// Loads and stores of tiles
static bool strided(const struct piece *p)
{
    return p->zi.mnemonic == ZYDIS_MNEMONIC_TILELOADD ||
           p->zi.mnemonic == ZYDIS_MNEMONIC_TILELOADDT1 ||
           p->zi.mnemonic == ZYDIS_MNEMONIC_TILESTORED;
}

// Gives the memory operand an address. Displacements may be changed in the bytes.
static bool place_operand(struct piece *p, const ZydisDecodedOperand *o, struct pins *pins,
                          bool last)
{
    int base = gpr(o->mem.base), index = gpr(o->mem.index);
    bool rip = o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP;
    bool a32 = p->zi.address_width == 32, vsib = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB, bad = false;
    uint32_t size = size_of_operand(p, o);
    uint64_t seg = 0, t, idx = 0;

    (void)last;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN && p->zi.mnemonic == ZYDIS_MNEMONIC_LEA)
        return true;
    if (o->mem.segment == ZYDIS_REGISTER_FS) {
        if (!s.k.seg[0])
            return false;
        seg = s.fs;
    } else if (o->mem.segment == ZYDIS_REGISTER_GS) {
        if (!s.k.seg[1])
            return false;
        seg = s.gs;
    }
    t = good_target(size);
    if (s.may_fault && chance(12)) {
        t = bad_target(size);
        bad = true;
    }
    if (vsib)
        t = arena_base + ARENA_SIZE / 2 - 256 + rnd(512);
    // 16 rows of 64 bytes at most, spaced by the index
    if (strided(p)) {
        t = bad ? t : arena_base + ARENA_SIZE / 2 - 32 + rnd(64);
        if (index >= 0 &&
            !pin(pins, index, (uint64_t)(int64_t)((int32_t)rnd(440) - 220) / o->mem.scale))
            return false;
    }
    if (p->zi.mnemonic == ZYDIS_MNEMONIC_ENTER || p->zi.mnemonic == ZYDIS_MNEMONIC_LEAVE)
        t = arena_base + ARENA_SIZE / 2 + rnd(64) * 8; // it continues some way down from here
    if (p->zi.meta.category == ZYDIS_CATEGORY_STRINGOP ||
        p->zi.meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
        t = bad ? t : arena_base + 1024 + rnd(ARENA_SIZE - 2048);
    if (base < 0 && index < 0 && !vsib) {
        // a displacement alone
        bool moffs = !(p->zi.attributes & ZYDIS_ATTRIB_HAS_MODRM);
        uint64_t d = t - seg - (rip ? code_here() + 64 : 0);

        if (rip) {
            // the instruction's own address is known only when its moves are out: fixed by
            // emit_piece()
            if (seg && !low)
                return false;
            pins->val[0] = pins->is[0] ? pins->val[0] : 0;
            p->zi.raw.disp.value = (ZyanI64)(t - seg);
            return (int64_t)d == (int32_t)d || low;
        }
        if (moffs) {
            uint32_t n = p->zi.raw.disp.size / 8;

            d = t - seg;
            if (n == 4 && d != (uint32_t)d)
                return false;
            memcpy(p->bytes + p->zi.raw.disp.offset, &d, n);
            return true;
        }
        d = t - seg;
        if (a32 ? d != (uint32_t)d : (int64_t)d != (int32_t)d)
            return false;
        memcpy(p->bytes + p->zi.raw.disp.offset, &d, 4);
        return true;
    }
    if (rip)
        return false;
    if (a32 && (arena_base >> 32 || (t - seg) >> 32))
        return false;
    // the stack stays where it is: pushes go below
    if (base == 4 && index < 0 && o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
        if (pins->is[4])
            return pins->val[4] > arena_base + 600 && pins->val[4] < arena_base + ARENA_SIZE - 600;
        if (s.k.is[4] && s.k.val[4] > arena_base + 600 &&
            s.k.val[4] < arena_base + ARENA_SIZE - 600 && !bad)
            return true;
        return pin(pins, 4, bad ? t : chance(80) ? t & ~7u : t);
    }
    if (vsib) {
        pins->vec = vector(o->mem.index);
        switch ((int)p->zi.mnemonic) {
        case ZYDIS_MNEMONIC_VGATHERDPD:
        case ZYDIS_MNEMONIC_VGATHERDPS:
        case ZYDIS_MNEMONIC_VPGATHERDD:
        case ZYDIS_MNEMONIC_VPGATHERDQ:
        case ZYDIS_MNEMONIC_VSCATTERDPD:
        case ZYDIS_MNEMONIC_VSCATTERDPS:
        case ZYDIS_MNEMONIC_VPSCATTERDD:
        case ZYDIS_MNEMONIC_VPSCATTERDQ: pins->vsize = 4; break;
        default: pins->vsize = 8; break;
        }
        if (base < 0) {
            uint64_t d = t - seg;

            if (p->zi.raw.disp.size != 32 || (int64_t)d != (int32_t)d)
                return false;
            memcpy(p->bytes + p->zi.raw.disp.offset, &d, 4);
            return true;
        }
    } else if (index >= 0) {
        uint64_t scale = o->mem.scale;

        if (index == base) {
            uint64_t v = (t - seg - (uint64_t)o->mem.disp.value) / (scale + 1);

            return !a32 && pin(pins, base, v);
        }
        if (p->zi.mnemonic == ZYDIS_MNEMONIC_XLAT) {
            return pin(pins, base, t - seg - (s.k.is[0] ? s.k.val[0] & 0xff : 128));
        }
        if (base < 0) {
            uint64_t v = (t - seg - (uint64_t)o->mem.disp.value) / scale;

            if (((int64_t)(t - seg - (uint64_t)o->mem.disp.value)) < 0)
                return false;
            return pin(pins, index, v | (a32 ? rnd64() << 32 : 0));
        }
        if (pins->is[index])
            idx = pins->val[index];
        else if (s.k.is[index] && chance(60))
            idx = s.k.val[index];
        else
            idx = chance(50) ? rnd(64) : rnd64();
        if (!pin(pins, index, idx))
            return false;
        idx *= scale;
    }
    {
        uint64_t v = t - seg - idx - (uint64_t)o->mem.disp.value, now;

        if (a32)
            v = (uint32_t)v | rnd64() << 32;
        if (pins->is[base])
            now = pins->val[base];
        else if (s.k.is[base])
            now = s.k.val[base];
        else
            return pin(pins, base, v);
        now += idx + (uint64_t)o->mem.disp.value;
        if (a32)
            now = (uint32_t)now;
        now += seg;
        if (now >= arena_base + 640 && now + size + 640 < arena_base + ARENA_SIZE &&
            (pins->is[base] || chance(50)))
            return pin(pins, base, pins->is[base] ? pins->val[base] : s.k.val[base]);
        return !pins->is[base] && pin(pins, base, v);
    }
}

// The effect of the piece on the known state.
static void forget(const struct piece *p)
{
    uint64_t rsp = s.k.val[4];
    bool rsp_known = s.k.is[4];

    for (int i = 0; i < p->zi.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];

        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
            int r = gpr(o->reg.value);

            if (r >= 0)
                s.k.is[r] = false;
            if (o->reg.value == ZYDIS_REGISTER_FS)
                s.k.seg[0] = false;
            if (o->reg.value == ZYDIS_REGISTER_GS)
                s.k.seg[1] = false;
        }
    }
    switch ((int)p->zi.mnemonic) {
    case ZYDIS_MNEMONIC_WRFSBASE: s.k.seg[0] = false; break;
    case ZYDIS_MNEMONIC_WRGSBASE: s.k.seg[1] = false; break;
    case ZYDIS_MNEMONIC_TILERELEASE: s.tiles = false; break;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_PUSHF:
        s.k.is[4] = rsp_known;
        s.k.val[4] = rsp - p->zi.operand_width / 8;
        break;
    case ZYDIS_MNEMONIC_POP:
        if (p->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || gpr(p->op[0].reg.value) != 4) {
            s.k.is[4] = rsp_known;
            s.k.val[4] = rsp + p->zi.operand_width / 8;
        }
        break;
    default: break;
    }
}

static bool writes_flags(const struct piece *p)
{
    const ZydisAccessedFlags *f = p->zi.cpu_flags;

    return p->zi.meta.category == ZYDIS_CATEGORY_STRINGOP ||
           (f && ((f->modified | f->set_0 | f->set_1 | f->undefined) & FLAGS_ARITH));
}

static bool allowed(const struct piece *p)
{
    if (s.no_flags && writes_flags(p))
        return false;
    if (forms_uses_tiles(p->zi.meta.isa_set) && !s.tiles && !chance(3))
        return false;
    // committing ones; an undocumented state is undone
    if (s.transaction &&
        (p->zi.mnemonic == ZYDIS_MNEMONIC_XEND || p->zi.meta.category == ZYDIS_CATEGORY_RDWRFSGS ||
         forms_uses_tiles(p->zi.meta.isa_set)))
        return false;
    // EVEX.X with a general register: there are no more than 16, and the register that processors
    // then read differs from run to run
    if (p->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && p->zi.raw.modrm.mod == 3 &&
        !p->zi.raw.evex.X) {
        for (int i = 0; i < p->zi.operand_count; i++) {
            if (p->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                p->op[i].encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM &&
                gpr(p->op[i].reg.value) >= 0)
                return false;
        }
    }
    for (int i = 0; i < p->zi.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];

        if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(o->reg.value) >= 0 &&
            (s.keep & 1u << gpr(o->reg.value)))
            return false;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && s.no_store)
            return false;
    }
    if (s.no_store &&
        (p->zi.mnemonic == ZYDIS_MNEMONIC_ENTER || p->zi.mnemonic == ZYDIS_MNEMONIC_POP))
        return false;
    for (int i = 0; i < p->zi.operand_count; i++) {
        if (s.transaction && p->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            p->op[i].reg.value >= ZYDIS_REGISTER_ES && p->op[i].reg.value <= ZYDIS_REGISTER_GS)
            return false;
    }
    // moves to %gs: only the null selector can be allowed
    if (p->zi.mnemonic == ZYDIS_MNEMONIC_MOV && p->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        p->op[0].reg.value >= ZYDIS_REGISTER_ES && p->op[0].reg.value <= ZYDIS_REGISTER_GS)
        return p->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               p->op[0].reg.value >= ZYDIS_REGISTER_FS && chance(50);
    return true;
}

static bool remembers_place(const struct piece *p)
{
    return p->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
           p->zi.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
           ((p->zi.opcode >= 0xd8 && p->zi.opcode <= 0xdf) || p->zi.opcode == 0x9b);
}

static bool tells_place(const struct piece *p)
{
    switch ((int)p->zi.mnemonic) {
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64: return true;
    default: return false;
    }
}

// Emits the moves that the piece wants and then its bytes.
static void emit_piece(struct piece *p, const struct pins *pins)
{
    for (int r = 0; r < 16; r++) {
        if (pins->is[r] && !(s.k.is[r] && s.k.val[r] == pins->val[r])) {
            code_mov((uint32_t)r, pins->val[r]);
            s.k.is[r] = true;
            s.k.val[r] = pins->val[r];
        }
    }
    if (pins->vec >= 0) {
        uint32_t v = (uint32_t)pins->vec, off = pins->vsize == 4 ? IDX4 : IDX8;

        if (mode == MODE_PLAIN) {
            code_note("vmovdqu index%u(%%rip), %%ymm%u", pins->vsize, v);
            code_put8(0xc5);
            code_put8(v < 8 ? 0xfe : 0x7e);
            code_put8(0x6f);
        } else {
            code_note("vmovdqu64 index%u(%%rip), %%zmm%u", pins->vsize, v);
            code_put8(0x62);
            code_put8((~v >> 3 & 1) << 7 | 0x60 | (~v >> 4 & 1) << 4 | 1);
            code_put8(0xfe);
            code_put8(0x48);
            code_put8(0x6f);
        }
        code_put8((v & 7) << 3 | 5);
        code_put32((uint32_t)(code_base + off - (code_here() + 4)));
    }
    for (int i = 0; i < p->zi.operand_count; i++) {
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (p->op[i].mem.base == ZYDIS_REGISTER_RIP || p->op[i].mem.base == ZYDIS_REGISTER_EIP) &&
            p->zi.mnemonic != ZYDIS_MNEMONIC_LEA) {
            uint32_t d = (uint32_t)((uint64_t)p->zi.raw.disp.value - (code_here() + p->len));

            memcpy(p->bytes + p->zi.raw.disp.offset, &d, 4);
        }
    }
    code_note("%s", ZydisMnemonicGetString(p->zi.mnemonic));
    code_put(p->bytes, p->len);
    forget(p);
}

static void pins_init(struct pins *pins)
{
    memset(pins, 0, sizeof(*pins));
    pins->vec = -1;
}

// Chooses the values of registers that the piece uses in special ways.
static bool place_piece(struct piece *p, struct pins *pins)
{
    pins_init(pins);
    switch ((int)p->zi.mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
        if (!pin(pins, 0, chance(50) ? 0 : 0x80000002) || !pin(pins, 1, 0))
            return false;
        break;
    case ZYDIS_MNEMONIC_XGETBV:
        if (!pin(pins, 1, chance(80) ? 0 : 1 + rnd(64) * 2))
            return false;
        break;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
        if (!pin(pins, 0, rnd64() & 0xe7) || !pin(pins, 2, 0))
            return false;
        break;
    case ZYDIS_MNEMONIC_ENTER: {
        uint16_t n = (uint16_t)(rnd(32) * 8);
        uint8_t level = (uint8_t)(chance(60) ? 0 : rnd(32));

        memcpy(p->bytes + p->len - 3, &n, 2);
        p->bytes[p->len - 1] = level;
        if (!pin(pins, 5, arena_base + ARENA_SIZE / 2 + rnd(64) * 8) ||
            !pin(pins, 4, arena_base + 4096 + rnd(256) * 8))
            return false;
        forms_decode(p, p->len);
        break;
    }
    default: break;
    }
    if (p->zi.meta.category == ZYDIS_CATEGORY_STRINGOP &&
        (p->zi.attributes &
         (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))) {
        uint64_t n = rnd(14);

        if (p->zi.address_width == 32)
            n |= rnd64() << 32;
        if (!pin(pins, 1, n))
            return false;
    }
    // Its line is not a memory operand; an operand in the snippets' code would change the code,
    // which may set the trap flag (docs/limits.md).
    if (p->zi.mnemonic == ZYDIS_MNEMONIC_CLZERO && !pin(pins, 0, arena_base + rnd(ARENA_SIZE)))
        return false;
    for (int i = 0; i < p->zi.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];

        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if ((p->zi.mnemonic == ZYDIS_MNEMONIC_BT || p->zi.mnemonic == ZYDIS_MNEMONIC_BTS ||
             p->zi.mnemonic == ZYDIS_MNEMONIC_BTR || p->zi.mnemonic == ZYDIS_MNEMONIC_BTC) &&
            p->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            if (!pin(pins, gpr(p->op[1].reg.value), (uint64_t)(int64_t)((int32_t)rnd(4096) - 2048)))
                return false;
        }
        if (!place_operand(p, o, pins, i + 1 == p->zi.operand_count))
            return false;
    }
    return true;
}

// Instructions that leave flags undefined according to the manuals (engine/x86/decode_flags.c asks
// the processor about them).
static bool undefines_flags(ZydisMnemonic m)
{
    switch ((int)m) {
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_IMUL:
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
    case ZYDIS_MNEMONIC_TZCNT:
    case ZYDIS_MNEMONIC_LZCNT:
    case ZYDIS_MNEMONIC_ANDN:
    case ZYDIS_MNEMONIC_BLSR:
    case ZYDIS_MNEMONIC_BLSI:
    case ZYDIS_MNEMONIC_BLSMSK:
    case ZYDIS_MNEMONIC_BEXTR:
    case ZYDIS_MNEMONIC_BZHI: return true;
    default: return false;
    }
}

// Shifts by constants whose low 5 or 6 bits are zero, or one.
static void change_shift(struct piece *p)
{
    static const uint8_t by[] = { 0, 1, 31, 32, 33, 63, 64, 128, 0xe0 };

    if ((p->zi.meta.category == ZYDIS_CATEGORY_SHIFT ||
         p->zi.meta.category == ZYDIS_CATEGORY_ROTATE) &&
        p->zi.raw.imm[0].size == 8 && chance(40)) {
        p->bytes[p->len - 1] = by[rnd(sizeof(by))];
        forms_decode(p, p->len);
    }
}

// flags: the undefined ones.
static void unit_random(bool flags)
{
    for (int attempt = 0; attempt < 400; attempt++) {
        const struct combo *c = forms_draw();
        struct piece p;
        struct pins pins;

        while (flags && !undefines_flags((ZydisMnemonic)c->mnemonic))
            c = forms_draw();
        for (int k = 0; k < 12; k++) {
            if (!forms_random(&p, c, low) || forms_banned(&p.zi) ||
                (p.zi.mnemonic != c->mnemonic && !chance(20)))
                continue;
            if (flags)
                change_shift(&p);
            if (!allowed(&p) || (remembers_place(&p) && s.env) || (tells_place(&p) && s.x87))
                continue;
            if (!place_piece(&p, &pins))
                continue;
            s.x87 |= remembers_place(&p);
            s.env |= tells_place(&p);
            emit_piece(&p, &pins);
            return;
        }
    }
}

// Gives registers that the unit needs: any but rsp and those kept.
static uint32_t some_reg(uint32_t avoid)
{
    for (;;) {
        uint32_t r = rnd(16);

        if (r != 4 && !(avoid & 1u << r) && !(s.keep & 1u << r))
            return r;
    }
}

static void need_stack(void)
{
    if (s.k.is[4] && s.k.val[4] > arena_base + 600 && s.k.val[4] < arena_base + ARENA_SIZE - 600)
        return;
    s.k.is[4] = true;
    s.k.val[4] = arena_base + 2048 + rnd(512) * 8;
    code_mov(4, s.k.val[4]);
}

static void merge(struct known *a, const struct known *b)
{
    for (int i = 0; i < 16; i++)
        a->is[i] = a->is[i] && b->is[i] && a->val[i] == b->val[i];
    for (int i = 0; i < 2; i++)
        a->seg[i] = a->seg[i] && b->seg[i];
}

static void jump_later(size_t at, int size, int unit)
{
    struct pending *p = &s.pending[s.npending++];

    p->at = at;
    p->size = size;
    p->unit = unit;
    p->k = s.k;
}

// Jumps whose target is here.
static void land(int unit)
{
    for (int i = 0; i < s.npending; i++) {
        struct pending *p = &s.pending[i];

        if (p->unit > unit)
            continue;
        if (p->size == 1) {
            if (code_size - p->at - 1 > 127)
                abort();
            code_bytes[p->at] = (uint8_t)(code_size - p->at - 1);
        } else {
            uint32_t d = (uint32_t)(code_size - p->at - 4);

            memcpy(code_bytes + p->at, &d, 4);
        }
        merge(&s.k, &p->k);
        s.pending[i--] = s.pending[--s.npending];
    }
}

// A forward jump over the next units; a condition, or rcx.
static void unit_jump(int unit, int last)
{
    int to = unit + 1 + (int)rnd(3);

    if (to > last)
        to = last;
    if (chance(70)) {
        uint32_t cc = rnd(16);

        code_note("jcc");
        if (chance(10))
            code_put8(0x2e + 0x10 * rnd(2)); // a hint
        code_put8(0x0f);
        code_put8(0x80 | cc);
        code_put32(0);
        jump_later(code_size - 4, 4, to);
    } else if (chance(50)) {
        code_note("jmp");
        code_put8(0xe9);
        code_put32(0);
        jump_later(code_size - 4, 4, to);
    } else {
        // jrcxz, loop..: over a short jump
        bool a32 = chance(25);
        uint32_t op = 0xe0 + rnd(4);

        if (op != 0xe3 && (s.keep & 2))
            return;
        code_note("jrcxz/loop +5");
        if (a32)
            code_put8(0x67);
        code_put8(op);
        code_put8(5);
        if (op != 0xe3)
            s.k.is[1] = false;
        code_note("jmp");
        code_put8(0xe9);
        code_put32(0);
        jump_later(code_size - 4, 4, to);
    }
}

static void small_units(int n)
{
    uint32_t old = s.keep;

    for (int i = 0; i < n; i++)
        unit_random(false);
    s.keep = old;
}

static void unit_loop(void)
{
    size_t top;
    uint32_t old = s.keep;
    uint32_t op = chance(60) ? 0xe2 : 0xe0 + rnd(2);
    uint64_t n = 1 + rnd(6);

    if (s.keep & 2)
        return;
    code_mov(1, n);
    memset(&s.k, 0, sizeof(s.k));
    // values from before the loop are not those of its second round
    s.keep |= 2;
    s.k.is[1] = false;
    top = code_size;
    small_units(1 + (int)rnd(2));
    s.keep = old;
    if (code_size - top > 110) {
        // too long for loop: by hand, without flags
        code_note("lea -1(%%rcx), %%rcx");
        code_put("\x48\x8d\x49\xff", 4);
        code_note("jrcxz out");
        code_put("\xe3\x05", 2);
        code_note("jmp top");
        code_put8(0xe9);
        code_put32((uint32_t)(top - (code_size + 4)));
    } else {
        code_note("loop top");
        code_put8(op);
        code_put8((uint32_t)(top - (code_size + 1)));
    }
    memset(&s.k, 0, sizeof(s.k));
}

// A memory operand for opcode FF /2 or /4 and similar, and the code that stores `value` there.
static void store_through(uint8_t opcode, uint32_t ext, uint64_t *patch_at, bool call)
{
    struct combo c = { 0, 0, ENC_LEGACY, 0, 0, 0, 0, opcode, 0, 0, 1, 0 };
    struct piece p;
    struct pins pins;
    uint32_t scratch;
    uint32_t used = 0;

    c.reg = (uint8_t)ext;
    for (;;) {
        if (!forms_random(&p, &c, low) ||
            (p.zi.mnemonic != ZYDIS_MNEMONIC_JMP && p.zi.mnemonic != ZYDIS_MNEMONIC_CALL) ||
            p.zi.raw.modrm.reg != ext || (p.zi.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
            (p.zi.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) || p.zi.operand_width != 64)
            continue;
        if (place_piece(&p, &pins))
            break;
    }
    for (int r = 0; r < 16; r++)
        used |= pins.is[r] ? 1u << r : 0;
    for (int i = 0; i < p.zi.operand_count; i++) {
        if (p.op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            p.op[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
            if (gpr(p.op[i].mem.base) >= 0)
                used |= 1u << gpr(p.op[i].mem.base);
            if (gpr(p.op[i].mem.index) >= 0)
                used |= 1u << gpr(p.op[i].mem.index);
        }
    }
    scratch = some_reg(used);
    // the moves first, so that the store can use the same operand
    for (int r = 0; r < 16; r++) {
        if (pins.is[r] && !(s.k.is[r] && s.k.val[r] == pins.val[r])) {
            code_mov((uint32_t)r, pins.val[r]);
            s.k.is[r] = true;
            s.k.val[r] = pins.val[r];
        }
    }
    code_note("mov $target, %%r%u", scratch);
    code_put8(0x48 | scratch >> 3);
    code_put8(0xb8 | (scratch & 7));
    *patch_at = code_size;
    code_put64(0);
    s.k.is[scratch] = false;
    {
        // mov %scratch, operand: the same bytes with another opcode and register
        struct piece q = p;
        uint32_t at = 0, n = 0;
        uint8_t rex = 0x48;

        for (at = 0; at < p.len; at++) {
            uint8_t b = p.bytes[at];

            if ((b & 0xf0) == 0x40) {
                rex |= b & 3;
                at++;
                break;
            }
            if (b == opcode)
                break;
            q.bytes[n++] = b;
        }
        q.bytes[n++] = (uint8_t)(rex | (scratch >> 3) << 2);
        q.bytes[n++] = 0x89;
        memcpy(q.bytes + n, p.bytes + at + 1, p.len - at - 1u);
        q.bytes[n] = (uint8_t)((q.bytes[n] & 0xc7) | (scratch & 7) << 3);
        n += p.len - at - 1u;
        if (!forms_decode(&q, n))
            abort();
        q.zi.raw.disp.value = p.zi.raw.disp.value;
        pins_init(&pins);
        emit_piece(&q, &pins);
    }
    emit_piece(&p, &pins);
    if (call) {
        s.k.is[4] = false;
    }
}

static void patch64(uint64_t at, uint64_t v)
{
    memcpy(code_bytes + at, &v, 8);
}

static void unit_branch(void)
{
    uint64_t at;
    uint32_t r;

    if (s.no_store || s.no_flags)
        return;
    switch (rnd(7)) {
    case 0: // call, with or without removing the return address
        need_stack();
        code_note("call +0");
        code_put("\xe8\0\0\0\0", 5);
        s.k.val[4] -= 8;
        break;
    case 1: // a push and a ret
        need_stack();
        r = some_reg(0);
        code_note("mov $target, %%r%u", r);
        code_put8(0x48 | r >> 3);
        code_put8(0xb8 | (r & 7));
        at = code_size;
        code_put64(0);
        s.k.is[r] = false;
        code_note("push");
        if (r >= 8)
            code_put8(0x41);
        code_put8(0x50 | (r & 7));
        code_note("ret");
        if (chance(40)) {
            uint32_t n = rnd(64) * 8;

            code_put8(0xc2);
            code_put8(n);
            code_put8(n >> 8);
            s.k.val[4] += n;
        } else {
            if (chance(20))
                code_put8(0xf3);
            code_put8(0xc3);
        }
        code_put("\xcc\xcc\xcc", 3 & rnd(4));
        patch64(at, code_here());
        break;
    case 2:
    case 3: // jump or call through a register
        r = some_reg(0);
        need_stack();
        code_note("mov $target, %%r%u", r);
        code_put8(0x48 | r >> 3);
        code_put8(0xb8 | (r & 7));
        at = code_size;
        code_put64(0);
        s.k.is[r] = false;
        code_note("jmp/call *%%r%u", r);
        if (chance(10))
            code_put8(0x3e);
        if (r >= 8)
            code_put8(0x41);
        code_put8(0xff);
        if (chance(50)) {
            code_put8(0xe0 | (r & 7));
        } else {
            code_put8(0xd0 | (r & 7));
            s.k.val[4] -= 8;
        }
        code_put("\xcc\xcc\xcc", 3 & rnd(4));
        patch64(at, code_here());
        break;
    case 4: // jump through memory
        store_through(0xff, 4, &at, false);
        code_put("\xcc\xcc\xcc", 3 & rnd(4));
        patch64(at, code_here());
        break;
    case 5: // call through memory
        store_through(0xff, 2, &at, true);
        code_put("\xcc\xcc\xcc", 3 & rnd(4));
        patch64(at, code_here());
        break;
    default: // call and return: call f; jmp over; f: ..; ret
    {
        size_t call, jmp;
        uint32_t old = s.keep;

        need_stack();
        code_note("call f");
        code_put8(0xe8);
        code_put32(0);
        call = code_size;
        code_note("jmp over");
        code_put8(0xe9);
        code_put32(0);
        jmp = code_size;
        {
            uint32_t d = (uint32_t)(code_size - call);

            memcpy(code_bytes + call - 4, &d, 4);
        }
        s.k.val[4] -= 8;
        s.keep |= 1u << 4;
        s.no_store = true;
        small_units(1 + (int)rnd(2));
        s.no_store = false;
        s.keep = old;
        code_note("ret");
        code_put8(0xc3);
        s.k.val[4] += 8;
        {
            uint32_t d = (uint32_t)(code_size - jmp);

            memcpy(code_bytes + jmp - 4, &d, 4);
        }
    }
    }
}

static void unit_popf(void)
{
    uint32_t f = 0x202 | ((uint32_t)rnd64() &
                          (FLAGS_ARITH | (chance(30) ? 0x400 : 0) | (chance(5) ? 0x204000 : 0)));

    if (s.no_flags || s.no_store || (s.keep & 16))
        return;
    need_stack();
    code_note("push $0x%x", f);
    code_put8(0x68);
    code_put32(f);
    code_note("popf");
    if (chance(20)) {
        code_put8(0x66); // 16 bits
        s.k.val[4] -= 6;
    }
    code_put8(0x9d);
}

// Undefined flags, and an instruction that reads them.
static void unit_flags(void)
{
    uint32_t r = some_reg(0), n = 1 + rnd(3);

    if (s.no_flags)
        return;
    while (n--)
        unit_random(true);
    switch (rnd(8)) {
    case 0:
        if (s.keep & 1)
            return;
        code_note("lahf");
        code_put8(0x9f);
        s.k.is[0] = false;
        break;
    case 1:
        if (s.no_store || (s.keep & 16))
            return;
        need_stack();
        code_note("pushf");
        code_put8(0x9c);
        code_note("pop %%r%u", r);
        if (r >= 8)
            code_put8(0x41);
        code_put8(0x58 | (r & 7));
        s.k.is[r] = false;
        break;
    case 2:
        code_note("setcc %%r%u", r);
        code_put8(0x40 | r >> 3);
        code_put8(0x0f);
        code_put8(0x90 | rnd(16));
        code_put8(0xc0 | (r & 7));
        s.k.is[r] = false;
        break;
    case 3:
        code_note("adc/sbb $, %%r%u", r);
        code_put8(0x48 | r >> 3);
        code_put8(0x83);
        code_put8((chance(50) ? 0xd0 : 0xd8) | (r & 7));
        code_put8(rnd(256));
        s.k.is[r] = false;
        break;
    case 4:
        code_note("jcc +1, nop");
        code_put8(0x70 + rnd(16));
        code_put8(1);
        code_put8(0x90);
        break;
    default: break; // the next unit
    }
}

static void unit_syscall(void)
{
    if (s.keep & (1u | 2u | 1u << 11))
        return;
    code_mov(0, 4000 + rnd(90)); // no such call
    code_note("syscall");
    code_put("\x0f\x05", 2);
    s.k.is[0] = s.k.is[1] = s.k.is[11] = false;
}

// The processor lacks this: tried now and then.
static bool lacks(ZydisISASet isa)
{
    return forms_missing[isa] && !chance(1);
}

// A transaction that aborts: natively by its xabort or by anything before, under Quern at once. The
// state is as before except for eax, which has the reason, and is overwritten.
static void unit_transaction(void)
{
    struct known before = s.k;
    size_t from;
    uint32_t d;

    if ((s.keep & 1) || lacks(ZYDIS_ISA_SET_RTM))
        return;
    code_note("xbegin");
    code_put("\xc7\xf8\0\0\0\0", 6);
    from = code_size;
    s.transaction = true;
    for (uint32_t n = rnd(4); n--;)
        unit_random(false);
    s.transaction = false;
    code_note("xabort");
    code_put("\xc6\xf8", 2);
    code_put8(rnd(256));
    d = (uint32_t)(code_size - from);
    memcpy(code_bytes + from - 4, &d, 4);
    s.k = before;
    code_mov(0, rnd(65536));
    s.k.is[0] = false;
}

static void tile_configs(void)
{
    for (int i = 0; i < TILE_CFGS; i++) {
        uint8_t cfg[64] = { 1 };
        // first those with which every product is legal: of squares
        uint32_t m = i ? 1 + rnd(16) : 16, n = i > 2 ? 1 + rnd(16) : m, k = i > 2 ? 1 + rnd(16) : m;

        for (int t = 0; t < 8; t++) {
            uint32_t rows = t < 3 ? m : t < 6 ? m : k, quads = t < 3 ? n : t < 6 ? k : n;

            if (i == TILE_CFGS - 2 && t == 7)
                rows = quads = 0;
            cfg[16 + 2 * t] = (uint8_t)(4 * quads);
            cfg[48 + t] = (uint8_t)rows;
        }
        if (i == TILE_CFGS - 3)
            cfg[1] = (uint8_t)rnd(m < k ? m : k); // where a load that faulted goes on
        if (i == TILE_CFGS - 1)
            cfg[rnd(64)] ^= 0x80; // most of these are invalid
        code_put(cfg, sizeof(cfg));
    }
}

static void tile_config(uint32_t which)
{
    code_note("ldtilecfg %u", which);
    code_put("\xc4\xe2\x78\x49\x05", 5);
    code_put32((uint32_t)(code_base + TILE_CFG + 64 * which - (code_here() + 4)));
    s.tiles = true;
}

// Tiles are configured, loaded, multiplied, stored. Their contents at the end are part of the
// record.
static void unit_tiles(void)
{
    if (lacks(ZYDIS_ISA_SET_AMX_TILE))
        return;
    if (!s.tiles || chance(30))
        tile_config(chance(70) ? rnd(3) : rnd(TILE_CFGS));
    for (uint32_t n = 1 + rnd(8); n--;) {
        uint32_t k = rnd(100); // without loads, all products are of zeros
        bool load = k < 40, store = !load && k < 50;

        for (int tries = 0; tries < 4000; tries++) {
            const struct combo *c =
                forms_of_isa(load || store || chance(30) ? ZYDIS_ISA_SET_AMX_TILE
                             : chance(70)                ? ZYDIS_ISA_SET_AMX_INT8
                                                         : ZYDIS_ISA_SET_AMX_BF16);
            struct piece p;
            struct pins pins;

            if ((load && c->mnemonic != ZYDIS_MNEMONIC_TILELOADD &&
                 c->mnemonic != ZYDIS_MNEMONIC_TILELOADDT1) ||
                (store && c->mnemonic != ZYDIS_MNEMONIC_TILESTORED))
                continue;
            if (!forms_random(&p, c, low) || p.zi.mnemonic != c->mnemonic || !allowed(&p) ||
                (p.zi.mnemonic == ZYDIS_MNEMONIC_LDTILECFG && !chance(2)) ||
                (p.zi.mnemonic == ZYDIS_MNEMONIC_TILERELEASE && !chance(10)) ||
                !place_piece(&p, &pins))
                continue;
            emit_piece(&p, &pins);
            break;
        }
    }
}

// Near branches with an operand size prefix: some processors ignore it, others truncate
// rip, and a fault follows. The displacements are zero as 16 and as 32 bits, and the
// target is the next instruction: the test need not know which.
static void unit_branch16(void)
{
    uint32_t r = some_reg(0), kind = rnd(8);
    size_t at = 0;

    if (s.no_store || s.no_flags)
        return;
    need_stack();
    if (kind == 3)
        code_mov(0, good_target(8)); // where the branch is short, 00 00 behind it stores here
    if (kind == 5 || kind == 7) {
        code_note("mov $target, %%r%u", r);
        code_put8(0x48 | r >> 3);
        code_put8(0xb8 | (r & 7));
        at = code_size;
        code_put64(0);
    }
    if (kind == 5) {
        code_note("push");
        if (r >= 8)
            code_put8(0x41);
        code_put8(0x50 | (r & 7));
    }
    code_note("16-bit branch");
    code_put8(0x66);
    switch (kind) {
    case 0: code_put("\xeb\0", 2); break;
    case 1: code_put("\xe9\0\0\0\0", 5); break;
    case 2: code_put8(0x70 + rnd(16)), code_put8(0); break;
    case 3: code_put8(0x0f), code_put8(0x80 + rnd(16)), code_put("\0\0\0\0", 4); break;
    case 4: code_put("\xe8\0\0\0\0", 5); break;
    case 5: code_put8(0xc3); break;
    case 6: code_put("\xe3\0", 2); break;
    default:
        if (r >= 8)
            code_put8(0x41);
        code_put8(0xff);
        code_put8((chance(50) ? 0xe0 : 0xd0) | (r & 7));
        break;
    }
    if (at) {
        code_put("\xcc\xcc\xcc", 3 & rnd(4));
        patch64(at, code_here());
        s.k.is[r] = false;
    }
    if (kind == 3)
        s.k.is[0] = false;
    s.k.is[4] = false;
}

// Bytes that Zydis does not know, whatever the processor does with them.
static void unit_unknown(void)
{
    if (s.no_flags) // unknown effect
        return;
    for (int k = 0; k < 1000; k++) {
        struct piece p;
        uint8_t *b = p.bytes;
        size_t n = 0;

        for (int i = 0; i < 15; i++)
            b[i] = (uint8_t)rnd64();
        switch (rnd(3)) {
        case 0: b[n++] = 0x0f; break;
        case 1:
            b[n++] = 0xc4;
            b[n++] &= 0xe3;
            break;
        default:
            b[n++] = 0x62;
            b[n++] &= 0xf7;
            b[n++] |= 4;
            break;
        }
        // if it is shorter than it looks, int3 ends the rest
        n = b[0] == 0x0f ? 3 : b[0] == 0xc4 ? 5 : 6;
        memset(b + n, 0xcc, 15 - n);
        if (!forms_decode(&p, 15)) {
            code_note("unknown");
            code_put(b, 15);
            code_put("\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc", 12);
            return;
        }
    }
}

static void unit(int i, int last)
{
    uint32_t k = rnd(100);

    if (mode == MODE_PLAIN)
        k %= 78;
    if (k < 70)
        unit_random(false);
    else if (k < 78)
        unit_flags();
    else if (k < 85)
        unit_jump(i, last);
    else if (k < 92)
        unit_branch();
    else if (k < 95)
        unit_loop();
    else if (k < 97)
        unit_popf();
    else if (k < 98)
        chance(50) ? unit_syscall() : unit_branch16();
    else if (k < 99)
        chance(50) ? unit_transaction() : unit_unknown();
    else
        unit_tiles();
}

static const uint8_t guest_order[16] = { 0, 3, 1, 2, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15, 4 };

static void put_exit(void)
{
    uint32_t k = rnd(2);

    code_note("leave the snippet");
    if (k) {
        code_put8(0xff); // jmp *slot(%rip)
        code_put8(0x25);
        code_put32((uint32_t)(code_base - (code_here() + 4)));
    } else {
        code_put8(0xe9); // jmp to such a jump
        code_put32((uint32_t)(code_base + 8 - (code_here() + 4)));
    }
}

static void snippet(struct code_entry *e, uint64_t seed, uint64_t index, const bool *dropped)
{
    int units;

    rng_set(seed, index, 0);
    memset(&s, 0, sizeof(s));
    units = 1 + (int)rnd(chance(30) ? UNITS_MAX - 2 : 8);
    s.may_fault = chance(35);
    s.cut = chance(50) ? (int)rnd((uint32_t)units) : units;
    s.fs = arena_base + (chance(50) ? rnd(ARENA_SIZE) : rnd64() % (0x7ffffffff000 - arena_base));
    s.gs = arena_base + (chance(50) ? rnd(ARENA_SIZE) : rnd64() % (0x7ffffffff000 - arena_base));
    if (low && chance(50)) {
        s.fs = rnd(0x10000000);
        s.gs = rnd(0x10000000);
    }
    for (int i = 0; i < 16; i++) {
        uint32_t k = rnd(100);

        s.k.is[i] = true;
        s.k.val[i] = k < 55 ? good_target(64) : k < 65 ? rnd(300) : rnd64();
    }
    s.k.val[4] = arena_base + 2048 + rnd(512) * 8;
    memset(e, 0, sizeof(*e));
    for (int i = 0; i < 16; i++)
        e->regs[i] = s.k.val[guest_order[i]];
    e->index = index;
    e->arena = rnd((CODE_POOL_SIZE - ARENA_SIZE) / 64) * 64;
    e->vectors = rnd((CODE_POOL_SIZE - 2560) / 64) * 64;
    e->fs = s.fs;
    e->gs = s.gs;
    e->flags = 0x202 | (rnd64() & FLAGS_ARITH) | (chance(5) ? 0x400 : 0);
    e->mxcsr = 0x1f80 | rnd(4) << 13 | (chance(10) ? 0x8000 : 0) | (chance(10) ? 0x40 : 0);
    if (chance(6))
        e->mxcsr &= ~(rnd(64) << 7);
    e->fcw = (uint16_t)(0x7f | (chance(50) ? 0x300 : rnd(4) << 8) | rnd(4) << 10);
    if (chance(6))
        e->fcw = (uint16_t)(e->fcw & ~rnd(64));
    e->nfpu = (uint16_t)(chance(50) ? rnd(9) : 0);
    s.k.seg[0] = s.k.seg[1] = true;
    for (uint32_t k = rnd(16); k; k--)
        code_put8(0x90);
    e->code = code_here();
    e->cut = ~0ull;
    for (int i = 0; i <= units; i++) {
        land(i);
        rng_set(seed, index, 1 + (uint64_t)i);
        if (i >= s.cut && i < units) {
            if (!s.no_flags)
                e->cut = code_here();
            s.no_flags = true;
        }
        if (i < units && !dropped[i])
            unit(i, units);
    }
    put_exit();
    if (s.env) // else it tells where this program loaded them
        e->nfpu = 0;
}

// One instruction of the set; illegal natively means that the processor lacks it.
static void isa_snippet(struct code_entry *e, uint32_t isa, uint32_t number)
{
    memset(&s, 0, sizeof(s));
    rng_set(1, isa, number);
    memset(e, 0, sizeof(*e));
    s.k.seg[0] = s.k.seg[1] = true;
    s.fs = s.gs = e->fs = e->gs = arena_base;
    s.k.is[4] = true;
    s.k.val[4] = arena_base + 4096;
    e->regs[15] = arena_base + 4096;
    e->mxcsr = 0x1f80;
    e->fcw = 0x37f;
    e->flags = 0x202;
    e->index = isa;
    e->code = code_here();
    if (forms_uses_tiles(isa))
        tile_config(0);
    for (int tries = 0; tries < 1000; tries++) {
        const struct combo *c = forms_of_isa(isa);
        struct piece p;
        struct pins pins;

        if (!c)
            break;
        if (!forms_random(&p, c, low) || p.zi.meta.isa_set != (ZydisISASet)isa ||
            forms_banned(&p.zi) || (p.zi.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
            !place_piece(&p, &pins))
            continue;
        emit_piece(&p, &pins);
        break;
    }
    put_exit();
}

// ---- The program ----

static void read_isa(const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned isa;

    if (!f) {
        perror(path);
        exit(2);
    }
    while (fscanf(f, "%u", &isa) == 1) {
        if (isa <= ZYDIS_ISA_SET_MAX_VALUE)
            forms_missing[isa] = true;
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    static bool dropped[UNITS_MAX + 1];
    uint64_t seed = 1, layout = 0;
    long only = -1;
    uint32_t n = 200;
    struct code_entry *e;
    size_t ne = 0;
    int o;

    while ((o = getopt(argc, argv, "s:n:o:d:m:i:a:")) != -1) {
        switch (o) {
        case 's': seed = strtoull(optarg, NULL, 0); break;
        case 'n': n = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 'o': only = strtol(optarg, NULL, 0); break;
        case 'd':
            for (char *p = strtok(optarg, ","); p; p = strtok(NULL, ",")) {
                if (strtoul(p, NULL, 0) < UNITS_MAX)
                    dropped[strtoul(p, NULL, 0)] = true;
            }
            break;
        case 'm':
            if (!strcmp(optarg, "sets")) {
                for (int i = 0; i <= ZYDIS_ISA_SET_MAX_VALUE; i++)
                    printf("%d %s\n", i, ZydisISASetGetString((ZydisISASet)i));
                return 0;
            }
            mode = !strcmp(optarg, "isa")     ? MODE_ISA
                   : !strcmp(optarg, "plain") ? MODE_PLAIN
                                              : MODE_ALL;
            break;
        case 'i': read_isa(optarg); break;
        case 'a': layout = strtoull(optarg, NULL, 0); break;
        default:
            fprintf(stderr,
                    "usage: insn_gen [-s SEED] [-n SNIPPETS] [-o ONLY] [-d UNITS] [-m MODE] "
                    "[-i FILE] [-a CODE]\n");
            return 2;
        }
    }
    code_base = layout ? layout : 0x10000000;
    arena_base = code_base + 0x10000000;
    low = code_base < 0x40000000;
    forms_make();

    code_put64(0); // the slot
    code_note("jmp *slot(%%rip)");
    code_put8(0xff);
    code_put8(0x25);
    code_put32((uint32_t)(code_base - (code_here() + 4)));
    while (code_size < IDX4)
        code_put8(0xcc);
    rng_set(seed, ~0ull, 0);
    for (int i = 0; i < 16; i++)
        code_put32((uint32_t)(rnd(256) - 128));
    for (int i = 0; i < 8; i++)
        code_put64((uint64_t)(int64_t)((int)rnd(256) - 128));
    tile_configs();
    while (code_size < CODE_START)
        code_put8(0xcc);
    if (mode == MODE_ISA)
        n = (ZYDIS_ISA_SET_MAX_VALUE + 1) * ISA_TRIES;
    e = calloc(n + 1, sizeof(*e));
    if (!e)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        if (only >= 0 && i != (uint32_t)only)
            continue;
        if (mode == MODE_ISA)
            isa_snippet(&e[ne++], i / ISA_TRIES, i % ISA_TRIES);
        else
            snippet(&e[ne++], seed, i, dropped);
    }
    rng_set(seed, ~0ull, 1);
    code_print(e, ne, seed, mode != MODE_ISA);
    return 0;
}
