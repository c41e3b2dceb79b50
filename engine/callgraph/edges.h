// SPDX-License-Identifier: MIT
// The records of the call graph in the spool (struct spool_edge), found by kind, site, target and
// contexts.
//
// Lock order: translation lock, then the lock here, then the spool's.
#ifndef QUERN_ENGINE_CALLGRAPH_EDGES_H
#define QUERN_ENGINE_CALLGRAPH_EDGES_H

#include "engine/base/types.h"
#include "share/spool.h"

void edges_init(void);

// In the forked child.
void edges_fork_child(void);

// The edge from `site` (an instruction of len bytes) to target. @holds(translation lock)
struct spool_edge *edges_get(enum spool_edge_kind kind, u64 site, u32 len, u64 target);
// The same, called by a helper.
struct spool_edge *edges_of(enum spool_edge_kind kind, u64 site, u32 len, u64 target);

// The record with e's key and maps; a new one gets `counters` counters.
struct spool_edge *edges_record(const struct spool_edge *e, u32 counters);

// Makes room for n edges of an earlier run.
void edges_expect(u32 n);
// Makes an edge of an earlier run one of this run, which has made none for its site: its site and
// its target are in that map, except the target of an entry of a linkage table, which is not known
// yet. @holds(translation lock)
void edges_wake(struct spool_edge *e, u32 map);
// Whether it is the one that edges_get() finds: else another module was mapped there meanwhile.
bool edges_is_latest(const struct spool_edge *e);

// The edge whose first counter it is.
struct spool_edge *edges_at(u32 counter);

// The target of an entry of a linkage table, at its first call.
void edges_plt_known(struct spool_edge *entry, u64 target, u64 function);
// spool_edge.plt of an entry of a linkage table; tells entries apart.
u32 edges_plt_number(u64 entry);

// The start of the function that contains addr, for helpers.
u64 edges_function(u64 addr, bool *plt);

#endif
