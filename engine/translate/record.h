// SPDX-License-Identifier: MIT
// The record that a block has in the spool.
#ifndef QUERN_ENGINE_RECORD_H
#define QUERN_ENGINE_RECORD_H

#include "engine/emit/tb.h"

void record_init(void);

// Finds or makes that of one of b's blocks, and says what its counters are.
void record_make(struct tb *b, struct tb_block *t);
// The counter of executions of b's first n blocks together.
u32 record_sum(const struct tb *b, u32 n);

#endif
