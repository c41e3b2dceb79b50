// SPDX-License-Identifier: MIT
// Scratch registers and flags during emission (state.h). Instrumentation needs registers and
// clobbers flags; the client's values are then in the thread block. They stay there until a client
// instruction (or the end of the block) needs them: a sequence of checks spills once. The recipe
// table records the state before every host instruction that may fault.
#include "engine/emit/state.h"

#include "engine/thread/thread.h"

// The reserved register (tb.h, given) holds t->record_at again.
static void take_back(struct tb *b, u32 reg)
{
    if (b->given_dirty)
        x86_mov(&b->code, GS(TH_REGS + reg * 8), reg);
    x86_mov(&b->code, reg, GS(TH_RECORD_AT));
    b->spilled |= b->given;
    tb_mark(b);
}

// The client gets the reserved register back for a while.
static void give_back(struct tb *b, u32 reg)
{
    if (!b->log_stored)
        x86_mov(&b->code, GS(TH_RECORD_AT), reg);
    b->log_stored = true;
    b->given_dirty = false;
    x86_mov(&b->code, reg, GS(TH_REGS + reg * 8));
    b->spilled &= (u16)~b->given;
    tb_mark(b);
}

void state_spill(struct tb *b, u32 reg)
{
    if (b->spilled & 1u << reg)
        return;
    if (b->given & 1u << reg) {
        take_back(b, reg);
        return;
    }
    x86_mov(&b->code, GS(TH_REGS + reg * 8), reg);
    b->spilled |= (u16)(1u << reg);
}

void state_unspill(struct tb *b, u32 reg)
{
    if (!(b->spilled & 1u << reg))
        return;
    if (b->given & 1u << reg) {
        give_back(b, reg);
        return;
    }
    x86_mov(&b->code, reg, GS(TH_REGS + reg * 8));
    b->spilled &= (u16) ~(1u << reg);
}

void state_unspill_mask(struct tb *b, u32 mask)
{
    mask &= b->spilled;
    while (mask) {
        u32 reg = (u32)__builtin_ctz(mask);

        state_unspill(b, reg);
        mask &= mask - 1;
    }
}

// Prefers a register that is spilled already, else the one whose next use by the client is farthest
// away.
u32 state_scratch(struct tb *b, u32 avoid)
{
    static const u8 order[] = { 11,    10,    9,     8,     15,    14,    13,   12,
                                R_RBX, R_RDX, R_RCX, R_RSI, R_RDI, R_RBP, R_RAX };
    u32 left = 0, reg;

    avoid |= 1u << R_RSP | b->given;
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
    state_spill(b, reg);
    return reg;
}

void state_flags_free(struct tb *b, u32 live)
{
    if (!live || b->flags_saved)
        return;
    state_spill(b, R_RAX);
    x86_lahf(&b->code);
    x86_seto_r(&b->code, R_RAX);
    x86_mov(&b->code, GS(TH_FLAGS_SAVE), R_RAX);
    b->flags_saved = true;
}

void state_flags_restore(struct tb *b)
{
    if (!b->flags_saved)
        return;
    state_spill(b, R_RAX);
    x86_mov(&b->code, R_RAX, GS(TH_FLAGS_SAVE));
    x86_add_al_i8(&b->code, 0x7f); // overflows exactly when al is 1
    x86_sahf(&b->code);
    b->flags_saved = false;
}

void state_clean(struct tb *b)
{
    state_clean_but(b, 0);
}

void state_clean_but(struct tb *b, u32 regs)
{
    state_flags_restore(b);
    state_unspill_mask(b, 0xffffu & ~(b->given | regs));
    if (b->given)
        state_spill(b, (u32)__builtin_ctz(b->given));
}
