// SPDX-License-Identifier: MIT
// Calls of the helpers' stubs (helpercall.h).
#include "engine/emit/helpercall.h"

#include "engine/thread/thread.h"

#define CALL_BYTES (9 + 9 + 5) // before the return address

void helpercall_emit(struct tb *b, u64 stub)
{
    struct x86 *a = &b->code;

    x86_nops(a, -(tb_off(b) + CALL_BYTES + HELPERDESC_AT) & 3);
    x86_mov(a, GS(TH_CLIENT_SP), R_RSP);
    x86_mov(a, R_RSP, GS(TH_ENGINE_SP));
    tb_call_out(b, stub);
    x86_mov(a, R_RSP, GS(TH_CLIENT_SP));
}

void helpercall_data(struct tb *b, const void *desc, u32 size)
{
    tb_part(b, SPOOL_CODE_DATA, b->cur);
    x86_copy(&b->code, desc, size);
    tb_part(b, SPOOL_CODE_COLD, b->cur);
}

void helpercall_back(struct tb *b, u64 back, const void *desc, u32 size)
{
    x86_fix(&b->code, x86_jmp(&b->code), back);
    helpercall_data(b, desc, size);
}

void helpercall_describe(struct tb *b, u32 low, u32 high)
{
    x86_mov32_mi(&b->code, GS(TH_H_DESC), low);
    x86_mov32_mi(&b->code, GS(TH_H_DESC + 4), high);
}
