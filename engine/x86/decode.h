// SPDX-License-Identifier: MIT
// Wraps Zydis: decodes one client instruction into what the translator needs. Everything that the
// project knows of x86-64 instructions beyond their bytes is here, in operands.c and in
// translate/relocate.c. What Zydis leaves open (sizes of implicit accesses, flags that are only
// written sometimes) is decided here, with the reason beside it.
#ifndef QUERN_ENGINE_DECODE_H
#define QUERN_ENGINE_DECODE_H

#include "engine/x86/insn.h"

// Initializes the decoder, once. probe: test undefined flags on the processor (decode_flags.h).
void decode_init(bool probe);

// Instructions that the processor does not execute: they become INSN_STEP, for emulate.c.
enum decode_emulated {
    DECODE_CPUID = 1u << 0, // cpuid, xgetbv
    DECODE_TIME = 1u << 1,  // rdtsc, rdtscp, rdpid, rdrand, rdseed
};
void decode_emulate(u32 what); // enum decode_emulated

// Detects client requests from now on.
void decode_requests(void);

// Decodes the instruction at pc from `avail` bytes at `code` (at most INSN_BYTES_MAX matter).
// want_refs: also data references and register use, which costs time. Returns its length, 0 when
// the bytes are no known instruction, -1 when they end before the instruction does.
int decode_insn(struct insn *in, u64 pc, const u8 *code, u32 avail, bool want_refs);

#endif
