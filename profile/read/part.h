// SPDX-License-Identifier: MIT
//
// Where a part of a profile begins and ends; whether its lines sum up to what its header says.

#ifndef QUERN_PROFILE_PART_H
#define QUERN_PROFILE_PART_H

#include "profile/read/reader.h"

// Ends the part being read: its last record, its sums.
void part_end(struct reader *r);
// Ends it and begins another.
void part_begin(struct reader *r);
// Space for the counts of all events: 0, or -ENOMEM.
int part_prepare_counts(struct reader *r);
// Frees what the reader owns besides its profile, its text and its input.
void part_free(struct reader *r);

#endif
