// SPDX-License-Identifier: MIT
// --replay: translated code that records (replay/log.h). Client r11 is given away: it holds t->log,
// where the fragment's record begins, and behind the record once that is complete; the client's is
// in its slot, and changes places with t->log around the instructions that use it.
#ifndef QUERN_ENGINE_DEFER_H
#define QUERN_ENGINE_DEFER_H

#include "engine/emit/tb.h"

// A fragment begins: before its first byte; and its record, behind the self-check.
void defer_begin(struct tb *b);
void defer_open(struct tb *b);

// Instead of refs_insn().
void defer_insn(struct tb *b, u32 i);
// Instead of refs_string(), of a rep instruction.
void defer_string(struct tb *b, u32 i);

// Nothing of the block can fault any more but instruction i, or nothing (b->n), and only what
// defer_target() stores is missing.
void defer_close(struct tb *b, u32 i);
// An indirect branch's target is in rcx, which has been spilled.
void defer_target(struct tb *b);

#endif
