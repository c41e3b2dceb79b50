// SPDX-License-Identifier: MIT
//
// Which line is which.

#ifndef QUERN_PROFILE_LINES_H
#define QUERN_PROFILE_LINES_H

#include "profile/read/reader.h"

// Reads a whole buffer of whole lines, or up to the line at which the reader gives up.
void lines_read(struct reader *r, const char *s, const char *end);

#endif
