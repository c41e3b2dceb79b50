// SPDX-License-Identifier: MIT
// From a client address to a fragment.
#ifndef QUERN_ENGINE_TRANSLATE_H
#define QUERN_ENGINE_TRANSLATE_H

#include "engine/codecache/fragment.h"

void translate_init(void);

// Translates the block at pc. @holds(translation lock) Returns NULL when there is no space (flush
// and try again), or when the block cannot be fetched: *fault is then the address that cannot be
// read, else TRANSLATE_NO_FAULT, which is no canonical address.
#define TRANSLATE_NO_FAULT (1ul << 63)
struct fragment *translate_block(u64 pc, u64 *fault);

// A superblock of the blocks that begin at pc[0..n), or of the first of them; NULL if that is not
// possible. @holds(translation lock)
struct fragment *translate_superblock(const u64 *pc, u32 n);

#endif
