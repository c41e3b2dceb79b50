// SPDX-License-Identifier: MIT
// Client instructions made to run at another address.
#ifndef QUERN_ENGINE_RELOCATE_H
#define QUERN_ENGINE_RELOCATE_H

#include "engine/emit/tb.h"

// Emits the client instruction with its memory operand made reachable. Registers it uses have been
// unspilled.
void relocate_insn(struct tb *b, const struct insn *in);
// A mov of an indirect branch's target to `reg`, which has been spilled.
void relocate_target(struct tb *b, const struct insn *in, u32 reg);
// jrcxz, loop and their like, to a label of their own.
struct x86_label relocate_loop(struct tb *b, const struct insn *in);
// Pushes a constant (a return address).
void relocate_push(struct tb *b, u64 value);

#endif
