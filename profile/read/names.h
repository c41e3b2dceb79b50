// SPDX-License-Identifier: MIT
//
// Names of positions, compressed ("(2) main", later "(2)") or not.

#ifndef QUERN_PROFILE_NAMES_H
#define QUERN_PROFILE_NAMES_H

#include "profile/read/reader.h"

// The string of what stands behind "fn=" and its like, with ids of table t; s at the first byte,
// end at the newline. QUERN_NONE: no memory, and r->stop says so.
uint32_t names_parse(struct reader *r, struct idtab *t, const char *s, const char *end);
void names_free(struct idtab *t);

#endif
