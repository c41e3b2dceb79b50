// SPDX-License-Identifier: MIT
// Which undefined flags of an instruction do not depend on their old values: decode.c treats those
// as written.
#ifndef QUERN_ENGINE_DECODE_FLAGS_H
#define QUERN_ENGINE_DECODE_FLAGS_H

#include <Zydis/Zydis.h>

#include "engine/base/types.h"

// Tests the processor, once, before anything is decoded. bmi1, lzcnt: whether it has these.
void decode_flags_init(bool bmi1, bool lzcnt);

// Flags (FLAG_*) whose values after the instruction do not depend on those before; of a shift, by a
// constant other than 0. Flags that the manuals define may be among them.
u32 decode_flags_independent(ZydisMnemonic m);

#endif
