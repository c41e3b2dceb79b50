// SPDX-License-Identifier: MIT
//
// Of a run with contexts (--separate-callers and its like): what each block has counted in each
// (finish_contexts.c). Used while a spool is read (finish_spool.c).
#ifndef QUERN_CLI_FINISH_CONTEXTS_H
#define QUERN_CLI_FINISH_CONTEXTS_H

#include "finish/finish.h"

// What a block has counted in a context: as many of the sums as the block has counters, from
// `counter` on.
struct finish_account {
    uint32_t block, context;
    uint64_t counter;
};

struct contexts;

struct contexts *finish_contexts_new(const struct finish_spool *s);
// The sums over all threads grow by a thread's counters. *sum has room for *n, and grows.
void finish_contexts_add(struct contexts *c, const uint64_t *slot, uint64_t **sum, uint64_t *n);
// Behind the last thread: blocks that were left in the middle get accounts, too; all of them by
// block, *count of them.
// *bad becomes the number of records that no engine has written.
struct finish_account *finish_contexts_end(struct contexts *c, uint64_t **sum, uint64_t *n,
                                           size_t *count, uint64_t *bad);

#endif
