// SPDX-License-Identifier: MIT
//
// Names of positions, compressed ("(2) main", later "(2)") or not.

#ifndef QUERN_PROFILE_NAMES_H
#define QUERN_PROFILE_NAMES_H

#include "profile/read/reader.h"

// The string of what stands behind "fn=" and its like, with ids of table t; s at the first byte,
// end at the newline. QUERN_NONE: no memory, and r->stop says so.
uint32_t names_parse(struct reader *r, struct idtab *t, const char *s, const char *end);
// From now on the table notes which ids are given names, and begins with none.
void names_note(struct idtab *t);
void names_note_no_more(struct idtab *t);
// Is what a has noted what b noted first, n of them? False where ids are far up.
bool names_same(const struct idtab *a, const struct idtab *b, uint32_t n);
// Gives t what `from` noted, but for the first n. False: no memory, and r->stop says so.
bool names_take(struct reader *r, struct idtab *t, const struct idtab *from, uint32_t n);
void names_free(struct idtab *t);

#endif
