// SPDX-License-Identifier: MIT
//
// The parts of a profile (dumps, threads) and the facts their headers tell.
#ifndef QUERN_PROFILE_PARTS_H
#define QUERN_PROFILE_PARTS_H

#include "profile/model/model.h"

// Begins another part, without facts: 0, or -ENOMEM.
int parts_add(struct quern_profile *p);
// Adds a "KEY: VALUE" of len bytes to the last part: 0, or -ENOMEM.
int parts_add_desc(struct quern_profile *p, const char *text, size_t len);
// Whether the first part has what Cachegrind begins a file with, a "desc:" or "cmd:" line.
bool parts_have_description(const struct quern_profile *p);
// Copies events, and the facts of one part or (part < 0) of all, from another profile, behind those
// that are there; the last part of p is the first to be filled in. 0, -E2BIG, -ENOMEM.
int parts_copy_header(struct quern_profile *p, const struct quern_profile *from, int part);
// Takes the facts of a part away, not the part.
void parts_clear(struct part *part);

#endif
