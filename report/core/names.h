// SPDX-License-Identifier: MIT
//
// Which names of functions have the same text outside of their brackets: these become equal when
// what is between < and > and between ( and ) is not shown. report/page/names.ts shortens names; it
// needs those alike, of all functions.
#ifndef QUERN_REPORT_CORE_NAMES_H
#define QUERN_REPORT_CORE_NAMES_H

#include "report/core/model.h"

// The hash of a name's text outside of its outermost brackets; 0: it has none, or they do not match.
uint32_t names_hash(struct text name);

// The names (strings) of functions with the hash of this one; other names may have it, too. Their
// number, or an error; *out is to be freed. The first call reads the names of all functions; before
// link_edges(), of those that are there.
int64_t names_alike(struct core *c, uint32_t string, uint32_t **out);

#endif
