// SPDX-License-Identifier: MIT
// Exits: how a block ends, and where control continues. A direct exit first leads to a stub behind
// the block, which passes the exit's number to the dispatcher; then it is linked.
#ifndef QUERN_ENGINE_EXITS_H
#define QUERN_ENGINE_EXITS_H

#include "engine/emit/tb.h"

// A direct exit. The client's registers and flags have been restored.
void exits_exit(struct tb *b, u64 target);

// Instruction i, which ends the block: a conditional jump or loop; a jump, call or return through
// register or memory; a system call.
void exits_conditional(struct tb *b, u32 i);
void exits_indirect(struct tb *b, u32 i);
void exits_syscall(struct tb *b, u32 i);

// COLD_EDGE.
void exits_cold(struct tb *b, const struct cold *c);

// The last instruction of a block after which a superblock continues at `next`; and the cold part
// of its side, where control goes elsewhere.
void exits_joint(struct tb *b, u32 i, u64 next);
void exits_side(struct tb *b, const struct cold *c);

// To the dispatcher, with exit_id.
void exits_dispatch(struct tb *b, u32 exit_id);
// The stubs of the exits; index: of the fragment.
void exits_stubs(struct tb *b, u32 index);
// The fragment's second entry, which notes that control enters it (codecache/hotblocks.h).
void exits_watch(struct tb *b, u32 index);
// In its place with --data=yes: goes to C first, which is told the point (objects/alloc.h).
void exits_point(struct tb *b, u32 index, u32 point);

#endif
