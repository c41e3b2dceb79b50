// SPDX-License-Identifier: MIT
// Which feature of a processor an instruction needs.
#ifndef QUERN_ENGINE_ISA_H
#define QUERN_ENGINE_ISA_H

#include <Zydis/Zydis.h>

#include "engine/base/types.h"
#include "share/cpu.h"

// enum cpu_feature; CPU_NONE where every x86-64 has the instruction or ignores it.
u8 isa_feature(const ZydisDecodedInstruction *zi);

const char *isa_word(u32 feature);

#endif
