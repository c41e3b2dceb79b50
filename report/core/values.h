// SPDX-License-Identifier: MIT
//
// What a formula is worth for a function, an edge or the whole program, on a side or between both.
#ifndef QUERN_REPORT_CORE_VALUES_H
#define QUERN_REPORT_CORE_VALUES_H

#include "report/core/formula.h"

enum values_of {
    VALUES_SELF,      // of a function
    VALUES_INCLUSIVE, // of a function
    VALUES_EDGE,      // of an edge, with what its calls call
    VALUES_CALLED,    // how often a function was called; without a formula
    VALUES_CALLS,     // how often an edge was; without a formula
    VALUES_TOTAL,     // the program; the index does not matter
    VALUES_PER_CALL,  // inclusive cost of a function for each time that it was called
};

// Sides. The factor is new / old, never exact, and NaN where old is zero.
enum { VALUES_NEW, VALUES_OLD, VALUES_DIFFERENCE, VALUES_FACTOR };

// Makes the columns that the values need: once, before the first value. The formula may be NULL
// for numbers of calls. 0 or an error.
int values_prepare(struct core *c, const struct formula *f, enum values_of of, unsigned side);
// The same of many rows in 64 bits: false where one of them is not exact or does not fit.
bool values_narrow(const struct core *c, const struct formula *f, enum values_of of, unsigned side,
                   const uint32_t *row, uint32_t n, int64_t *out);
struct value values_get(const struct core *c, struct formula *f, enum values_of of, unsigned side,
                        uint32_t index);

// new - old, and new / old.
struct value values_minus(struct value a, struct value b, int64_t scale);
struct value values_over(struct value a, struct value b);

// Self costs of groups: group[f] is the group of function f, or CORE_NONE. With `parent` a group
// belongs to an earlier one, or to none (CORE_NONE), and includes the cost of its members. The
// formula is computed of each group's sums. 0 or an error.
int values_groups(struct core *c, struct formula *f, unsigned side, const uint32_t *group,
                  const uint32_t *parent, uint32_t groups, struct value *out);

#endif
