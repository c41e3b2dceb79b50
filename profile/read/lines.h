// SPDX-License-Identifier: MIT
//
// Dispatches lines by kind.

#ifndef QUERN_PROFILE_LINES_H
#define QUERN_PROFILE_LINES_H

#include "profile/read/reader.h"

// Reads a buffer of whole lines, up to its end or to the line at which the reader gives up.
void lines_read(struct reader *r, const char *s, const char *end);

#endif
