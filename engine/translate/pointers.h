// SPDX-License-Identifier: MIT
// Where the addresses of data references come from, with --data=yes: loads of the same block, or
// registers at its beginning; and what registers have at its end (struct spool_data_flow).
#ifndef QUERN_ENGINE_POINTERS_H
#define QUERN_ENGINE_POINTERS_H

#include "engine/emit/tb.h"

// Fills in `from` of the instructions of t, whose records are made; but for its number, *flow.
void pointers_find(struct tb *b, const struct tb_block *t, struct spool_data_flow *flow);
// The block of that number is a new one. @holds(the translation lock)
void pointers_append(struct spool_data_flow *flow, u32 block);

#endif
