// SPDX-License-Identifier: MIT
//
// Header lines, and text that is not a line of the format.

#ifndef QUERN_PROFILE_HEADER_H
#define QUERN_PROFILE_HEADER_H

#include "profile/read/reader.h"

// A header line "key: value" of length n (without the newline).
void header_line(struct reader *r, const char *s, size_t n);
// Text that may not be a line of the format at all.
void header_junk(struct reader *r, const char *s, size_t n);

#endif
