// SPDX-License-Identifier: MIT
//
// All callers or callees of a function with their distance, and the heaviest path to it.
#ifndef QUERN_REPORT_CORE_REACH_H
#define QUERN_REPORT_CORE_REACH_H

#include "report/core/values.h"

enum reach_direction { REACH_CALLEES, REACH_CALLERS };

// All reachable functions, the nearest first, the function itself (distance 0) included; `func` and
// `distance` have space for all functions. Their number, or an error. Of the side's selected parts;
// side VALUES_DIFFERENCE: of both.
int64_t reach_all(struct core *c, uint32_t func, enum reach_direction direction, unsigned side,
                  uint32_t *func_out, uint32_t *distance);

// The same from several functions, in both directions: `mask` has the functions to begin with, and
// afterwards also all their callers and callees, direct and indirect. 0 or an error.
int reach_both(struct core *c, unsigned side, uint8_t *mask);

// The path to a function through the most expensive caller of each: edges, the last one ends in the
// function. Stops before a function that is already on the path. Their number, at most `max`, or an
// error.
int64_t reach_path(struct core *c, uint32_t func, struct formula *f, unsigned side, uint32_t *edge,
                   uint32_t max);

#endif
