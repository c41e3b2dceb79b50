// SPDX-License-Identifier: MIT
// A block's record in the spool.
#ifndef QUERN_ENGINE_BLOCKRECORD_H
#define QUERN_ENGINE_BLOCKRECORD_H

#include "engine/emit/tb.h"

void blockrecord_init(void);

// Finds or makes the record of one of b's blocks, and sets its counters.
void blockrecord_make(struct tb *b, struct tb_block *t);
// Makes room for n blocks of an earlier run, n below 2^24.
void blockrecord_expect(u32 n);
// Adds the record of a block from an earlier run, and with --calls=yes the events of its counters.
void blockrecord_take(const struct spool_block *s);
// The hash that blockrecord_make() gives code[0..bytes), n instructions.
u32 blockrecord_hash(const u8 *code, u32 bytes, u32 n);
// The counter of the executions of b's first n blocks as one path.
u32 blockrecord_sum(const struct tb *b, u32 n);

#endif
