// SPDX-License-Identifier: MIT
// Data references and registers of an instruction, from its explicit and implied operands.
#ifndef QUERN_ENGINE_OPERANDS_H
#define QUERN_ENGINE_OPERANDS_H

#include <Zydis/Zydis.h>

#include "engine/x86/insn.h"

// Hardware number of a general register of any width, REG_NONE for others.
u8 operands_gpr(ZydisRegister r);

// Fills in refs, nrefs, regs and the vector fields. in->kind, flags and string fields are known.
void operands_collect(struct insn *in, const ZydisDecodedInstruction *zi,
                      const ZydisDecodedOperand *ops);

#endif
