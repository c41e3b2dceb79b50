// SPDX-License-Identifier: MIT
// Relocation: client instructions changed to have the same effect at another address.
#ifndef QUERN_ENGINE_RELOCATE_H
#define QUERN_ENGINE_RELOCATE_H

#include "engine/emit/tb.h"

// Emits the client instruction with its memory operand made reachable. The registers that it uses
// have been unspilled.
void relocate_insn(struct tb *b, const struct insn *in);
// Emits a mov of an indirect branch's target to `reg`, which has been spilled.
void relocate_target(struct tb *b, const struct insn *in, u32 reg);
// Emits jrcxz, loop or the like; returns its label.
struct x86_label relocate_loop(struct tb *b, const struct insn *in);
// Emits a push of a constant (a return address).
void relocate_push(struct tb *b, u64 value);

#endif
