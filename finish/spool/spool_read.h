// SPDX-License-Identifier: MIT
//
// What the files of this stage share: the bytes of a spool, and the records of its blocks.
#ifndef QUERN_FINISH_SPOOL_READ_H
#define QUERN_FINISH_SPOOL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "share/spool.h"

// Reads as much as the file has. Returns the number of bytes, or -1 with errno.
ssize_t spool_read(int fd, void *to, size_t n, uint64_t off);
// The next piece of the file in [*at, end) that is not a hole; false: there is none. On a file
// system without holes it is the whole range.
bool spool_read_next(int fd, uint64_t *at, uint64_t end, uint64_t *to);
// Reads into zeroed memory; skips holes. Returns 0, or -1 with errno.
int spool_read_sparse(int fd, void *to, size_t n, uint64_t off);

static inline uint64_t spool_read_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t spool_read_block_size(const struct spool_block *b)
{
    return (sizeof(*b) + b->insns * sizeof(struct spool_insn) + 7) & ~UINT64_C(7);
}

// A record that was never written, as in a hole: none follows it.
static inline bool spool_read_is_empty(const struct spool_block *b)
{
    return b->pc == 0 && b->shape == 0 && b->counter == 0;
}

#endif
