// SPDX-License-Identifier: MIT
//
// Two threads for one file. A stretch of text is cut at an "fn=" line, and the first thread reads
// the part before it. The second follows names, and places where necessary, through the same lines,
// without their counts. So it comes to the cut in less than half the time, in the state that the
// first will have there, and reads the rest as a reader of its own. If the first comes to the cut
// in exactly that state, the second's profile is appended to its own. If not, or if the second met
// anything that needs a remark or begins a part, the first reads the rest, too, and continues
// alone: the profile and all remarks are those of one thread in any case.
#ifndef QUERN_PROFILE_PAIR_H
#define QUERN_PROFILE_PAIR_H

#include "profile/read/reader.h"

// Decides whether to use two threads: if not, r->pair is NULL.
void pair_begin(struct reader *r);
// How much text to give to pair_read().
size_t pair_bytes(const struct reader *r);
// lines_read() by both threads.
void pair_read(struct reader *r, const char *s, const char *end);
void pair_end(struct reader *r);

#endif
