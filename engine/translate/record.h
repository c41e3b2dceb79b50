// SPDX-License-Identifier: MIT
// The record that a block has in the spool.
#ifndef QUERN_ENGINE_RECORD_H
#define QUERN_ENGINE_RECORD_H

#include "engine/emit/tb.h"

void record_init(void);

// Finds or makes the record; returns its index and sets the block's counters.
u32 record_of(struct tb *b);

#endif
