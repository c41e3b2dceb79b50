// SPDX-License-Identifier: MIT
// The record that a block has in the spool.
#ifndef QUERN_ENGINE_BLOCKRECORD_H
#define QUERN_ENGINE_BLOCKRECORD_H

#include "engine/emit/tb.h"

void blockrecord_init(void);

// Finds or makes that of one of b's blocks, and says what its counters are.
void blockrecord_make(struct tb *b, struct tb_block *t);
// A block's record of another run is one of this run's now.
void blockrecord_take(const struct spool_block *s);
// What blockrecord_make() calls the bytes of code[0..bytes), n instructions.
u32 blockrecord_hash(const u8 *code, u32 bytes, u32 n);
// The counter of executions of b's first n blocks together.
u32 blockrecord_sum(const struct tb *b, u32 n);

#endif
