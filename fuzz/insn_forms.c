// SPDX-License-Identifier: MIT
// See insn_forms.h. The dictionary is made by asking Zydis about every opcode byte of every map
// with every prefix that selects.
#include "fuzz/insn_forms.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/random.h"

static ZydisDecoder decoder;
static struct combo *combos;
static size_t ncombos;
static struct group {
    size_t first, n;
    uint8_t enc;
} * groups;
static size_t ngroups;
bool forms_missing[ZYDIS_ISA_SET_MAX_VALUE + 1];

bool forms_banned(const ZydisDecodedInstruction *zi)
{
    switch ((int)zi->mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_VMFUNC:
    case ZYDIS_MNEMONIC_TDCALL:
    case ZYDIS_MNEMONIC_SEAMCALL:
    case ZYDIS_MNEMONIC_ENCLU:
    case ZYDIS_MNEMONIC_ENCLS:
    case ZYDIS_MNEMONIC_ENCLV:
    case ZYDIS_MNEMONIC_GETSEC:
    case ZYDIS_MNEMONIC_SKINIT:
    case ZYDIS_MNEMONIC_ENQCMD:
    case ZYDIS_MNEMONIC_ENQCMDS:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_STUI: // wrpkru where there are no user interrupts
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
    case ZYDIS_MNEMONIC_XRSTORS:
    case ZYDIS_MNEMONIC_XRSTORS64:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_JMP: return true;
    default: break;
    }
    if (zi->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) // made by units of their own
        return true;
    return false;
}

static size_t put_modrm(uint8_t *b, const struct combo *c)
{
    b[0] = (uint8_t)((c->mem ? 0x40 : 0xc0) | c->reg << 3 | (c->mem ? 4 : c->rm));
    b[1] = 0x08; // sib: rax + rcx
    memset(b + 2, 0, 13);
    return 10;
}

static size_t build_plain(uint8_t *b, const struct combo *c)
{
    static const uint8_t pps[] = { 0, 0x66, 0xf3, 0xf2 };
    size_t n = 0;

    if (c->enc == ENC_LEGACY) {
        if (c->pp)
            b[n++] = pps[c->pp];
        if (c->w)
            b[n++] = 0x48;
        if (c->map)
            b[n++] = 0x0f;
        if (c->map >= 2)
            b[n++] = c->map == 2 ? 0x38 : 0x3a;
    } else if (c->enc == ENC_VEX) {
        b[n++] = 0xc4;
        b[n++] = 0xe0 | c->map;
        b[n++] = (uint8_t)(c->w << 7 | 0x78 | c->l << 2 | c->pp);
        // pp of VEX: 0, 66, F3, F2: the same order
    } else {
        b[n++] = 0x62;
        b[n++] = 0xf0 | c->map;
        b[n++] = (uint8_t)(c->w << 7 | 0x7c | c->pp);
        b[n++] = (uint8_t)(c->l << 5 | c->b << 4 | 0x08);
    }
    b[n++] = c->opcode;
    return n + put_modrm(b + n, c);
}

static void try_combo(struct combo *c)
{
    ZydisDecodedInstruction zi;
    uint8_t bytes[32];
    size_t n = build_plain(bytes, c);

    if (n > 15)
        n = 15;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &zi))) {
        // gathers want a mask, products of tiles three different ones
        if (c->enc == ENC_EVEX && c->mem)
            bytes[3] |= 1;
        else if (c->enc == ENC_VEX && !c->mem)
            bytes[2] ^= 2 << 3;
        else
            return;
        if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &zi)))
            return;
    }
    if (forms_banned(&zi))
        return;
    c->mnemonic = (uint16_t)zi.mnemonic;
    c->isa = (uint16_t)zi.meta.isa_set;
    if (!(ncombos & (ncombos + 1))) {
        combos = realloc(combos, 2 * (ncombos + 1) * sizeof(*combos));
        if (!combos)
            abort();
    }
    combos[ncombos++] = *c;
}

static int compare_combos(const void *a, const void *b)
{
    const struct combo *x = a, *y = b;
    int d = (int)x->enc - (int)y->enc;

    return d                                     ? d
           : (int)x->mnemonic - (int)y->mnemonic ? (int)x->mnemonic - (int)y->mnemonic
                                                 : memcmp(x, y, sizeof(*x));
}

