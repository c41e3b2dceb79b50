// SPDX-License-Identifier: MIT
// The records of the call graph in the spool (struct spool_edge), each of which is found by its
// kind, site, target and contexts.
//
// Lock order: translation lock, then the lock here, then the spool's.
#ifndef QUERN_ENGINE_COUNT_EDGES_H
#define QUERN_ENGINE_COUNT_EDGES_H

#include "engine/base/types.h"
#include "share/spool.h"

void edges_init(void);

// In the forked child.
void edges_fork_child(void);

// Where control goes from `site` (an instruction of len bytes) to target. @holds(translation lock)
struct spool_edge *edges_get(enum spool_edge_kind kind, u64 site, u32 len, u64 target);
// The same from a helper.
struct spool_edge *edges_of(enum spool_edge_kind kind, u64 site, u32 len, u64 target);

// The record that is like e in what it is found by and in its maps; a new one gets so many
// counters.
struct spool_edge *edges_record(const struct spool_edge *e, u32 counters);

// Whose first counter it is.
struct spool_edge *edges_at(u32 counter);

// What an entry of a linkage table leads to, the first time.
void edges_plt_known(struct spool_edge *entry, u64 target, u64 function);
// Of an entry of a linkage table, which tells it from the others: spool_edge.plt.
u32 edges_plt_number(u64 entry);

// The beginning of the function that holds addr, for helpers.
u64 edges_function(u64 addr, bool *plt);

#endif
