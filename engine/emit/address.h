// SPDX-License-Identifier: MIT
// The effective address of a data reference, in translated code.
#ifndef QUERN_ENGINE_ADDRESS_H
#define QUERN_ENGINE_ADDRESS_H

#include "engine/emit/tb.h"

// r1 := effective address of the reference; clobbers r2. Registers of the address hold the client's
// values; with a bit offset the flags are free.
void address_emit(struct tb *b, const struct memref *r, u32 r1, u32 r2);

// The registers that the address is computed from.
u32 address_regs(const struct memref *r);

static inline u32 address_log2(u32 v)
{
    return v ? (u32)__builtin_ctz(v) : 0;
}

#endif