void forms_make(void)
{
    struct combo c = { 0 };

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int enc = ENC_LEGACY; enc <= ENC_EVEX; enc++) {
        for (int map = enc == ENC_LEGACY ? 0 : 1; map <= (enc == ENC_EVEX ? 6 : 3); map++) {
            for (int op = 0; op < 256; op++) {
                bool wide = enc == ENC_LEGACY &&
                            ((!map && op >= 0xd8 && op <= 0xdf) ||
                             (map == 1 && (op == 0x01 || op == 0xae || op == 0xc7 || op == 0x1e)));
                bool regs = enc == ENC_LEGACY ||
                            (map == 1 && ((op >= 0x71 && op <= 0x73) || op == 0xae)) ||
                            (map == 2 && (op == 0xf3 || op == 0xc6 || op == 0xc7 || op == 0x49));

                if (enc == ENC_LEGACY && !map &&
                    (op == 0x26 || op == 0x2e || op == 0x36 || op == 0x3e || (op & 0xf0) == 0x40 ||
                     (op >= 0x64 && op <= 0x67) || op == 0xf0 || op == 0xf2 || op == 0xf3 ||
                     op == 0xc4 || op == 0xc5 || op == 0x62 || op == 0x0f))
                    continue;
                if (enc == ENC_LEGACY && map == 1 && (op == 0x38 || op == 0x3a))
                    continue;
                for (int k = 0; k < 4 * 2 * 3 * 2 * 2; k++) {
                    memset(&c, 0, sizeof(c));
                    c.enc = (uint8_t)enc;
                    c.map = (uint8_t)map;
                    c.opcode = (uint8_t)op;
                    c.pp = k & 3;
                    c.w = k >> 2 & 1;
                    c.mem = k >> 3 & 1;
                    c.b = k >> 4 & 1;
                    c.l = (uint8_t)(k >> 5);
                    if (c.l > (enc == ENC_EVEX  ? 2
                               : enc == ENC_VEX ? 1
                                                : 0) ||
                        (c.b && enc != ENC_EVEX))
                        continue;
                    for (int reg = 0; reg < (regs ? 8 : 1); reg++) {
                        for (int rm = 0; rm < (wide && !c.mem ? 8 : 1); rm++) {
                            c.reg = (uint8_t)(regs ? reg : 1);
                            c.rm = (uint8_t)rm;
                            try_combo(&c);
                        }
                    }
                }
            }
        }
    }
    qsort(combos, ncombos, sizeof(*combos), compare_combos);
    groups = malloc(ncombos * sizeof(*groups));
    if (!groups)
        abort();
    for (size_t i = 0; i < ncombos; i++) {
        if (!i || combos[i].mnemonic != combos[i - 1].mnemonic ||
            combos[i].enc != combos[i - 1].enc) {
            groups[ngroups].first = i;
            groups[ngroups].n = 0;
            groups[ngroups++].enc = combos[i].enc;
        }
        groups[ngroups - 1].n++;
    }
}

const struct combo *forms_draw(void)
{
    for (;;) {
        uint32_t kind = rnd(100);
        uint8_t enc = kind < 56 ? ENC_LEGACY : kind < 76 ? ENC_VEX : ENC_EVEX;
        const struct group *g = &groups[rnd((uint32_t)ngroups)];
        const struct combo *c;

        if (g->enc != enc)
            continue;
        c = &combos[g->first + rnd((uint32_t)g->n)];
        if (forms_missing[c->isa] && !chance(1))
            continue;
        return c;
    }
}

const struct combo *forms_of_isa(uint32_t isa)
{
    size_t n = 0, i = 0;

    for (size_t k = 0; k < ncombos; k++)
        n += combos[k].isa == isa;
    if (!n)
        return NULL;
    for (n = rnd((uint32_t)n);; i++) {
        if (combos[i].isa == isa && !n--)
            return &combos[i];
    }
}

bool forms_uses_tiles(uint32_t isa)
{
    return isa == ZYDIS_ISA_SET_AMX_TILE || isa == ZYDIS_ISA_SET_AMX_INT8 ||
           isa == ZYDIS_ISA_SET_AMX_BF16;
}

