// SPDX-License-Identifier: MIT
//
// Which functions a table shows, and in which order.
#ifndef QUERN_REPORT_CORE_ROWS_H
#define QUERN_REPORT_CORE_ROWS_H

#include "report/core/values.h"

enum rows_field { ROWS_NAME = 1, ROWS_FILE = 2, ROWS_OBJECT = 4, ROWS_CASE = 8 };

// mask[f] becomes 1 where one of the fields of function f holds the text (ROWS_CASE: upper and
// lower case differ; else those of ASCII do not), else 0. 0 or an error.
int rows_match(const struct core *c, const uint8_t *text, size_t size, unsigned fields,
               uint8_t *mask);

// The string that is this text, or CORE_NONE.
uint32_t rows_string(const struct core *c, const uint8_t *text, size_t size);

struct rows_key {
    enum values_of of; // or
    unsigned field;    // a field of rows_field; 0: a value
    unsigned side;
    struct formula *formula;
    bool descending;
    bool magnitude; // of values: the sign does not matter
};

// Sorts functions (or edges, where `of` is of edges); the sort is stable. A ratio without
// a value comes last.
int rows_sort(struct core *c, uint32_t *row, uint32_t count, const struct rows_key *key);

// Order of strings by their bytes: the rank of each. NULL: no memory.
const uint32_t *rows_rank(struct core *c);

// A function's identity across reports: FNV-1a, 64 bits, of object, file and name
// with a zero byte after each.
uint64_t rows_hash(const struct core *c, uint32_t func);
// The function of that hash, or CORE_NONE.
uint32_t rows_find(const struct core *c, uint64_t hash);

#endif
