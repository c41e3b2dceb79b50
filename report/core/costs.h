// SPDX-License-Identifier: MIT
//
// The columns of a report: self cost of every function and cost of every edge, by side and event,
// summed over the selected parts. Computed at the first request, dropped when the selection
// changes.
#ifndef QUERN_REPORT_CORE_COSTS_H
#define QUERN_REPORT_CORE_COSTS_H

#include "report/core/model.h"

// The columns of a side: 0, or why they cannot be made. The event c->events is the number of calls;
// its self column is how often a function was called. Before the edges are linked they are what TOP
// knows.
int costs_self(struct core *c, unsigned side, uint32_t event);
int costs_edge(struct core *c, unsigned side, uint32_t event);
// Forget all columns and what is known of cycles.
void costs_drop(struct core *c);

// Which parts count. The graph of each side is that of its selected parts.
int costs_select(struct core *c, const uint8_t *parts);

// Total of the selected parts of a side.
core_count costs_total(const struct core *c, unsigned side, uint32_t event);

#endif
