// SPDX-License-Identifier: MIT
//
// What is inside functions: lines and instructions with their costs, call sites, jumps. They are
// read from the blocks on demand, and summed over the selected parts.
#ifndef QUERN_REPORT_CORE_DETAIL_H
#define QUERN_REPORT_CORE_DETAIL_H

#include "report/core/values.h"

struct detail_row {
    uint32_t func;   // whose code it is; CORE_NONE where rows are of several functions
    uint32_t file;   // of the line (a string or CORE_NONE)
    uint32_t callee; // call sites; CORE_NONE: a cost of its own. Jumps: the function of the target
    uint32_t to_file;
    uint64_t line, addr;
    uint64_t to_line, to_addr;     // jumps; DETAIL_ALIGN: see there
    uint64_t calls[CORE_SIDES];    // call sites; jumps: executed
    uint64_t followed[CORE_SIDES]; // jumps
};

struct detail {
    struct detail_row *row;
    size_t count, cap;
    core_count *counts; // [row][side][event]: counted events in the order of `event`
    size_t counts_cap;
    uint32_t sides;  // 1: without a base
    uint32_t *event; // which counted events there are
    uint32_t events;
    // While it is read: row numbers + 1 by the hash of the row; the row that was found last.
    uint32_t *slot;
    size_t slots, last;
};

// The key by which costs are summed. DETAIL_ALIGN, with DETAIL_LINE: a line of
// the base becomes the line of the profile that the report's alignment of the sources names. A line
// that the profile's version lacks keeps its number, and has it in to_line, too; to_line of all
// others is 0. Files without an alignment stay as they are.
enum detail_by { DETAIL_LINE = 1, DETAIL_ADDR = 2, DETAIL_FUNC = 4, DETAIL_ALIGN = 8 };

// Costs of a function, or of all (CORE_NONE), by line or by instruction, sorted so. With `file`
// other than CORE_NONE only the places in this file. The formula says which events are wanted;
// NULL: all. 0 or an error; the result is to be freed.
int detail_places(struct core *c, uint32_t func, uint32_t file, unsigned by,
                  const struct formula *f, struct detail **out);
// The call sites in a function, or in the lines of a file, by place and callee.
int detail_calls(struct core *c, uint32_t func, uint32_t file, unsigned by, const struct formula *f,
                 struct detail **out);
// The jumps of a function.
int detail_jumps(struct core *c, uint32_t func, struct detail **out);

void detail_free(struct detail *d);

// What a formula is worth for a row, as values_get() for functions.
struct value detail_value(const struct detail *d, struct formula *f, unsigned side, size_t row);

// The rows in the order of a value, the largest magnitude first; `order` has space for all. Equal
// ones stay in the order of the rows. Returns how many of them, from the first on, make half of
// the sum, or an error: of a ratio and of a difference none do.
int64_t detail_order(const struct detail *d, struct formula *f, unsigned side, uint32_t *order);

#endif
