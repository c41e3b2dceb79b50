// SPDX-License-Identifier: MIT
//
// Names of positions, compressed ("(2) main", later "(2)") or not.

#ifndef QUERN_PROFILE_NAMES_H
#define QUERN_PROFILE_NAMES_H

#include "profile/read/reader.h"

// The string of the name after "fn=" and the like, with ids of table t; s at the first byte, end at
// the newline. QUERN_NONE: no memory, and r->stop is set.
uint32_t names_parse(struct reader *r, struct idtab *t, const char *s, const char *end);
// From now on the table notes which ids get names; the list begins empty.
void names_note(struct idtab *t);
void names_note_no_more(struct idtab *t);
// Whether a has noted the same n names that b noted first. False if ids are far up.
bool names_same(const struct idtab *a, const struct idtab *b, uint32_t n);
// Gives t what `from` noted, except the first n. False: no memory, and r->stop is set.
bool names_take(struct reader *r, struct idtab *t, const struct idtab *from, uint32_t n);
void names_free(struct idtab *t);

#endif
