// SPDX-License-Identifier: MIT
//
// The third stage of a run with --calls=yes: costs by place, and calls between functions, in a
// profile of libquern.
#ifndef QUERN_FINISH_CALL_GRAPH_H
#define QUERN_FINISH_CALL_GRAPH_H

#include "finish/places/places.h"

struct call_graph;
struct quern_profile;

// Adds to *totals.
struct call_graph *call_graph_new(const struct spool_file *s, struct places *places,
                                  struct finish_totals *totals);
// Adds the counts of an instruction.
void call_graph_add(struct call_graph *g, const struct spool_walk_insn *in);
// After the last instruction: adds calls and jumps. Returns 0, or -1 if there was not enough
// memory.
int call_graph_finish(struct call_graph *g);
// Its profile; before anything is added it has only the events.
struct quern_profile *call_graph_profile(const struct call_graph *g);
// The file of the function that contains an instruction, whose place is `at`, as a number of
// places_text(): that of its first line.
uint32_t call_graph_file(const struct call_graph *g, uint32_t map, uint64_t pc,
                         const struct symbols_place *at);
void call_graph_free(struct call_graph *g);

#endif
