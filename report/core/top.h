// SPDX-License-Identifier: MIT
//
// The first block's costs of the most expensive functions: the first screen shows them before the
// other blocks are loaded; where a side has one part, these self costs are final.
#ifndef QUERN_REPORT_CORE_TOP_H
#define QUERN_REPORT_CORE_TOP_H

#include "report/core/model.h"

// How many functions TOP knows; 0 without one.
uint32_t top_count(const struct core *c);
// How many of them it has all inclusive costs of; of the others only that of the order event.
uint32_t top_inclusive_count(const struct core *c);

// Adds the values of TOP to a column of all functions. 0 or an error.
int top_called(const struct core *c, unsigned side, struct column *to);
int top_self(const struct core *c, unsigned side, uint32_t event, struct column *to);
int top_inclusive(const struct core *c, unsigned side, uint32_t event, struct column *to);

#endif
