// SPDX-License-Identifier: MIT
// Which indirect branches are predicted (branch.h).
#include "engine/translate/branch.h"

#include "engine/count/caches.h"
#include "engine/spool/config.h"

bool branch_is_indirect(const struct insn *in)
{
    return tb_config.branch && (in->kind == INSN_JMP_IND || in->kind == INSN_CALL_IND ||
                                (in->kind == INSN_RET && tb_config.predictor));
}

u64 branch_word(const struct insn *in)
{
    u64 word = (u32)in->pc;

    if (!tb_config.predictor)
        return word;
    if (in->kind == INSN_CALL || in->kind == INSN_RET)
        word |= CACHES_RETURN;
    if (in->kind == INSN_CALL || in->kind == INSN_CALL_IND)
        word |= (u64)in->len << CACHES_LENGTH;
    return word;
}

u32 branch_counter(const struct tb *b, u32 i)
{
    return b->first[i] + (b->insn[i].kind == INSN_RET ? b->cnt[i].brm : b->cnt[i].bim);
}
