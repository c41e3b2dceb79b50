// SPDX-License-Identifier: MIT
//
// Which references follow pointers, from the code of the blocks (--data=yes).
#ifndef QUERN_FINISH_SPOOL_POINTERS_H
#define QUERN_FINISH_SPOOL_POINTERS_H

#include "finish/spool/spool.h"

struct spool_pointers;

// flow: n records of the spool, which are copied.
struct spool_pointers *spool_pointers_new(const struct spool_file *s,
                                          const struct spool_data_flow *flow, size_t n);
void spool_pointers_free(struct spool_pointers *p);

// Whether the address of an instruction that has missed so often comes from memory: by loads of
// which one leads to the next in a circle, as p = p->next; or by a load that has missed at least
// half as often. insn: its number in the block.
bool spool_pointers_bring(const struct spool_pointers *p, const struct spool_block *b,
                          uint32_t insn, uint64_t misses);

#endif
