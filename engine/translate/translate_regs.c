// SPDX-License-Identifier: MIT
// Scratch registers and flags during emission. Instrumentation needs registers and clobbers flags; the client's values then lie in
// the thread block. They stay there until a client instruction (or the end of the block) needs them back, so that a run of checks
// spills once. The recipe table records the state before every host instruction that may fault.
#include "engine/translate/translate.h"

u32 tb_off(const struct tb *b)
{
    return (u32)(b->e.p - b->base);
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
    emit_gs_store(&b->e, TH_REGS + reg * 8, reg);
    b->spilled |= (u16)(1u << reg);
}

void tb_unspill(struct tb *b, u32 reg)
{
    if (!(b->spilled & 1u << reg))
        return;
    emit_gs_load(&b->e, reg, TH_REGS + reg * 8);
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

// Prefers a register that is free already, else the one whose next use by the client is farthest away.
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
    emit_u8(&b->e, 0x9f); // lahf
    emit_u8(&b->e, 0x0f); // seto al
    emit_u8(&b->e, 0x90);
    emit_u8(&b->e, 0xc0);
    emit_gs_store(&b->e, TH_FLAGS_SAVE, R_RAX);
    b->flags_saved = true;
}

void tb_flags_restore(struct tb *b)
{
    if (!b->flags_saved)
        return;
    tb_spill(b, R_RAX);
    emit_gs_load(&b->e, R_RAX, TH_FLAGS_SAVE);
    emit_u8(&b->e, 0x04); // add $0x7f, %al: overflows exactly when al is 1
    emit_u8(&b->e, 0x7f);
    emit_u8(&b->e, 0x9e); // sahf
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

u32 tb_rel32(struct tb *b, u32 opcode_len, const u8 *opcode, u64 target)
{
    u32 off;

    emit_bytes(&b->e, opcode, opcode_len);
    off = tb_off(b);
    tb_reloc(b, off);
    emit_u32(&b->e, (u32)(target - ((u64)b->e.p + 4)));
    return off;
}

void tb_patch(struct tb *b, u32 rel32_off, u32 target_off)
{
    u32 rel = target_off - (rel32_off + 4);

    if (!b->e.full)
        __builtin_memcpy(b->base + rel32_off, &rel, 4);
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
    c->from2 = 0;
    c->spilled = b->spilled;
    c->flags_saved = b->flags_saved;
    return c;
}
