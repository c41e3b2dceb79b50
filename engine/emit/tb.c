// SPDX-License-Identifier: MIT
// Bookkeeping of the block under translation (tb.h): recipes, relocations, cold parts.
#include "engine/emit/tb.h"

void tb_mark(struct tb *b)
{
    struct draft *d = &b->draft;
    u32 flags = (b->flags_saved ? RECIPE_FLAGS_SAVED : 0u) | (b->bumped ? RECIPE_BUMPED : 0u) |
                (b->in_rep ? RECIPE_REP : 0u) | (b->given ? RECIPE_RECORD | b->log_state : 0u);
    struct recipe r = { (u16)tb_off(b), (u16)b->cur, b->spilled, (u16)flags };

    if (d->nrecipes) {
        struct recipe *l = &d->recipe[d->nrecipes - 1];

        if (l->insn == r.insn && l->spilled == r.spilled && l->flags == r.flags)
            return;
        if (l->off == r.off) {
            *l = r;
            return;
        }
    }
    if (d->nrecipes == FRAGMENT_RECIPES_MAX) {
        b->overflow = true;
        return;
    }
    d->recipe[d->nrecipes++] = r;
}

void tb_reloc(struct tb *b, u32 off)
{
    struct draft *d = &b->draft;

    if (d->nrelocs == FRAGMENT_RELOCS_MAX) {
        b->overflow = true;
        return;
    }
    d->reloc[d->nrelocs++] = (u16)off;
}

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

void tb_part(struct tb *b, enum spool_code_kind kind, u32 insn)
{
    struct spool_code_part p = { tb_off(b), (u16)insn, (u16)kind };

    if (b->dumped && b->nparts < TB_PARTS_MAX)
        b->part[b->nparts++] = p;
}

struct cold *tb_cold(struct tb *b, enum cold_kind kind, struct x86_label from)
{
    struct cold *c;

    if (b->ncold == TB_COLD_MAX) {
        b->overflow = true;
        b->ncold--;
    }
    c = &b->cold[b->ncold++];
    c->kind = (u8)kind;
    c->flags_saved = b->flags_saved;
    c->spilled = b->spilled;
    c->insn = (u16)b->cur;
    c->from = from;
    c->back = x86_here(&b->code);
    return c;
}

void tb_cold_begin(struct tb *b, const struct cold *c)
{
    x86_land(&b->code, c->from);
    b->spilled = c->spilled;
    b->flags_saved = c->flags_saved;
    b->cur = c->insn;
    tb_part(b, SPOOL_CODE_COLD, c->insn);
}
