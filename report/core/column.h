// SPDX-License-Identifier: MIT
//
// Columns of numbers of 64 or 128 bits, and those of a report: self cost of every function and cost
// of every edge, by side and event, summed over the parts that are selected. Made when first asked
// for, dropped when the selection changes.
#ifndef QUERN_REPORT_CORE_COLUMN_H
#define QUERN_REPORT_CORE_COLUMN_H

#include "report/core/model.h"

// Zeroes. False: no memory.
bool column_init(struct column *c, uint32_t count);
void column_free(struct column *c);
// Sums stop at the ends of 128 bits. False: no memory for 128 bits.
bool column_add(struct column *c, uint32_t i, core_count v);
bool column_set(struct column *c, uint32_t i, core_count v);

static inline core_count column_get(const struct column *c, uint32_t i)
{
    return c->wide ? c->wide[i] : c->narrow[i];
}

// a + b, or the end of 128 bits that it passes.
core_count column_sum(core_count a, core_count b);

// The columns of a side: 0, or why they cannot be made. The event c->events is the number of calls;
// its self column is how often a function was called. Before the edges are linked they are what TOP
// knows.
int column_self(struct core *c, unsigned side, uint32_t event);
int column_edge(struct core *c, unsigned side, uint32_t event);
// Forget all columns and what is known of cycles.
void column_drop(struct core *c);

// Which parts count. The graph of each side is that of its selected parts.
int column_select(struct core *c, const uint8_t *parts);

// Total of the selected parts of a side.
core_count column_total(const struct core *c, unsigned side, uint32_t event);

#endif
