// SPDX-License-Identifier: MIT
// The effective address of a reference (address.h).
#include "engine/emit/address.h"

#include "engine/base/cpu.h"
#include "engine/thread/thread.h"

// r1 := base and index and displacement of the reference.
static void emit_offset(struct tb *b, const struct memref *r, u32 r1)
{
    struct x86 *a = &b->code;
    struct x86_mem m = MEM_X(r->base, r->index, address_log2(r->scale), r->disp);

    if (r->flags & MEMREF_XLAT) {
        x86_movzx8_rr(a, r1, R_RAX);
        x86_lea(a, r1, MEM_X(R_RBX, r1, 0, 0));
    } else if (r->base == REG_RIP ||
               (r->base == REG_NONE && (r->index == REG_NONE || r->disp != (s64)(s32)r->disp))) {
        x86_mov_imm(a, r1, (u64)r->disp);
    } else if (r->flags & MEMREF_A32) {
        m.a32 = true;
        x86_lea32(a, r1, m);
    } else {
        x86_lea(a, r1, m);
    }
}

// r2 := offset of the byte that contains the bit: the signed bit offset >> 3.
static void emit_bit_offset(struct tb *b, const struct memref *r, u32 r2)
{
    struct x86 *a = &b->code;

    if (r->bitlog == 6)
        x86_mov(a, r2, r->bitreg);
    else if (r->bitlog == 5)
        x86_movsxd_rr(a, r2, r->bitreg);
    else
        x86_movsx16_rr(a, r2, r->bitreg);
    x86_sar_ri8(a, r2, 3);
}

void address_emit(struct tb *b, const struct memref *r, u32 r1, u32 r2)
{
    struct x86 *a = &b->code;

    emit_offset(b, r, r1);
    if (r->flags & MEMREF_BITOFF) {
        emit_bit_offset(b, r, r2);
        x86_lea(a, r1, MEM_X(r1, r2, 0, 0));
    }
    if (!(r->flags & (MEMREF_FS | MEMREF_GS)))
        return;
    if (!(r->flags & MEMREF_FS))
        x86_mov(a, r2, GS(TH_CLIENT_GS));
    else if (cpu.fsgsbase)
        x86_rdfsbase_r(a, r2);
    else
        x86_mov(a, r2, GS(TH_CLIENT_FS));
    x86_lea(a, r1, MEM_X(r1, r2, 0, 0));
}

u32 address_regs(const struct memref *r)
{
    u32 m = 0;

    if (r->base < 16)
        m |= 1u << r->base;
    if (r->index < 16)
        m |= 1u << r->index;
    if (r->flags & MEMREF_BITOFF)
        m |= 1u << r->bitreg;
    if (r->flags & MEMREF_XLAT)
        m |= 1u << R_RAX | 1u << R_RBX;
    return m;
}
