// SPDX-License-Identifier: MIT
// What a core must know of an instruction before it is executed (sim/core.h): registers that it
// reads and writes, what units do for it, whether it fuses with its neighbour. Made once, when a
// block is translated for a machine that has a core.
#ifndef QUERN_ENGINE_COREOP_H
#define QUERN_ENGINE_COREOP_H

#include "engine/x86/insn.h"
#include "sim/core.h"

// Called once, before the first.
void coreop_init(void);

// Of an instruction that decode_insn() knows; only pc, bytes, len, kind and cond of it are read.
void coreop_make(struct core_op *op, const struct insn *in);

// Whether a conditional branch is one micro-op with the instruction before it.
bool coreop_fuses(const struct core_op *before, const struct insn *first, const struct insn *branch,
                  enum core_fusing fusing);

#endif
