// SPDX-License-Identifier: MIT
// Scratch registers and flags during emission. Instrumentation needs registers and clobbers flags;
// the client's values then lie in the thread block. They stay there until a client instruction (or
// the end of the block) needs them back, so that a run of checks spills once. The recipe table
// records the state before every host instruction that may fault.
#include "engine/translate/translate.h"

u32 tb_off(const struct tb *b)
{
    return (u32)(b->code.p - b->code.start);
}

void tb_mark(struct tb *b)
{
    struct recipe r = { (u16)tb_off(b), (u16)b->cur, b->spilled,
                        (u16)((b->flags_saved ? RECIPE_FLAGS_SAVED : 0) |
                              (b->bumped ? RECIPE_BUMPED : 0) | (b->in_rep ? RECIPE_REP : 0)) };

    if (b->nrecipes) {
        struct recipe *l = &b->recipe[b->nrecipes - 1];

        if (l->insn == r.insn && l->spilled == r.spilled && l->flags == r.flags)
            return;
        if (l->off == r.off) {
            *l = r;
            return;
        }
    }
    if (b->nrecipes == TB_RECIPES_MAX) {
        b->overflow = true;
        return;
    }
    b->recipe[b->nrecipes++] = r;
}

void tb_spill(struct tb *b, u32 reg)
{
    if (b->spilled & 1u << reg)
        return;
    x86_mov(&b->code, GS(TH_REGS + reg * 8), reg);
    b->spilled |= (u16)(1u << reg);
}

void tb_unspill(struct tb *b, u32 reg)
{
    if (!(b->spilled & 1u << reg))
        return;
    x86_mov(&b->code, reg, GS(TH_REGS + reg * 8));
    b->spilled &= (u16) ~(1u << reg);
}

void tb_unspill_mask(struct tb *b, u32 mask)
{
    mask &= b->spilled;
    while (mask) {
        u32 reg = (u32)__builtin_ctz(mask);

        tb_unspill(b, reg);
        mask &= mask - 1;
    }
}

// Prefers a register that is free already, else the one whose next use by the client is farthest
// away.
u32 tb_scratch(struct tb *b, u32 avoid)
{
    static const u8 order[] = { 11,    10,    9,     8,     15,    14,    13,   12,
                                R_RBX, R_RDX, R_RCX, R_RSI, R_RDI, R_RBP, R_RAX };
    u32 left = 0, reg;

    avoid |= 1u << R_RSP;
    for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
        if ((b->spilled & ~avoid) & 1u << order[i])
            return order[i];
    }
    for (u32 i = 0; i < ARRAY_SIZE(order); i++)
        left |= 1u << order[i];
    left &= ~avoid;
    for (u32 i = b->cur; i < b->n && (left & ~b->insn[i].regs); i++)
        left &= ~b->insn[i].regs;
    reg = R_RAX;
    for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
        if (left & 1u << order[i]) {
            reg = order[i];
            break;
        }
    }
    tb_spill(b, reg);
    return reg;
}

void tb_flags_free(struct tb *b, u32 live)
{
    if (!live || b->flags_saved)
        return;
    tb_spill(b, R_RAX);
    x86_lahf(&b->code);
    x86_seto_r(&b->code, R_RAX);
    x86_mov(&b->code, GS(TH_FLAGS_SAVE), R_RAX);
    b->flags_saved = true;
}

void tb_flags_restore(struct tb *b)
{
    if (!b->flags_saved)
        return;
    tb_spill(b, R_RAX);
    x86_mov(&b->code, R_RAX, GS(TH_FLAGS_SAVE));
    x86_add_al_i8(&b->code, 0x7f); // overflows exactly when al is 1
    x86_sahf(&b->code);
    b->flags_saved = false;
}

void tb_clean(struct tb *b)
{
    tb_flags_restore(b);
    tb_unspill_mask(b, 0xffff);
}

void tb_reloc(struct tb *b, u32 off)
{
    if (b->nrelocs == TB_RELOCS_MAX) {
        b->overflow = true;
        return;
    }
    b->reloc[b->nrelocs++] = (u16)off;
}

// A branch whose target lies outside of the fragment, so that a copy has to displace it anew.
static void branch_out(struct tb *b, struct x86_label l, u64 target)
{
    x86_fix(&b->code, l, target);
    tb_reloc(b, l.at);
}

void tb_jmp_out(struct tb *b, u64 target)
{
    branch_out(b, x86_jmp(&b->code), target);
}

void tb_call_out(struct tb *b, u64 target)
{
    branch_out(b, x86_call(&b->code), target);
}

struct cold *tb_cold(struct tb *b, u32 kind)
{
    struct cold *c;

    if (b->ncold == TB_COLD_MAX) {
        b->overflow = true;
        b->ncold--;
    }
    c = &b->cold[b->ncold++];
    c->kind = (u8)kind;
    c->insn = (u16)b->cur;
    c->from2.bytes = 0;
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
    return c;
}