bool forms_decode(struct piece *p, size_t n)
{
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, p->bytes, n > 15 ? 15 : n, &p->zi, p->op)))
        return false;
    p->len = p->zi.length;
    return true;
}

// Bytes after the opcode: modrm, sib, displacement, immediate; the maximum.
static void random_tail(uint8_t *b, const struct combo *c)
{
    uint32_t k = rnd(100);
    uint8_t mod = c->mem ? (k < 30 ? 0 : k < 70 ? 1 : 2) : 3, reg = c->reg, rm = c->rm;

    if (!rm && !c->mem)
        rm = (uint8_t)rnd(8);
    if (c->mem)
        rm = (uint8_t)(chance(15) ? 4 : rnd(8));
    if (mod == 0 && chance(25))
        rm = 5; // rip
    if (chance(70))
        reg = (uint8_t)rnd(8);
    b[0] = (uint8_t)(mod << 6 | reg << 3 | rm);
    for (int i = 1; i < 15; i++)
        b[i] = (uint8_t)rnd64();
    if (mod == 2 || (mod == 0 && rm == 5)) {
        int32_t d = chance(30) ? (int32_t)rnd64() : (int32_t)rnd(4096) - 2048;

        memcpy(b + (rm == 4 ? 2 : 1), &d, 4);
    }
}

bool forms_random(struct piece *p, const struct combo *c, bool low)
{
    static const uint8_t segs[] = { 0x2e, 0x36, 0x3e, 0x26 };
    static const uint8_t pps[] = { 0, 0x66, 0xf3, 0xf2 };
    size_t n = 0;
    uint32_t seg = rnd(100);
    bool a32 = low && chance(5), rex = chance(60);

    if (c->mem || c->enc == ENC_LEGACY) {
        if (seg < 5)
            p->bytes[n++] = 0x64;
        else if (seg < 10)
            p->bytes[n++] = 0x65;
        else if (seg < 12)
            p->bytes[n++] = segs[rnd(4)];
        if (a32)
            p->bytes[n++] = 0x67;
    }
    if (c->enc == ENC_LEGACY) {
        if (chance(c->mem ? 8 : 1))
            p->bytes[n++] = 0xf0;
        if (chance(6)) // another repeat or size prefix, with or without effect
            p->bytes[n++] = pps[1 + rnd(3)];
        if (c->pp)
            p->bytes[n++] = pps[c->pp];
        if (rex || c->w)
            p->bytes[n++] = (uint8_t)(0x40 | c->w << 3 | (chance(50) ? rnd(8) : 0));
        if (c->map)
            p->bytes[n++] = 0x0f;
        if (c->map >= 2)
            p->bytes[n++] = c->map == 2 ? 0x38 : 0x3a;
    } else if (c->enc == ENC_VEX) {
        uint8_t vvvv = (uint8_t)(chance(50) ? 15 : rnd(16));

        if (c->map == 1 && !c->w && chance(40)) {
            p->bytes[n++] = 0xc5;
            p->bytes[n++] = (uint8_t)(rnd(2) << 7 | vvvv << 3 | c->l << 2 | c->pp);
        } else {
            p->bytes[n++] = 0xc4;
            p->bytes[n++] = (uint8_t)(rnd(8) << 5 | c->map);
            p->bytes[n++] = (uint8_t)(c->w << 7 | vvvv << 3 | c->l << 2 | c->pp);
        }
    } else {
        uint8_t mask = (uint8_t)(chance(40) ? 0 : rnd(8)), z = (uint8_t)(mask && chance(40));

        p->bytes[n++] = 0x62;
        p->bytes[n++] = (uint8_t)(rnd(16) << 4 | c->map);
        p->bytes[n++] = (uint8_t)(c->w << 7 | (chance(50) ? 15 : rnd(16)) << 3 | 4 | c->pp);
        p->bytes[n++] =
            (uint8_t)(z << 7 | c->l << 5 | c->b << 4 | (chance(50) ? 1 : rnd(2)) << 3 | mask);
    }
    p->bytes[n++] = c->opcode;
    if (n > 8)
        return false;
    {
        uint8_t tail[16];

        random_tail(tail, c);
        memcpy(p->bytes + n, tail, 16 - n);
    }
    return forms_decode(p, 15);
}
