// SPDX-License-Identifier: MIT
// Where the client's registers and flags are, at the point of emission.
#ifndef QUERN_ENGINE_STATE_H
#define QUERN_ENGINE_STATE_H

#include "engine/emit/tb.h"

// A scratch register outside of `avoid`: its client value is in the thread block.
u32 state_scratch(struct tb *b, u32 avoid);
void state_spill(struct tb *b, u32 reg);
void state_unspill(struct tb *b, u32 reg);
void state_unspill_mask(struct tb *b, u32 mask);

// The flags may be clobbered from here on; `live`: those that the client still needs.
void state_flags_free(struct tb *b, u32 live);
void state_flags_restore(struct tb *b);

// Restores every client register and flag, except the reserved register.
void state_clean(struct tb *b);
// Restores all except these, too.
void state_clean_but(struct tb *b, u32 regs);

#endif
