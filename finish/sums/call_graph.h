// SPDX-License-Identifier: MIT
//
// The third stage of a run with --calls=yes: costs by place, and calls.
#ifndef QUERN_FINISH_CALL_GRAPH_H
#define QUERN_FINISH_CALL_GRAPH_H

#include "finish/places/places.h"

struct call_graph;

struct call_graph *call_graph_begin(const struct spool_file *s, places_find_fn *place, void *ctx,
                                    struct finish_totals *totals);
void call_graph_insn(struct call_graph *g, const struct spool_walk_insn *in);
// Writes the profile and frees g. 0, or -1 with a sentence in err.
int call_graph_end(struct call_graph *g, const char *output, char *err, size_t err_size);

#endif
