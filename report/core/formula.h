// SPDX-License-Identifier: MIT
//
// Formulas over events: + - * / ( ), min(A, B), max(A, B), numbers, names of events, and a number
// before a name or a parenthesis, which multiplies it ("10 L1m", as KCachegrind writes). They apply
// to sums, so a ratio of a folder is that of the folder's sums, never a sum of ratios.
//
// Values stay exact, in 128 bits, as long as only + - * min max of exact ones are taken and nothing
// overflows; a quotient, or a value of more than 128 bits, is a double and says so.
#ifndef QUERN_REPORT_CORE_FORMULA_H
#define QUERN_REPORT_CORE_FORMULA_H

#include "report/core/model.h"

struct value {
    core_count exact; // in units of 1/scale of the formula; only when is_exact
    double approx;    // always; NaN where something was divided by zero
    bool is_exact;
};

struct formula;

// Names are those of counted events and of events before number `before`. NULL: not a formula,
// and *at is the offset at which it is invalid; SIZE_MAX: no memory.
struct formula *formula_new(const struct core *c, uint32_t before, const uint8_t *text, size_t size,
                            size_t *at);
// The formula of an event of the core: counted, or derived and valid. NULL: no memory, or not
// valid.
struct formula *formula_event(const struct core *c, uint32_t event);
void formula_free(struct formula *f);

int64_t formula_scale(const struct formula *f); // 1 or 10^9
// Does it count in units of an event (true), or is it a ratio (a quotient is in it)?
bool formula_is_ratio(const struct formula *f);
// The counted events it needs: the i-th, or CORE_NONE.
uint32_t formula_needs(const struct formula *f, uint32_t i);

// Of the counts in formula_counts(): the i-th is that of the event formula_needs(f, i).
core_count *formula_counts(struct formula *f);
struct value formula_value(const struct formula *f);

enum { FORMULA_CHUNK = 64 };
// The values of `n` rows, at most FORMULA_CHUNK, if all of them and their operands are exact and
// fit 64 bits; else false. column[i][row[k]] is the count of event formula_needs(f, i).
bool formula_narrow(const struct formula *f, const int64_t *const *column, const uint32_t *row,
                    uint32_t n, int64_t *out);

#endif
