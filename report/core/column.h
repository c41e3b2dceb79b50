// SPDX-License-Identifier: MIT
//
// Columns of numbers of 64 or 128 bits.
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

#endif
