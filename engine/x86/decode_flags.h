// SPDX-License-Identifier: MIT
// Which of the flags that an instruction leaves undefined do not depend on their values before it:
// decode.c takes those for written.
#ifndef QUERN_ENGINE_DECODE_FLAGS_H
#define QUERN_ENGINE_DECODE_FLAGS_H

#include <Zydis/Zydis.h>

#include "engine/base/types.h"

// Asks the processor; once, before anything is decoded. bmi1, lzcnt: what it has of these.
void decode_flags_init(bool bmi1, bool lzcnt);

// Flags (FLAG_*) that come out of the instruction independent of what went in; of a shift, by a
// constant other than 0. Flags that the manuals define may be among them.
u32 decode_flags_independent(ZydisMnemonic m);

#endif
