// SPDX-License-Identifier: MIT
//
// Which names have the same text outside of their brackets: these become equal when
// what is between < and > and between ( and ) is not shown. report/page/names.ts shortens names; it
// needs those alike, of all functions.
#ifndef QUERN_REPORT_CORE_NAMES_H
#define QUERN_REPORT_CORE_NAMES_H

#include "report/core/model.h"

// The hash of a name's text outside of its outermost brackets, above 1; 0: it has none, or they do
// not match.
uint32_t names_hash(struct text name);

// Strings that are sorted: a section. False: no memory.
bool names_add_run(struct core *c, uint32_t first, uint32_t count);

// The strings with the hash of this one, of those that are loaded: names of functions, rarely also
// of files, and rarely with another text. Their number, or an error; *out is to be freed.
int64_t names_alike(struct core *c, uint32_t string, uint32_t **out);

#endif
