// SPDX-License-Identifier: MIT
//
// Layout of a call graph in layers, callers above callees (Sugiyama, Tagawa and Toda): edges that
// close a circle are reversed, nodes get layers, long edges get a point in each layer between. Each
// layer is ordered for few crossings, and gets coordinates without overlap.
#ifndef QUERN_REPORT_CORE_LAYERED_H
#define QUERN_REPORT_CORE_LAYERED_H

#include "report/core/base.h"

enum { LAYERED_NODES = 512, LAYERED_EDGES = 8192 };

struct layered_node {
    double w, h;    // given
    double x, y;    // made: the middle
    uint32_t layer; // made, from 0
};

struct layered_edge {
    uint32_t from, to; // given
    double weight;     // given: how straight it shall be
    uint32_t first,
        points; // made: in layered.point, from `from` to `to`; of an edge to itself none
};

struct layered_point {
    double x, y;
};

struct layered {
    struct layered_node *node;
    uint32_t nodes;
    struct layered_edge *edge;
    uint32_t edges;
    double gap_x, gap_y;         // given: between neighbours, between layers
    struct layered_point *point; // made, to be freed with heap_put()
    uint32_t points;
    double width, height; // made
    uint32_t crossings;   // made
};

// 0 or an error: CORE_WRONG for more than the limits or an edge to no node.
int layered_make(struct layered *l);

#endif
