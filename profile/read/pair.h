// SPDX-License-Identifier: MIT
//
// Two threads for one file. A stretch of text is cut at an "fn=" line; the first reads what comes
// before it. The second follows names, and places where it must, through the same lines, without
// their counts, and so comes to the cut in less than half the time, in the state that the first
// will have there; it reads the rest as a reader of its own. Where the first comes to the cut in
// just that state, the profile of the second is put behind its own; where it does not, or the
// second met anything that calls for a remark or begins a part, the first reads the rest, too, and
// goes on alone: the profile and all remarks are those of one thread in any case.
#ifndef QUERN_PROFILE_PAIR_H
#define QUERN_PROFILE_PAIR_H

#include "profile/read/reader.h"

// Finds out whether two threads are wanted: r->pair is NULL when not.
void pair_begin(struct reader *r);
// How much text pair_read() should get.
size_t pair_bytes(const struct reader *r);
// lines_read() by both.
void pair_read(struct reader *r, const char *s, const char *end);
void pair_end(struct reader *r);

#endif
