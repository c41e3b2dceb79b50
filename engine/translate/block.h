// SPDX-License-Identifier: MIT
// The client's instructions of a block, and its live flags.
#ifndef QUERN_ENGINE_BLOCK_H
#define QUERN_ENGINE_BLOCK_H

#include "engine/emit/tb.h"

// Decodes up to `limit` instructions from b->pc on. False when not even one can be fetched; *fault
// is then the address that cannot be read.
bool block_decode(struct tb *b, u32 limit, u64 *fault);

// The same along a path: blocks of up to `limit` instructions each that begin at pc[0..n), as many
// of them as can be one superblock. False when these are less than two. joins: whether the blocks
// that b has may go on at next; asked where the last one's branch leads there.
typedef bool block_joins_fn(const struct tb *b, u64 next);
bool block_decode_along(struct tb *b, u32 limit, const u64 *pc, u32 n, block_joins_fn *joins);

// Whether an instruction is the last of its block.
bool block_ends(const struct insn *in);

// Registers that need not be reloaded before the block's end `in` if they are spilled: it would
// spill them again.
u32 block_takes(const struct insn *in);

#endif
