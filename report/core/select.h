// SPDX-License-Identifier: MIT
//
// Which functions and calls a call graph shows: at most 400, those that cost most around a function
// or of all. The others are summed in two nodes, callers above and callees below.
#ifndef QUERN_REPORT_CORE_SELECT_H
#define QUERN_REPORT_CORE_SELECT_H

#include "report/core/values.h"

enum { SELECT_NODES = 400, SELECT_EDGES = 2000 };

enum {                             // in place of a function
    SELECT_ABOVE = UINT32_MAX - 1, // other callers
    SELECT_BELOW = UINT32_MAX - 2, // other callees
};

struct select_node {
    uint32_t func;  // or SELECT_ABOVE, SELECT_BELOW
    int32_t depth;  // from the focus: below 0 a caller; 0 without a focus
    uint32_t cycle; // the cycle that it represents, whose first function `func` is; 0: none
};

struct select_edge {
    uint32_t from, to; // nodes
    uint32_t edge;     // CORE_NONE: several, of "others" or of a cycle
    struct value value;
    struct value calls;
};

struct select_wish {
    struct formula *formula; // not a ratio
    unsigned side;
    uint32_t focus;                // a function, or CORE_NONE: all
    uint32_t up, down;             // how far from the focus
    double least_node, least_edge; // magnitudes of inclusive cost, of an edge's cost
    uint32_t most;                 // nodes; at most SELECT_NODES
    const uint8_t *mask;           // by function: 0: hidden. NULL: none is
    uint32_t fold; // cycles of so many functions at most are one node; not of a difference. 0: none
};

struct select_graph {
    struct select_node *node;
    uint32_t nodes;
    struct select_edge *edge; // at most SELECT_EDGES, the most expensive
    uint32_t edges;
    uint32_t left_out; // functions within reach that only "others" contains
};

// 0 or an error; to be freed with select_free().
int select_make(struct core *c, const struct select_wish *w, struct select_graph *out);
void select_free(struct select_graph *g);

#endif
