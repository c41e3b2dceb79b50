// SPDX-License-Identifier: MIT
//
// Cycles and inclusive costs, by the rules of libquern: functions that reach each other are a
// cycle, which is taken as one function; the inclusive cost is the self cost plus the calls that
// leave it.
#ifndef QUERN_REPORT_CORE_GRAPH_H
#define QUERN_REPORT_CORE_GRAPH_H

#include "report/core/model.h"

// Finds the cycles of a side, of its selected parts. 0 or an error.
int graph_cycles(struct core *c, unsigned side);

// Inclusive costs of all functions; before the edges are linked, of the functions in TOP.
int graph_inclusive(struct core *c, unsigned side, uint32_t event);

// Take functions of a cycle separately: there are no cycles, the inclusive cost of a function is
// its self cost plus all calls except those to itself.
void graph_detect(struct core *c, bool cycles);

// Does the edge stay in a cycle, or in a function? Its cost then adds nothing to inclusive costs.
bool graph_inside(const struct core *c, unsigned side, uint32_t edge);

#endif
