// SPDX-License-Identifier: MIT
//
// The text of a file in stretches of whole lines: about 256 KB for one thread; 2 MB for two
// (pair.h), of which one reads the next from the file while it waits for the other.

#ifndef QUERN_PROFILE_STRETCH_H
#define QUERN_PROFILE_STRETCH_H

#include "profile/read/reader.h"

// The next stretch begins at r->stretch.buf and ends at *end, behind a newline; r is done with the
// one before. Returns 1, 0 when there is none, or -errno. A newline that the file does not end with
// is put, with a remark.
int stretch_next(struct reader *r, const char **end);
// Reads from the file what the next stretch will be of, beside the stretch that is worked on. What
// goes wrong is told by stretch_next().
void stretch_ahead(struct reader *r);
void stretch_free(struct reader *r);

#endif
