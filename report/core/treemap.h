// SPDX-License-Identifier: MIT
//
// Treemaps: a rectangle is shared among parts in proportion to their costs, in pieces that are as
// square as they can be (squarified treemaps, Bruls, Huizing and van Wijk).
#ifndef QUERN_REPORT_CORE_TREEMAP_H
#define QUERN_REPORT_CORE_TREEMAP_H

#include "report/core/base.h"

struct treemap_rect {
    double x, y, w, h;
};

// `value`: costs, the largest first, none below zero. The area of `room` corresponds to `whole`:
// when `whole` is more than their sum, the difference stays free. Parts of cost 0 have no area.
void treemap_squarify(const double *value, uint32_t n, double whole, struct treemap_rect room,
                      struct treemap_rect *out);

// Margins of nested boxes: `head` above (the name) and `edge` around stay free; a box narrower
// or lower than `least` shows nothing.
struct treemap_style {
    double head, edge, least;
};

// Nested boxes. Parents (CORE_NONE: none) come before their members, and the members of a box in
// the order of their values, the largest first. A box that shows nothing gets no area. 0 or an
// error.
int treemap_nest(const double *value, const uint32_t *parent, uint32_t n, double whole,
                 struct treemap_rect room, struct treemap_style style, struct treemap_rect *out);

#endif
