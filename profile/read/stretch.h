// SPDX-License-Identifier: MIT
//
// The text of a file in stretches of whole lines: about 256 KB for one thread; 2 MB for two
// (pair.h), of which one reads the next from the file while it waits for the other.

#ifndef QUERN_PROFILE_STRETCH_H
#define QUERN_PROFILE_STRETCH_H

#include "profile/read/reader.h"

// The next stretch begins at r->stretch.buf and ends at *end, after a newline; r must be done with
// the one before. Returns 1, 0 at the end, or -errno. If the file does not end with a newline, adds
// one, with a remark.
int stretch_next(struct reader *r, const char **end);
// Reads the next stretch from the file while the current one is in use. stretch_next() reports
// errors.
void stretch_ahead(struct reader *r);
void stretch_free(struct reader *r);

#endif
