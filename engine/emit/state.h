// SPDX-License-Identifier: MIT
// Where the client's registers and flags are, at the point of emission.
#ifndef QUERN_ENGINE_STATE_H
#define QUERN_ENGINE_STATE_H

#include "engine/emit/tb.h"

// A register outside of `avoid` whose client value is in its slot.
u32 state_scratch(struct tb *b, u32 avoid);
void state_spill(struct tb *b, u32 reg);
void state_unspill(struct tb *b, u32 reg);
void state_unspill_mask(struct tb *b, u32 mask);

// The flags may be clobbered from here on; `live`: those that the client still needs.
void state_flags_free(struct tb *b, u32 live);
void state_flags_restore(struct tb *b);

// Every client register and flag in its place, but for the one that is given away.
void state_clean(struct tb *b);
// But also these.
void state_clean_but(struct tb *b, u32 regs);

#endif
