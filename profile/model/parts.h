// SPDX-License-Identifier: MIT
//
// The parts of a profile (dumps, threads) and their header fields.
#ifndef QUERN_PROFILE_PARTS_H
#define QUERN_PROFILE_PARTS_H

#include "profile/model/model.h"

// Begins another part, without header fields: 0, or -ENOMEM.
int parts_add(struct quern_profile *p);
// Adds a "KEY: VALUE" of len bytes to the last part: 0, or -ENOMEM.
int parts_add_desc(struct quern_profile *p, const char *text, size_t len);
// Removes from the first part what holds for a single process alone, and is no count that could be
// summed: "Curve ..." (quern run --curve=yes), walks and blocks (--data=yes).
void parts_sum_desc(struct quern_profile *p);
// Whether the first part begins like a Cachegrind file, with a "desc:" or "cmd:" line.
bool parts_have_description(const struct quern_profile *p);
// Copies events, and the header fields of one part or (part < 0) of all, from another profile,
// after the existing ones; the last part of p is filled in first. 0, -E2BIG, -ENOMEM.
int parts_copy_header(struct quern_profile *p, const struct quern_profile *from, int part);
// Clears the header fields of a part; the part stays.
void parts_clear(struct part *part);

#endif
