// SPDX-License-Identifier: MIT
// What a core must know of an instruction before it is executed (sim/core.h): registers that it
// reads and writes, what units do for it, with which branches it fuses. Made once, when a
// block is translated for a machine that has a core.
#ifndef QUERN_ENGINE_COREOP_H
#define QUERN_ENGINE_COREOP_H

#include "engine/x86/insn.h"
#include "sim/core.h"

// Called once, before the first.
void coreop_init(void);

// Of an instruction that decode_insn() knows; only pc, bytes, len, kind and cond of it are read.
// fusing: of the machine.
void coreop_make(struct core_op *op, const struct insn *in, enum core_fusing fusing);

#endif
