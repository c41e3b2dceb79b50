// SPDX-License-Identifier: MIT
// Fetches and data references in translated code: the inline checks and their slow paths.
#ifndef QUERN_ENGINE_REFS_H
#define QUERN_ENGINE_REFS_H

#include "engine/emit/tb.h"

// The fetch and the data references of instruction i, before it.
void refs_insn(struct tb *b, u32 i);
// A string instruction, and the accounting of its references.
void refs_string(struct tb *b, u32 i);
// A rep instruction; its registers are saved before it. Returns its struct helperdesc_rep.
u32 refs_string_run(struct tb *b, u32 i);
// Stores the vector registers that a gather or masked move depends on, and its address to h_addr.
// Returns the stub's descriptor.
u32 refs_vector_before(struct tb *b, u32 i);
// COLD_DREF and COLD_IREF.
void refs_cold(struct tb *b, const struct cold *c);

#endif
