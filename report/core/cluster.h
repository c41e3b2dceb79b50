// SPDX-License-Identifier: MIT
//
// Layout of a call graph whose nodes are in groups. Each group is laid out by itself, then the
// groups as boxes: neither boxes nor nodes overlap, and no node is in a box other than its
// own.
#ifndef QUERN_REPORT_CORE_CLUSTER_H
#define QUERN_REPORT_CORE_CLUSTER_H

#include "report/core/layered.h"

struct cluster_box {
    double w, h; // given: the least; made
    double x, y; // made: the upper left corner
};

// The margin of a box around its nodes.
struct cluster_edge {
    double left, top, right, bottom;
};

// As layered_make(). group[n]: the box of a node, or CORE_NONE: it is in none. A box without nodes
// stays as it is. Crossings are those within boxes and those of the calls between them.
int cluster_make(struct layered *l, const uint32_t *group, struct cluster_box *box, uint32_t boxes,
                 struct cluster_edge edge);

#endif
