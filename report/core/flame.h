// SPDX-License-Identifier: MIT
//
// Flame graphs of a call graph. It holds no stacks: the cost of a path f0 -> f1 -> ... -> fk is
// bounded, not known. Each edge is at most what the path costs, and of the cost that enters a
// function between, only what leaves off the path can be missing:
//
//     from  max(0, sum of its edges - sum of the inclusive costs of the functions between)
//     to    its least edge
//
// Both ends agree, for example, as long as every function between has one caller. A cycle is one
// function here.
#ifndef QUERN_REPORT_CORE_FLAME_H
#define QUERN_REPORT_CORE_FLAME_H

#include "report/core/values.h"

enum flame_kind {
    FLAME_DOWN, // what a function (CORE_NONE: the program) calls
    // The callers of a function, by inclusive cost; of the program: by every function's self cost.
    FLAME_UP,
    FLAME_UP_SELF, // who calls a function, for its self cost
};

struct flame_box {
    uint32_t func;
    uint32_t parent; // a box, or CORE_NONE
    uint32_t depth;
    uint32_t flags; // enum flame_flag
    // Parts of the whole, 0 to 1; in proportion to the edges: an estimate between the bounds.
    double x, width;
    core_count low, high; // in units of the formula; equal: exact
};

enum flame_flag {
    FLAME_CYCLE = 1,
    FLAME_CUT = 2 /* children were left out: too narrow or too many */
};

struct flame {
    struct flame_box *box; // parents before children, siblings by cost
    uint32_t count;
    core_count total; // what width 1 is
    // First boxes left out because they are too narrow, and their total cost.
    core_count rest;
    uint32_t rest_count;
};

// Boxes narrower than `least` (of the whole) are left out, but within `from` to `to` only those
// narrower than `fine`, and no more than `most` are made. Of functions whose mask is 0 there are
// none but the root, nor boxes on top of them; all others keep their width. NULL: of
// all. The formula must not be a ratio.
struct flame_wish {
    struct formula *formula;
    unsigned side;
    uint32_t root;
    enum flame_kind kind;
    double least;
    double fine, from, to;
    uint32_t most;
    const uint8_t *mask;
};

// 0 or an error; to be freed with heap_put(out->box).
int flame_make(struct core *c, const struct flame_wish *w, struct flame *out);

// The bounds themselves: of `edges` edges that sum up to `sum`, the least of which is `least`, with
// the functions between costing `between`.
static inline core_count flame_low(core_count sum, core_count between)
{
    return sum > between ? sum - between : 0;
}

#endif
